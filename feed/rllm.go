package feed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hindsightrl/harness"
)

// The structs are rllm's, by field name; its other fields keep their defaults. A step's advantage is a
// list with a value per response token, for use_precomputed_advantage. Texts are not in the feed:
// rllm trains on ids.
type (
	rllmEpisode struct {
		ID          string           `json:"id"` // "task:idx"
		Task        string           `json:"task"`
		Termination string           `json:"termination_reason"`
		Correct     bool             `json:"is_correct"`
		Traj        []rllmTrajectory `json:"trajectories"`
		Metadata    map[string]any   `json:"metadata"`
	}
	rllmTrajectory struct {
		UID    string     `json:"uid"`
		Name   string     `json:"name"`
		Task   string     `json:"task"`
		Steps  []rllmStep `json:"steps"`
		Reward float64    `json:"reward"`
	}
	rllmStep struct {
		ID            string         `json:"id"`
		Reward        float64        `json:"reward"`
		Done          bool           `json:"done"`
		PromptIDs     []int32        `json:"prompt_ids"`
		ResponseIDs   []int32        `json:"response_ids"`
		Logprobs      Floats         `json:"logprobs"`
		Advantage     Floats         `json:"advantage"`
		WeightVersion *int32         `json:"weight_version"`
		Metadata      map[string]any `json:"metadata"`
	}
)

// rllmTermination translates stop reasons to rllm's TerminationReason.
var rllmTermination = map[harness.StopReason]string{
	harness.StopWon: "env_done", harness.StopDone: "env_done", harness.StopFinished: "env_done",
	harness.StopMaxSteps: "max_turns_exceeded", harness.StopContext: "max_prompt_length_exceeded", harness.StopBudget: "unknown",
}

// NewRLLM writes one rllm Episode per line. Rows need prompt and response ids, log-probabilities and
// advantages (ErrColumn otherwise).
func NewRLLM(w io.Writer, h *Header) Exporter {
	b := bufio.NewWriterSize(w, 1<<20)
	return &rllm{b: b, enc: json.NewEncoder(b), hash: h.ConfigHash}
}

type rllm struct {
	b    *bufio.Writer
	enc  *json.Encoder
	hash string
}

func (x *rllm) Write(group []Row) error {
	for len(group) > 0 {
		n := 1
		for n < len(group) && group[n].Episode == group[0].Episode {
			n++
		}
		e, err := x.episode(group[:n])
		if err != nil {
			return err
		}
		if err := x.enc.Encode(e); err != nil {
			return fmt.Errorf("rllm: write episode %d: %w", group[0].Episode, err)
		}
		group = group[n:]
	}
	return nil
}

func (x *rllm) episode(rows []Row) (rllmEpisode, error) {
	first := &rows[0]
	id := fmt.Sprintf("%s:%d", first.Task, first.Sample)
	t := rllmTrajectory{UID: fmt.Sprint(first.Episode), Name: "agent", Task: first.Task, Reward: first.RewardParts.Episode}
	for i := range rows {
		r := &rows[i]
		if err := r.need("rllm"); err != nil {
			return rllmEpisode{}, err
		}
		s := rllmStep{
			ID: fmt.Sprint(r.StepID), Reward: r.RewardParts.Step, Done: i == len(rows)-1, PromptIDs: r.PromptIDs, ResponseIDs: r.ResponseIDs,
			Logprobs: r.Logprobs, Advantage: r.Advantages, Metadata: map[string]any{"valid": r.RewardParts.Valid},
		}
		if v, ok := r.Oldest(); ok {
			s.WeightVersion = &v
		}
		t.Steps = append(t.Steps, s)
	}
	termination := rllmTermination[harness.StopReason(first.Stop)]
	if termination == "" {
		termination = "unknown"
	}
	return rllmEpisode{
		ID: id, Task: first.Task, Termination: termination, Correct: first.RewardParts.Won, Traj: []rllmTrajectory{t},
		Metadata: map[string]any{"group": first.Group, "config_hash": x.hash, "score": first.RewardParts.Score},
	}, nil
}

func (x *rllm) Close() error { return x.b.Flush() }

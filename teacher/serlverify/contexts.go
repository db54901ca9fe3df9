package serlverify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/almost"
	"github.com/hindsightrl/harness/teacher"
)

// contextCase is one case of teacher_contexts.json.
type contextCase struct {
	Config   contextConfig       `json:"config"`
	Rows     []contextRow        `json:"rows"`
	Messages [][]harness.Message `json:"messages"`
	Mask     []float64           `json:"mask"`
	Metrics  map[string]float64  `json:"metrics"`
}

// contextConfig is the original's configuration. What a case leaves out has the default of the
// original's function, which is not that of its shipped configuration file.
type contextConfig struct {
	Mode         string   `json:"sampling_mode"`
	Threshold    *float64 `json:"success_reward_threshold"`
	Format       *string  `json:"trajectory_format"`
	MaxTraj      int      `json:"max_traj_context_steps"`
	MaxFuture    int      `json:"max_future_context_steps"`
	ExcludeOwn   bool     `json:"dont_reprompt_on_self_success"`
	Strip        bool     `json:"remove_thinking_from_demonstration"`
	Similarity   bool     `json:"anchor_enable_similarity"`
	SimilarityAt *float64 `json:"anchor_similarity_thresh"`
}

func (c contextConfig) config() (teacher.Config, error) {
	mode, err := teacher.ParseMode(c.Mode)
	if err != nil {
		return teacher.Config{}, err
	}
	out := teacher.DefaultConfig(mode)
	out.MaxTrajectorySteps, out.MaxFutureSteps = max(0, c.MaxTraj), max(0, c.MaxFuture)
	out.ExcludeOwn, out.StripThinking, out.Similarity = c.ExcludeOwn, c.Strip, c.Similarity
	if c.Threshold != nil {
		out.SuccessThreshold = *c.Threshold
	}
	if c.SimilarityAt != nil {
		out.SimilarityThreshold = *c.SimilarityAt
	}
	if c.Format != nil {
		if out.Format, err = teacher.ParseFormat(*c.Format); err != nil {
			return out, err
		}
	}
	return out, nil
}

// contextRow is one row. Identifiers may be of any JSON type: they are compared as they are written.
type contextRow struct {
	Group       json.RawMessage `json:"uid"`
	Episode     json.RawMessage `json:"traj_uid"`
	Step        *int            `json:"step_id"`
	Prompt      prompt          `json:"raw_prompt"`
	Anchor      *string         `json:"anchor_obs"`
	Feedback    string          `json:"immediate_feedback"`
	Next        string          `json:"next_observation_text"`
	Response    string          `json:"response"`
	Reward      float64         `json:"reward"`
	Return      *float64        `json:"episode_rewards"`
	Success     *truth          `json:"rollout_success"`
	Valid       *truth          `json:"is_action_valid"`
	Judged      string          `json:"traj_judge_text"`
	JudgedOn    string          `json:"traj_judge_successful_sample_text"`
	JudgeHadRef *truth          `json:"traj_judge_successful_sample_used_success_reference"`
}

func (r *contextRow) row(i int) teacher.Row {
	out := teacher.Row{
		Group: string(r.Group), Episode: string(r.Episode), Step: i, Prompt: r.Prompt, Anchor: r.Anchor,
		Response: r.Response, Feedback: r.Feedback, Next: r.Next, Reward: r.Reward, Return: r.Return,
		Judged: r.Judged, JudgedOnSuccess: r.JudgedOn,
		Valid:           r.Valid == nil || bool(*r.Valid),
		JudgeHadSuccess: r.JudgeHadRef != nil && bool(*r.JudgeHadRef),
	}
	if r.Step != nil {
		out.Step = *r.Step
	}
	if r.Success != nil {
		success := bool(*r.Success)
		out.Success = &success
	}
	return out
}

// prompt is a list of messages, or a text that stands for one user message.
type prompt []harness.Message

// UnmarshalJSON reads either form.
func (p *prompt) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, (*[]harness.Message)(p))
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	*p = prompt{{Role: "user", Content: text}}
	return nil
}

// truth is a boolean, or a number that is one where it is not 0.
type truth bool

// UnmarshalJSON reads either form.
func (t *truth) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case bool:
		*t = truth(v)
	case float64:
		*t = v != 0
	default:
		return fmt.Errorf("%s is neither true nor false", b)
	}
	return nil
}

func checkContexts(raw []byte, templates *teacher.Templates) (string, error) {
	var v contextCase
	if err := decode(raw, &v); err != nil {
		return "", err
	}
	if len(v.Messages) != len(v.Rows) || len(v.Mask) != len(v.Rows) {
		return "", fmt.Errorf("%d rows, %d messages, %d mask values", len(v.Rows), len(v.Messages), len(v.Mask))
	}
	cfg, err := v.Config.config()
	if err != nil {
		return "", err
	}
	if templates == nil {
		return "", errors.New("contexts need the original's strings: no templates were given")
	}
	rows := make([]teacher.Row, len(v.Rows))
	for i := range rows {
		rows[i] = v.Rows[i].row(i)
	}
	b, err := teacher.Build(rows, cfg, templates)
	if err != nil {
		return "", err
	}
	for i := range rows {
		if got := b.Available(i); got != (v.Mask[i] != 0) {
			return fmt.Sprintf("row %d: context available %v, want %v", i, got, v.Mask[i] != 0), nil
		}
		if d := differ(b.Context(i).Messages, v.Messages[i]); d != "" {
			return fmt.Sprintf("%s, row %d: %s", cfg.Mode, i, d), nil
		}
	}
	return differMetrics(b.Metrics(), v.Metrics), nil
}

func differ(got, want []harness.Message) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d messages, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Role != want[i].Role {
			return fmt.Sprintf("message %d: role %q, want %q", i, got[i].Role, want[i].Role)
		}
		if d := differText(got[i].Content, want[i].Content); d != "" {
			return fmt.Sprintf("message %d: %s", i, d)
		}
	}
	return ""
}

// differText shows both texts from a little before their first difference.
func differText(got, want string) string {
	if got == want {
		return ""
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	from := max(0, at-20)
	return fmt.Sprintf("from byte %d: got %q, want %q", from, clip(got[from:]), clip(want[from:]))
}

func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// metricTolerance is for quotients of small integers, computed in another order.
const metricTolerance = 1e-12

func differMetrics(got, want map[string]float64) string {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if v, ok := got[name]; !ok || !almost.Equal(v, want[name], metricTolerance, metricTolerance) {
			return fmt.Sprintf("metric %s: got %v, want %v", name, v, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			return fmt.Sprintf("metric %s: got %v, the original reports none", name, got[name])
		}
	}
	return ""
}

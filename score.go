package harness

import (
	"encoding/hex"
	"encoding/json"
	"time"
)

// ContentKey identifies content: the first 16 bytes of a SHA-256 over it. The zero key stands for none.
type ContentKey [16]byte

// String is the key in hex.
func (k ContentKey) String() string { return hex.EncodeToString(k[:]) }

// LogprobColumn holds one log-probability (nats) per token of a response, under the key of everything
// that it depends on: who answered, and the tokens before and of the response. The zero value is none.
type LogprobColumn struct {
	Key    ContentKey
	Values []float32
}

// ScoreStatus says what a teacher pass found about a step.
type ScoreStatus string

// The statuses. Only a scored step has a delta; none of the others is a delta of zero by measurement.
const (
	ScoreDone       = ScoreStatus("scored")
	ScoreNoContext  = ScoreStatus("no_context")     // the step lacks what the mode shows
	ScoreTooLong    = ScoreStatus("too_long")       // the context fits under no shortening
	ScoreNoTokens   = ScoreStatus("no_tokens")      // the policy gave no token ids
	ScoreEmpty      = ScoreStatus("empty_response") // the policy said nothing
	ScoreMisaligned = ScoreStatus("misaligned")     // the teacher's tokenizer does not spell the prompt or the response
	ScoreNoLogprobs = ScoreStatus("no_logprobs")    // recorded student log-probabilities were asked for and there are none
)

// ScorePass is one teacher's look at a run in one mode.
type ScorePass struct {
	ID            int64           `json:"id"`
	RunID         int64           `json:"run_id"`
	Key           string          `json:"key"` // content hash of everything that results depend on beside the rollouts, hex
	Mode          string          `json:"mode"`
	Teacher       string          `json:"teacher"`        // who answers, for people to read
	PolicyVersion int32           `json:"policy_version"` // the trainer's update that the pass is for; −1: not said
	State         string          `json:"state"`          // "running", "done"
	Created       time.Time       `json:"created"`        // UTC, millisecond
	Updated       time.Time       `json:"updated"`        // UTC, millisecond
	Config        json.RawMessage `json:"config"`
	Report        json.RawMessage `json:"report"`
}

// StepScore is what a teacher pass found about one step. T is the number of response tokens.
type StepScore struct {
	StepID       int64           `json:"step_id"` // read, not written
	Episode      int64           `json:"episode"` // read, not written
	Attempt      int64           `json:"attempt"`
	Step         int             `json:"step"` // index in the attempt
	Status       ScoreStatus     `json:"status"`
	Student      LogprobColumn   `json:"student"`            // T values without the hindsight context; none unless scored
	Teacher      LogprobColumn   `json:"teacher"`            // T values with it; none unless scored
	ActionMask   []bool          `json:"action_mask"`        // T flags: the token belongs to the action
	PromptTokens int             `json:"prompt_tokens"`      // of the teacher's prompt; 0 = not rendered
	LeftOut      json.RawMessage `json:"left_out,omitempty"` // what the context lacks because it had to fit; nil = nothing
}

// Delta is teacher − student log-probability per token, in nats; nil unless scored.
func (s *StepScore) Delta() []float32 {
	if s.Status != ScoreDone {
		return nil
	}
	out := make([]float32, len(s.Teacher.Values))
	for i := range out {
		out[i] = s.Teacher.Values[i] - s.Student.Values[i]
	}
	return out
}

// ScoreGroup is a group of a run as a teacher pass finds it. Two looks at a group with equal fingerprints
// see the same steps.
type ScoreGroup struct {
	Index       int    // of the group in the run
	Fingerprint string // over the closed attempts of its done episodes
	Judged      string // over the texts that judges wrote about them; "" = none
	Done        int    // episodes that can be scored
	Failed      int
	Open        int // pending or running
}

// ScoreCounts sum a pass up.
type ScoreCounts struct {
	Rows      map[ScoreStatus]int `json:"rows"`
	Groups    int                 `json:"groups"`
	Tokens    int                 `json:"tokens"`    // response tokens of scored rows
	Marked    int                 `json:"marked"`    // of those, tokens of the action
	NoAction  int                 `json:"no_action"` // scored rows without an action token
	Shortened int                 `json:"shortened"` // scored rows whose context lacks something
	Prompts   int                 `json:"prompts"`   // tokens of the teacher's prompts
}

// GroupEpisode is a done episode as a teacher reads it.
type GroupEpisode struct {
	EpisodeRef
	Attempt int64 // the attempt that closed it
	Outcome Outcome
	Fork    *Fork // nil unless it is a leaf
	Steps   []Step
	Texts   []StepText // what was written about it later, oldest first
}

// StepText is a text about a step that came after the step itself.
type StepText struct {
	Step   int
	Source string // what wrote it
	Text   string
}

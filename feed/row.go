package feed

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/hindsightrl/harness"
)

// Row is one step of an episode as a trainer gets it: P prompt tokens, T response tokens. A nil column or
// pointer was not given by the policy, the credit pass or the teacher pass; it is never made up.
// docs/feed.md describes every field.
type Row struct {
	StepID     int64  `json:"step_id"`     // of the step in the ledger, unique
	Group      int32  `json:"group"`       // of the task in the run: advantages are relative to it
	Episode    int64  `json:"episode"`     // trajectory
	Sample     int32  `json:"sample"`      // of the episode in its group
	Step       int32  `json:"step"`        // turn, from 0
	SequenceID int64  `json:"sequence_id"` // rows with the same one share a sequence-level ratio
	Task       string `json:"task"`        // environment, split and task
	Stop       string `json:"stop"`        // why the episode ended: a harness.StopReason
	Finish     string `json:"finish"`      // why the response ended, in the server's word; "" = not said

	PromptIDs    []int32 `json:"prompt_ids,omitempty"`    // P
	ResponseIDs  []int32 `json:"response_ids,omitempty"`  // T, as sampled
	ResponseMask Mask    `json:"response_mask,omitempty"` // T: the policy produced the token
	ActionMask   Mask    `json:"action_mask,omitempty"`   // T: the token belongs to the action; nil where nobody knows what each token printed
	ContextMask  *bool   `json:"context_mask,omitempty"`  // the teacher saw a hindsight context; nil without a teacher pass
	Versions     []int32 `json:"versions,omitempty"`      // T: policy version that produced the token

	Logprobs        Floats   `json:"logprobs,omitempty"`         // T, nats, of the behaviour policy
	StudentLogprobs Floats   `json:"student_logprobs,omitempty"` // T, nats, of the teacher pass without the context
	TeacherLogprobs Floats   `json:"teacher_logprobs,omitempty"` // T, nats, with it
	Entropies       Floats   `json:"entropies,omitempty"`        // T, nats
	Temperature     *float64 `json:"temperature,omitempty"`      // of the sampler

	BaseAdvantage *float64 `json:"base_advantage,omitempty"` // of every token, before factor and weights
	Factor        *float64 `json:"factor,omitempty"`         // α or γ of the response; 1 where no such stage ran
	Weights       Floats   `json:"weights,omitempty"`        // T clipped token weights; nil where no token stage ran
	Advantages    Floats   `json:"advantages,omitempty"`     // T final token advantages
	LossWeight    *float64 `json:"loss_weight,omitempty"`    // the batch's loss is Σ_rows of it · Σ_tokens; nil without a loss

	Parent       *int64 `json:"parent,omitempty"`       // episode that this one grew out of; nil for a root
	SharedTokens int32  `json:"shared_tokens"`          // leading response tokens that an ancestor sampled
	TokenShares  Floats `json:"token_shares,omitempty"` // T: 1/n where n rows of the group hold the very token; nil where nothing is shared

	RewardParts RewardParts `json:"reward_parts"`

	// What trainers ask for most, of the episode, without a struct to take apart: won and score are those of
	// RewardParts.
	Reward *float64 `json:"reward,omitempty"` // what its group was compared by; nil where the credit pass made rewards of its own
	Won    bool     `json:"won"`
	Score  float64  `json:"score"` // in [0, 1]
}

// RewardParts are what the environment and the format said.
type RewardParts struct {
	Step    float64 `json:"step"`    // reward of the step
	Episode float64 `json:"episode"` // sum over the episode
	Score   float64 `json:"score"`   // last task score of the episode, in [0, 1]
	Won     bool    `json:"won"`     // the episode's
	Valid   bool    `json:"valid"`   // the response kept the format's rules
}

// Mask is a flag per token, 0 or 1. In JSON it is a list of numbers.
type Mask []byte

// MarshalJSON writes a list of 0 and 1.
func (m Mask) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	out := make([]byte, 0, 2*len(m)+2)
	out = append(out, '[')
	for i, v := range m {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '0'+v&1)
	}
	return append(out, ']'), nil
}

// UnmarshalJSON reads a list of 0 and 1.
func (m *Mask) UnmarshalJSON(raw []byte) error {
	var list []uint16
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*m = nil
	for _, v := range list {
		if v > 1 {
			return fmt.Errorf("mask value %d: want 0 or 1", v)
		}
		*m = append(*m, byte(v))
	}
	return nil
}

// Floats is a float32 per token. JSON has no word for an infinity: it is the string "Infinity",
// "-Infinity" or "NaN" there, as in protobuf's JSON.
type Floats []float32

// MarshalJSON writes the shortest decimals that read back as the same float32.
func (f Floats) MarshalJSON() ([]byte, error) {
	if f == nil {
		return []byte("null"), nil
	}
	out := make([]byte, 0, 10*len(f)+2)
	out = append(out, '[')
	for i, v := range f {
		if i > 0 {
			out = append(out, ',')
		}
		switch x := float64(v); {
		case math.IsNaN(x):
			out = append(out, `"NaN"`...)
		case math.IsInf(x, 1):
			out = append(out, `"Infinity"`...)
		case math.IsInf(x, -1):
			out = append(out, `"-Infinity"`...)
		default:
			out = strconv.AppendFloat(out, x, 'g', -1, 32)
		}
	}
	return append(out, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Floats) UnmarshalJSON(raw []byte) error {
	var list []any
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*f = nil
	for _, v := range list {
		switch v := v.(type) {
		case float64:
			*f = append(*f, float32(v))
		case string:
			x, err := strconv.ParseFloat(v, 32)
			if err != nil {
				return fmt.Errorf("float %q: want a number, NaN, Infinity or -Infinity", v)
			}
			*f = append(*f, float32(x))
		default:
			return fmt.Errorf("float %v: want a number", v)
		}
	}
	return nil
}

// Tokens is the number of response tokens.
func (r *Row) Tokens() int { return len(r.ResponseIDs) }

// Oldest is the lowest policy version among the row's tokens; ok is false where none is known.
func (r *Row) Oldest() (version int32, ok bool) {
	for i, v := range r.Versions {
		if i == 0 || v < version {
			version, ok = v, true
		}
	}
	return version, ok
}

// NewRow lays a step of the ledger out as a row, under the passes that p names. The row shares the
// step's columns.
func NewRow(st *harness.FeedStep, p *Pass) (Row, error) {
	r := Row{
		StepID: st.StepID, Group: int32(st.Group), Episode: st.Episode, Sample: int32(st.Sample), Step: int32(st.Index),
		SequenceID: st.StepID, Task: st.Task.Key(), Stop: string(st.Outcome.Stop), SharedTokens: int32(st.Shared),
		RewardParts: RewardParts{Step: st.Reward, Episode: st.Outcome.Reward, Score: st.Outcome.Score, Won: st.Outcome.Won, Valid: st.Valid},
	}
	r.Won, r.Score = r.RewardParts.Won, r.RewardParts.Score
	if p.paidByEnvironment() {
		r.Reward = &st.Outcome.Reward
	}
	if st.Fork != nil {
		r.Parent = &st.Fork.Parent
	}
	if p.Sequences == SequenceEpisode {
		r.SequenceID = st.Episode
	}
	tokens := -1
	if t := st.Tokens; t != nil {
		tokens = len(t.IDs)
		r.PromptIDs, r.ResponseIDs, r.Versions = t.PromptIDs, t.IDs, t.Versions
		r.Logprobs, r.Entropies = t.Logprobs, t.Entropies
		r.ResponseMask = ones(tokens)
		if t.Meta != nil {
			temperature := t.Meta.Temperature
			r.Temperature, r.Finish = &temperature, t.Meta.Finish
		}
	}
	if sc := st.Scored; sc != nil {
		scored := sc.Status == harness.ScoreDone
		r.ContextMask = &scored
		if scored {
			r.StudentLogprobs, r.TeacherLogprobs, r.ActionMask = sc.Student.Values, sc.Teacher.Values, maskOf(sc.ActionMask)
		}
	}
	if r.ActionMask == nil && st.Action != nil {
		r.ActionMask = maskOf(st.Action)
	}
	if c := st.Credit; c != nil {
		r.BaseAdvantage, r.Factor, r.Advantages = &c.Base, &c.Factor, c.Tokens
		if tokens >= 0 {
			r.Weights = p.weights(&r, tokens)
		}
	}
	return r, r.check(tokens)
}

// maskOf views flags as what they are in memory: a byte each, 0 or 1.
func maskOf(flags []bool) Mask {
	if len(flags) == 0 {
		return Mask{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(flags))), len(flags))
}

// check reports a column that belongs to other tokens, with both lengths.
func (r *Row) check(tokens int) error {
	for _, c := range []struct {
		name   string
		n      int
		absent bool
	}{
		{"action mask", len(r.ActionMask), r.ActionMask == nil},
		{"student log-probabilities", len(r.StudentLogprobs), r.StudentLogprobs == nil},
		{"teacher log-probabilities", len(r.TeacherLogprobs), r.TeacherLogprobs == nil},
		{"advantages", len(r.Advantages), r.Advantages == nil},
	} {
		if !c.absent && c.n != max(tokens, 0) {
			return fmt.Errorf("episode %d, step %d: %s have %d values, the response has %d tokens", r.Episode, r.Step, c.name, c.n, tokens)
		}
	}
	return nil
}

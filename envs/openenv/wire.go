package openenv

import (
	"bytes"
	"encoding/json"

	"github.com/hindsightrl/harness"
)

// observation is what an action showed, as schema/observation.json describes it; reward and done stand
// beside it.
type observation struct {
	Text       string   `json:"text"`
	Task       string   `json:"task"`
	Admissible []string `json:"admissible"` // null where the environment has no list
	Feedback   string   `json:"feedback"`
	Score      float64  `json:"score"`
	Won        bool     `json:"won"`
	Metadata   metadata `json:"metadata"`
}

// metadata says where the episode stands.
type metadata struct {
	EpisodeID string `json:"episode_id"`
	Env       string `json:"env"`
	TaskID    string `json:"task_id"`
	Split     string `json:"split"`
	Type      string `json:"type"`
	Step      int    `json:"step"`
	Truncated bool   `json:"truncated"`        // the step limit ended it, not the environment
	Anchor    string `json:"anchor,omitempty"` // what makes two states the same, where that is not the text
}

// result is the answer to a reset and a step. Metadata stands in the observation for typed clients and
// beside it for generic ones, as the original has it.
type result struct {
	Observation observation `json:"observation"`
	Reward      *float64    `json:"reward"` // null after a reset
	Done        bool        `json:"done"`
	Metadata    metadata    `json:"metadata"`
}

// state is an episode from outside, as schema/state.json describes it.
type state struct {
	EpisodeID *string `json:"episode_id"` // null before the first reset
	StepCount int     `json:"step_count"`
	SessionID string  `json:"session_id,omitempty"`
	Env       string  `json:"env,omitempty"`
	TaskID    string  `json:"task_id,omitempty"`
	Split     string  `json:"split,omitempty"`
	Type      string  `json:"type,omitempty"`
	TaskHash  string  `json:"task_hash,omitempty"`
	Seed      *int64  `json:"seed,omitempty"`
	MaxSteps  int     `json:"max_steps,omitempty"`
	Reward    float64 `json:"total_reward"`
	Score     float64 `json:"score"`
	Won       bool    `json:"won"`
	Done      bool    `json:"done"`
	Truncated bool    `json:"truncated"`
}

// envelope is a message to a client.
type envelope struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

// seen is an observation of the environment as clients get it.
func seen(o harness.Observation, m metadata) observation {
	m.Anchor = o.Anchor
	return observation{Text: o.Text, Task: o.Task, Admissible: o.Admissible, Metadata: m}
}

// encode is v as JSON with a line end; text stays readable.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // an environment's reward that is no number
		b.Reset()
		enc.Encode(envelope{"error", &fault{Message: "encode the answer: " + err.Error(), Code: codeExecution}}) //nolint:errcheck // strings alone
	}
	return b.Bytes()
}

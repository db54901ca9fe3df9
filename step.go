package harness

import "time"

// Message is one turn of a chat prompt.
type Message struct {
	Role    string `json:"role"` // "system", "user", "assistant"
	Content string `json:"content"`
}

// Span is a half-open range of bytes.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Step is one turn of an episode as the ledger keeps it: prompt → response → action → transition.
type Step struct {
	Index      int           `json:"index"`                // 0-based turn number
	Prompt     []Message     `json:"prompt"`               // what the policy saw
	Response   string        `json:"response"`             // what it said, byte for byte
	Action     string        `json:"action"`               // what was parsed from it and sent to the environment
	Valid      bool          `json:"valid"`                // the response kept the format's rules
	Spans      []Span        `json:"spans,omitempty"`      // bytes of Response that are the executable action
	Anchor     string        `json:"anchor"`               // raw observation before the action
	Admissible []string      `json:"admissible,omitempty"` // legal actions before the action
	Feedback   string        `json:"feedback,omitempty"`   // immediate feedback; "" = none
	Privileged string        `json:"privileged,omitempty"` // what only the environment knew
	Next       Observation   `json:"next"`                 // observation after the action
	NextPrompt []Message     `json:"next_prompt"`          // the prompt that follows the action, rendered also after the last step
	Reward     float64       `json:"reward"`
	Score      float64       `json:"score"`
	Won        bool          `json:"won"`
	Done       bool          `json:"done"`
	Tokens     *Tokens       `json:"tokens,omitempty"` // nil where the policy gave no tokens
	PolicyTime time.Duration `json:"policy_ns"`        // time until the policy had answered
	EnvTime    time.Duration `json:"env_ns"`           // time until the environment had answered

	// What a leaf has in common with an ancestor (Fork). Both are read from the ledger, not written to it.
	Shared       bool `json:"shared,omitempty"`        // the whole step is an ancestor's
	SharedTokens int  `json:"shared_tokens,omitempty"` // leading response tokens that an ancestor sampled; all of them in a shared step
}

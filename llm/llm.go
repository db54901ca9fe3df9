// Package llm talks to inference servers and local models behind two small interfaces: Generator
// (sample a response) and Scorer (log-probabilities of given tokens). It owns wire formats, retries
// and capabilities; what is generated, and why, belongs to agent and teacher.
package llm

import (
	"context"
	"time"

	"github.com/hindsightrl/harness"
)

// Sampling says how tokens are drawn. The zero value is greedy with the server's own length limit;
// DefaultSampling is the neutral sampler.
type Sampling struct {
	Temperature float64  `json:"temperature"`
	TopP        float64  `json:"top_p"`                // 1 = off
	TopK        int      `json:"top_k"`                // 0 = off
	MinP        float64  `json:"min_p"`                // 0 = off
	MaxTokens   int      `json:"max_tokens,omitempty"` // 0 = the server's default
	Stop        []string `json:"stop,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
}

// DefaultSampling samples from the model's own distribution: temperature 1 and nothing cut off.
func DefaultSampling() Sampling { return Sampling{Temperature: 1, TopP: 1, MaxTokens: 512} }

// Neutral reports whether sampled log-probabilities are those of the model's own distribution.
func (s Sampling) Neutral() bool {
	return s.Temperature == 1 && (s.TopP == 1 || s.TopP == 0) && s.TopK <= 0 && s.MinP == 0
}

// Request asks for one response. Exactly one of Messages and TokenIDs is set.
type Request struct {
	Messages    []harness.Message
	TokenIDs    []int32
	Sampling    Sampling
	TopLogprobs int // alternatives per token to return; 0 = none
}

// Usage counts tokens as the server reports them; -1 where it does not.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	// CachedTokens are the prompt tokens that the server had in its prefix cache; 0 where it does not say.
	CachedTokens int `json:"cached_tokens,omitempty"`
}

// TokenLogprob is one alternative at one position; Logprob in nats.
type TokenLogprob struct {
	ID      int32   `json:"id"`
	Logprob float32 `json:"logprob"`
}

// Generation is a server's answer. Token columns are nil where the server gave none: text-only
// servers are honest about it rather than re-tokenised.
type Generation struct {
	Text    string
	Tokens  *harness.Tokens
	Top     [][]TokenLogprob // per response token, best first; nil unless asked for and given
	Finish  string           // "stop", "length", "" unknown
	Usage   Usage
	Latency time.Duration
}

// Generator samples responses. Implementations are safe for concurrent use, bound their own
// concurrency, retry what is worth retrying, and return a *harness.Failure of kind FailServer (or
// FailBudget, FailAgent) otherwise.
type Generator interface {
	Generate(ctx context.Context, req Request) (Generation, error)
}

// ScoreRequest asks how likely a continuation is after a prefix.
type ScoreRequest struct {
	Prefix       []int32
	Continuation []int32
	TopLogprobs  int
}

// Score holds one log-probability (nats) per continuation token.
type Score struct {
	Logprobs []float32
	Top      [][]TokenLogprob // nil unless asked for and given
	Ranks    []int32          // 1 = the most likely token; nil where not given
	Calls    int              // requests that it took
	Latency  time.Duration
}

// Scorer gives the log-probability of each token of a continuation. Implementations are safe for
// concurrent use and never return fewer values than tokens.
type Scorer interface {
	Score(ctx context.Context, req ScoreRequest) (Score, error)
}

package llm

import (
	"context"

	"github.com/hindsightrl/harness"
)

// ModelInfo describes a model that runs in this process.
type ModelInfo struct {
	Name          string `json:"name"`    // what a request's "model" field says
	Engine        string `json:"engine"`  // "refmodel", "llama.cpp", …
	Version       string `json:"version"` // engine and weights: changes whenever answers could
	VocabSize     int    `json:"vocab_size"`
	ContextLength int    `json:"context_length"` // tokens, prompt and response together; 0 = unbounded
	BOS           int32  `json:"bos"`            // -1 = none
	EOS           int32  `json:"eos"`            // -1 = none
}

// StreamRequest asks a local model for one response to Prompt.
type StreamRequest struct {
	Prompt      []int32
	Sampling    Sampling
	TopLogprobs int // alternatives per token; 0 = none
}

// TokenEvent is one sampled token. Logprob and Entropy are in nats and those of the model's own
// distribution (temperature 1, nothing cut off), whatever the sampler was.
type TokenEvent struct {
	ID      int32
	Logprob float32
	Entropy float32
	Rank    int32 // 1 = the most likely token; 0 = not given
	Top     []TokenLogprob
}

// Model is a language model in this process with all logits at hand. Implementations are safe for
// concurrent use; they queue what exceeds their own slots.
type Model interface {
	Scorer
	// Info never changes while the model is open.
	Info() ModelInfo
	// Tokenize turns text into ids; special adds BOS and parses control tokens.
	Tokenize(text string, special bool) ([]int32, error)
	// TokenBytes is the exact text of one token. Joining the bytes of a text's tokens gives the text.
	TokenBytes(id int32) []byte
	// Render applies the chat template and tokenizes; the result ends where the response begins.
	Render(messages []harness.Message) ([]int32, error)
	// Stream samples tokens and hands each to emit, in order, until the end of the response; the
	// end-of-sequence token itself is handed over too. It returns "stop" or "length". An error of emit
	// ends the generation and is returned.
	Stream(ctx context.Context, req StreamRequest, emit func(TokenEvent) error) (finish string, err error)
}

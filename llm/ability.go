package llm

import (
	"context"
	"strconv"

	"github.com/hindsightrl/harness"
)

// The distributions that a log-probability can belong to.
const (
	ModeRaw       = "raw"       // the model's own distribution, before temperature and cut-offs
	ModeProcessed = "processed" // the distribution that the token was sampled from
)

// Identity is who answers at an address. Two answers with equal identities come from the same model
// as far as the server tells.
type Identity struct {
	Engine        string `json:"engine"`            // "vllm", "sglang", "llama.cpp", "openai", or what a server of such a dialect calls itself
	Version       string `json:"version,omitempty"` // of the engine; "" = not told
	Model         string `json:"model"`             // name that requests carry
	Root          string `json:"root,omitempty"`    // checkpoint behind the name; "" = not told
	ContextLength int    `json:"context_length,omitempty"`
	VocabSize     int    `json:"vocab_size,omitempty"`
}

// Client is a connection to one server. Further abilities (Scorer, Renderer, Tokenizer, Versioner,
// Pauser) are found by type assertion; whether the server behind has them, Probe measures.
type Client interface {
	Generator
	// Identity asks the server who it is.
	Identity(ctx context.Context) (Identity, error)
	// Stats reports what this client did so far.
	Stats() Stats
}

// Renderer turns messages into the exact ids of a prompt: chat template applied, ending where the
// response begins.
type Renderer interface {
	Render(ctx context.Context, messages []harness.Message) ([]int32, error)
}

// Tokenizer converts between text and ids with the server's own tokenizer.
type Tokenizer interface {
	// Tokenize returns the ids of text; special adds what the model puts before every text (BOS).
	Tokenize(ctx context.Context, text string, special bool) ([]int32, error)
	// Detokenize returns the text of ids, control tokens spelled out where the server can.
	Detokenize(ctx context.Context, ids []int32) (string, error)
}

// Versioner tells the label of the weights that are loaded now. A server without the endpoint gives
// ErrUnsupported.
type Versioner interface {
	WeightVersion(ctx context.Context) (string, error)
}

// PauseMode says what becomes of requests under way when a server is paused.
type PauseMode string

// The pause modes that both vLLM and SGLang know.
const (
	PauseAbort PauseMode = "abort" // they end at once and are no responses
	PauseKeep  PauseMode = "keep"  // they freeze and go on after Resume
)

// Pauser stops and restarts a server's generation around a weight update.
type Pauser interface {
	// CanPause asks whether the server has the endpoints, without pausing it.
	CanPause(ctx context.Context) (bool, error)
	// Pause stops generation.
	Pause(ctx context.Context, mode PauseMode) error
	// Resume lets it go on.
	Resume(ctx context.Context) error
}

// ParseVersion reads a weight label as the policy version that the ledger keeps: a decimal integer,
// alone or at the end of a label such as "step-12". Other labels have no number.
func ParseVersion(label string) (int32, bool) {
	digits := len(label)
	for digits > 0 && label[digits-1] >= '0' && label[digits-1] <= '9' {
		digits--
	}
	if digits > 0 && label[digits-1] != '-' && label[digits-1] != '_' {
		return 0, false
	}
	v, err := strconv.ParseInt(label[digits:], 10, 32)
	if err != nil {
		return 0, false
	}
	return int32(v), true
}

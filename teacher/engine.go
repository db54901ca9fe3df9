package teacher

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// Engine is a teacher that can be asked: it renders prompts, tells how likely tokens are behind them,
// and spells tokens. llm's clients of vLLM, SGLang and llama.cpp are engines, and llm.Local makes one of any
// model in this process.
type Engine interface {
	llm.Scorer
	llm.Renderer
	llm.Tokenizer
}

// AsEngine checks that a client can be a teacher.
func AsEngine(c llm.Client) (Engine, error) {
	if e, ok := c.(Engine); ok {
		return e, nil
	}
	return nil, errext.WithHint(errors.New("this server cannot be a teacher: it does not score given tokens"),
		"serve the model with vLLM, SGLang or llama.cpp, or use gguf:FILE or refmodel")
}

// Identity is who the teacher is: two teachers with equal identities give equal numbers, up to the noise
// of their arithmetic.
type Identity struct {
	llm.Identity
	Weights string `json:"weights,omitempty"` // label of the loaded weights; "" = not told
}

// Identify asks a client who it is and, where it can tell, which weights it has loaded.
func Identify(ctx context.Context, c llm.Client) (Identity, error) {
	who, err := c.Identity(ctx)
	if err != nil {
		return Identity{}, fmt.Errorf("identify teacher: %w", err)
	}
	id := Identity{Identity: who}
	v, ok := c.(llm.Versioner)
	if !ok {
		return id, nil
	}
	if id.Weights, err = v.WeightVersion(ctx); err != nil && !errors.Is(err, llm.ErrUnsupported) {
		return id, fmt.Errorf("ask the teacher for its weights: %w", err)
	}
	return id, nil
}

// String names the teacher for people.
func (t Identity) String() string {
	s := t.Engine + " " + t.Model
	if t.Weights != "" {
		s += " (weights " + t.Weights + ")"
	}
	return s
}

// key hashes everything that tells who answers.
func (t Identity) key() [32]byte {
	raw, err := json.Marshal(t)
	if err != nil { // strings and numbers alone
		panic(err)
	}
	return sha256.Sum256(raw)
}

// logprobKey is the key of the log-probabilities of continuation after prefix: who answers, and the
// tokens. Mode and templates act through the tokens alone, so two passes that ask the same question
// share the answer.
func logprobKey(teacher [32]byte, prefix, continuation []int32) harness.ContentKey {
	buf := make([]byte, 0, 64+4*(len(prefix)+len(continuation)))
	buf = append(append(buf, "hindsight/logprobs/1"...), teacher[:]...)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(prefix)))
	for _, ids := range [][]int32{prefix, continuation} {
		for _, id := range ids {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(id))
		}
	}
	sum := sha256.Sum256(buf)
	return harness.ContentKey(sum[:16])
}

// DefaultTolerance is the largest difference in nats between two scores of the same tokens that a
// server's arithmetic explains: batches of another shape add up in another order, in bfloat16 on GPUs.
// Models in this process that promise equal numbers get none.
func DefaultTolerance(engine string) float64 {
	switch engine {
	case "refmodel":
		return 0
	case "llama.cpp": // F16 cache; measured 0.02 on a model of 260 thousand weights
		return 0.05
	}
	return 0.1
}

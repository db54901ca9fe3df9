package gguf

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/hindsightrl/harness/llm"
)

// errNumbers means that the model gave logits that are no numbers.
var errNumbers = errors.New("the model gave logits that are not numbers")

// ahead is how many tokens a generation may be decoded beyond what its reader has taken: enough to
// keep the slots of a batch together, little enough that a slow reader holds up only its own slot.
const ahead = 8

// task is one sequence on its way through a slot. The loop owns tokens and everything behind it; the
// caller reads events and done.
type task struct {
	ctx     context.Context
	tokens  []int32 // known tokens; a generation appends what it samples
	outFrom int     // index of the first token after which logits are wanted
	// take looks at the logits after token i. It returns the next token, or -1 where the sequence
	// ends or the next token is known already. Calls for different i of one task may run at once.
	take   func(i int, logits []float32) (next int32, err error)
	last   func() bool // whether the sequence has ended; nil = when all tokens were decoded
	events chan llm.TokenEvent
	done   chan error // one value when the task has left the loop
}

// full reports whether the reader is too far behind for another token.
func (t *task) full() bool { return t.events != nil && len(t.events) == cap(t.events) }

// Adjust changes logits before sampling, for example to forbid a token with −Inf. sampled are the
// response's tokens so far. What is reported about a token stays that of the model's own distribution.
type Adjust = func(sampled []int32, logits []float32)

// newGeneration makes the task that samples at most limit tokens after prompt.
func newGeneration(ctx context.Context, req llm.StreamRequest, limit int, ends func(int32) bool, adjust Adjust) *task {
	t := &task{
		ctx: ctx, outFrom: len(req.Prompt) - 1,
		tokens: append(make([]int32, 0, len(req.Prompt)+min(limit, 256)), req.Prompt...),
		events: make(chan llm.TokenEvent, ahead), done: make(chan error, 1),
	}
	sampler, n, over := newSampler(req.Sampling), 0, false
	var scratch []float32
	t.take = func(_ int, logits []float32) (int32, error) {
		lse, h := moments(logits)
		if math.IsNaN(lse) {
			return -1, errNumbers
		}
		from := logits
		if adjust != nil {
			scratch = append(scratch[:0], logits...)
			adjust(t.tokens[len(req.Prompt):], scratch)
			from = scratch
		}
		id := sampler.sample(from)
		if id < 0 {
			return -1, errors.New("no token is left to sample from")
		}
		n++
		over = ends(id) || n == limit
		t.events <- llm.TokenEvent{
			ID: id, Logprob: float32(float64(logits[id]) - lse), Entropy: float32(h),
			Rank: rank(logits, id), Top: topLogprobs(logits, lse, req.TopLogprobs),
		}
		if over {
			return -1, nil
		}
		return id, nil
	}
	t.last = func() bool { return over }
	return t
}

// newScoring makes the task that scores req's continuation into s, whose slices have its length.
func newScoring(ctx context.Context, req llm.ScoreRequest, s *llm.Score) *task {
	from := len(req.Prefix) - 1
	t := &task{ctx: ctx, outFrom: from, done: make(chan error, 1)}
	t.tokens = append(append(make([]int32, 0, len(req.Prefix)+len(req.Continuation)), req.Prefix...), req.Continuation...)
	// The last token predicts nothing that is asked for.
	t.tokens = t.tokens[:len(t.tokens)-1]
	t.take = func(i int, logits []float32) (int32, error) {
		lse, _ := moments(logits)
		if math.IsNaN(lse) {
			return -1, errNumbers
		}
		at := i - from
		id := req.Continuation[at]
		s.Logprobs[at] = float32(float64(logits[id]) - lse)
		s.Ranks[at] = rank(logits, id)
		if req.TopLogprobs > 0 {
			s.Top[at] = topLogprobs(logits, lse, req.TopLogprobs)
		}
		return -1, nil
	}
	return t
}

// checkIDs reports ids outside the vocabulary: the library would end the process over one.
func checkIDs(what string, ids []int32, vocab int) error {
	for i, id := range ids {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("%s: token %d is %d, the vocabulary has %d", what, i, id, vocab)
		}
	}
	return nil
}

package refmodel

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel/internal/vocab"
)

// Score gives the log-probability of each token of the continuation: the very numbers that Stream
// reports when it samples these tokens. It reads no clock, so the result has no latency.
func (m *Model) Score(ctx context.Context, req llm.ScoreRequest) (llm.Score, error) {
	if err := m.check("score", req.Continuation); err != nil {
		return llm.Score{}, err
	}
	w, err := m.window(ctx, "score", req.Prefix, len(req.Continuation))
	if err != nil {
		return llm.Score{}, err
	}
	defer m.windows.Put(w)
	out := llm.Score{Logprobs: make([]float32, len(req.Continuation)), Calls: 1}
	var scratch []float64
	if req.TopLogprobs > 0 {
		out.Top = make([][]llm.TokenLogprob, len(req.Continuation))
		scratch = make([]float64, len(m.traits))
	}
	for i, id := range req.Continuation {
		w.gather()
		out.Logprobs[i] = float32(math.Log(w.prob(id)))
		if scratch != nil {
			out.Top[i] = w.top(req.TopLogprobs, scratch)
		}
		w.push(id)
	}
	return out, nil
}

// Stream samples a response. With a seed, equal requests give equal responses; without one, each draw
// is new. It ends with "stop" after the end-of-turn token or the token that completes a stop string,
// and with "length" at the request's limit or the end of the context.
func (m *Model) Stream(ctx context.Context, req llm.StreamRequest, emit func(llm.TokenEvent) error) (string, error) {
	w, err := m.window(ctx, "generate", req.Prompt, 1)
	if err != nil {
		return "", err
	}
	defer m.windows.Put(w)
	limit := req.Sampling.MaxTokens
	if limit <= 0 {
		limit = m.cfg.MaxTokens
	}
	limit = min(limit, m.cfg.ContextLength-len(req.Prompt))
	var scratch []float64
	if req.TopLogprobs > 0 || !req.Sampling.Neutral() {
		scratch = make([]float64, len(m.traits))
	}
	uniform := source(req.Sampling.Seed)
	stop := stopper{words: req.Sampling.Stop}
	for range limit {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		w.gather()
		id := w.pick(req.Sampling, scratch, uniform)
		ev := llm.TokenEvent{ID: id, Logprob: float32(math.Log(w.prob(id))), Entropy: float32(w.entropy())}
		if req.TopLogprobs > 0 {
			ev.Top = w.top(req.TopLogprobs, scratch)
		}
		if err := emit(ev); err != nil {
			return "", err
		}
		if id == vocab.EOS || stop.sees(m.vocab.Bytes(id)) {
			return "stop", nil
		}
		w.push(id)
	}
	return "length", nil
}

// source returns the numbers that a generation draws.
func source(seed *int64) func() float64 {
	if seed == nil {
		return rand.Float64
	}
	return rand.New(rand.NewPCG(uint64(*seed), 0x48696e6473696768)).Float64
}

// stopper looks for stop strings in a growing text.
type stopper struct {
	words []string
	tail  []byte
}

// sees appends a token's text and reports whether a stop string is now complete.
func (s *stopper) sees(text []byte) bool {
	if len(s.words) == 0 {
		return false
	}
	longest := 0
	for _, w := range s.words {
		longest = max(longest, len(w))
	}
	s.tail = append(s.tail, text...)
	for _, w := range s.words {
		if w != "" && bytes.Contains(s.tail, []byte(w)) {
			return true
		}
	}
	if n := len(s.tail) - longest; n > 0 {
		s.tail = append(s.tail[:0], s.tail[n:]...)
	}
	return false
}

package llm

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// llamaFirstProbs is how many alternatives the first request for a token asks for. Most tokens that a
// policy sampled are among them; the rest cost a second request with the whole vocabulary.
const llamaFirstProbs = 128

// Score forces the continuation token by token: one request per token evaluates the prefix so far and
// gives the best alternatives of the next position, among which the token is looked up by id; where
// it is missing, a second request asks for all of the vocabulary. The answer's Calls is the price.
// A continuation that may cost more than Config.MaxScoreCalls is refused before the first request.
func (c *LlamaCpp) Score(ctx context.Context, req ScoreRequest) (Score, error) {
	if err := checkScore(req); err != nil {
		return Score{}, err
	}
	if n := len(req.Continuation); n > c.cfg.MaxScoreCalls {
		return Score{}, c.tooMany(n, 0)
	}
	id, err := c.identity(ctx)
	if err != nil {
		return Score{}, err
	}
	vocab := or(c.cfg.VocabSize, id.VocabSize)
	if vocab == 0 {
		return Score{}, harness.FailFinal(harness.FailServer, "score",
			errext.WithHint(fmt.Errorf("%w: the server does not tell its vocabulary size, without which a rare token cannot be looked up", ErrUnsupported), "configure the vocabulary size"))
	}
	n := len(req.Continuation)
	sc := Score{Logprobs: make([]float32, n)}
	if req.TopLogprobs > 0 {
		sc.Top = make([][]TokenLogprob, n)
	}
	ids := make([]int32, 0, len(req.Prefix)+n)
	ids = append(ids, req.Prefix...)
	for i, tok := range req.Continuation {
		top, at, err := c.scoreToken(ctx, ids, tok, min(vocab, max(llamaFirstProbs, req.TopLogprobs)), vocab, n-i, &sc)
		if err != nil {
			return Score{}, fmt.Errorf("token %d of %d: %w", i, n, err)
		}
		sc.Logprobs[i] = top[at].Logprob
		if req.TopLogprobs > 0 {
			sc.Top[i] = sortTop(top, req.TopLogprobs)
		}
		ids = append(ids, tok)
	}
	c.meter.tokens(len(ids), sc.Calls, n)
	return sc, nil
}

// scoreToken returns alternatives and where tok stands among them. left is how many tokens are unscored, this one
// included: each needs a request at least.
func (c *LlamaCpp) scoreToken(ctx context.Context, ids []int32, tok int32, first, vocab, left int, sc *Score) ([]TokenLogprob, int, error) {
	for _, n := range []int{first, vocab} {
		if sc.Calls+left > c.cfg.MaxScoreCalls {
			return nil, 0, c.tooMany(sc.Calls+left, sc.Calls)
		}
		body := llamaRequestOf(ids, Sampling{Temperature: 1, TopP: 1, MaxTokens: 1})
		body.NProbs, body.CachePrompt = n, c.cfg.ReusePrompt
		var smp sample
		at := -1
		out, err := c.call(ctx, request{op: "score", method: http.MethodPost, path: "/completion", body: body, decode: func(b []byte) error {
			smp = newSample()
			if err := parseLlama(b, &smp); err != nil {
				return err
			}
			if smp.truncated {
				return finalError{ErrContextLength}
			}
			if len(smp.top) != 1 {
				return badReply("alternatives at %d positions, asked for 1", len(smp.top))
			}
			if at = slices.IndexFunc(smp.top[0], func(t TokenLogprob) bool { return t.ID == tok }); at < 0 {
				return nil
			}
			return checkLogprob(len(ids), tok, smp.top[0][at].Logprob)
		}})
		if err != nil {
			return nil, 0, err
		}
		sc.Calls++
		sc.Latency += out.latency
		if at >= 0 {
			return smp.top[0], at, nil
		}
		if n == vocab {
			break
		}
	}
	return nil, 0, failServer("score", badReply("token %d is not among all %d of the vocabulary", tok, vocab))
}

func (c *LlamaCpp) tooMany(need, spent int) error {
	return harness.FailFinal(harness.FailBudget, "score", errext.WithHint(
		fmt.Errorf("%w: at least %d one-token requests (%d spent), the limit is %d", ErrScoreBudget, need, spent, c.cfg.MaxScoreCalls),
		"score with vLLM, SGLang or a local model, which need one request; or raise the limit"))
}

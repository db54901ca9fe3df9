package llm

import (
	"context"
	"net/http"
	"strconv"
)

// Score asks for the prompt log-probabilities of prefix and continuation together. Each call carries
// a salt of its own: vLLM has returned stale prompt log-probabilities from its prefix cache
// (vllm#42019), and a salt makes the cache miss.
func (c *VLLM) Score(ctx context.Context, req ScoreRequest) (Score, error) {
	if err := checkScore(req); err != nil {
		return Score{}, err
	}
	id, err := c.identity(ctx)
	if err != nil {
		return Score{}, err
	}
	ids := make([]int32, 0, len(req.Prefix)+len(req.Continuation))
	ids = append(append(ids, req.Prefix...), req.Continuation...)
	top, none := req.TopLogprobs, (*int)(nil)
	// One token must be sampled; what it is does not matter.
	params := paramsOf(Sampling{Temperature: 1, TopP: 1, MaxTokens: 1})
	call := request{op: "score", method: http.MethodPost}
	if c.cfg.Route == RouteTokens {
		call.path = "/inference/v1/generate"
		call.body = vllmTokens{
			Model: id.Model, TokenIDs: ids, CacheSalt: c.cfg.Salt(),
			Params: vllmTokensParams{vllmParams: params, Logprobs: none, PromptLogprobs: &top},
		}
	} else {
		call.path = "/v1/completions"
		call.body = vllmOpenAI{Model: id.Model, Prompt: ids, vllmParams: params, PromptLogprobs: &top, CacheSalt: c.cfg.Salt(), ReturnTokenIDs: true, SkipSpecialTokens: true}
	}
	var sc *promptScore
	call.decode = func(b []byte) error {
		sc = newPromptScore(ids, len(req.Prefix), top)
		if err := sc.parse(b); err != nil {
			return err
		}
		return c.sameModel(id.Model, sc.model)
	}
	out, err := c.call(ctx, call)
	if err != nil {
		return Score{}, err
	}
	c.meter.tokens(len(ids), 1, len(req.Continuation))
	return Score{Logprobs: sc.logprobs, Top: sc.top, Calls: 1, Latency: out.latency}, nil
}

// promptScore reads "prompt_logprobs": per position of the prompt a map {token id → {logprob, rank,
// decoded_token}}, null at position 0. The map holds the actual token and, if asked for, the k best;
// which of them comes first says nothing, so the actual token is looked up by its id.
type promptScore struct {
	ids      []int32
	from, k  int
	keys     [][]byte // ids as decimal, of the continuation
	model    string
	found    bool
	rows     int
	echoed   []int32 // the prompt as the server understood it
	logprobs []float32
	top      [][]TokenLogprob
	err      error
}

func newPromptScore(ids []int32, from, k int) *promptScore {
	n := len(ids) - from
	p := &promptScore{ids: ids, from: from, k: k, logprobs: make([]float32, n), keys: make([][]byte, n)}
	digits := make([]byte, 0, 8*n)
	for i, id := range ids[from:] {
		at := len(digits)
		digits = strconv.AppendInt(digits, int64(id), 10)
		p.keys[i] = digits[at:len(digits):len(digits)]
	}
	if k > 0 {
		p.top = make([][]TokenLogprob, n)
	}
	return p
}

func (p *promptScore) parse(b []byte) error {
	err := parseReply(b, func(r *jsonReader, key string) {
		switch key {
		case "model":
			p.model = r.text()
		case "prompt_logprobs":
			p.list(r)
		case "prompt_token_ids":
			p.echoed = r.tokenIDs()
		case "choices":
			r.firstChoice(func(key []byte) {
				switch string(key) {
				case "prompt_logprobs":
					p.list(r)
				case "prompt_token_ids":
					p.echoed = r.tokenIDs()
				}
			})
		}
	})
	switch {
	case err != nil:
		return err
	case p.err != nil:
		return p.err
	case !p.found:
		return badReply("no prompt log-probabilities")
	case p.rows != len(p.ids):
		return badReply("prompt log-probabilities at %d positions for %d tokens", p.rows, len(p.ids))
	case p.echoed != nil && !equalIDs(p.echoed, p.ids):
		return badReply("the server scored another prompt: %d ids came back for %d sent, or they differ", len(p.echoed), len(p.ids))
	}
	return nil
}

func (p *promptScore) list(r *jsonReader) {
	if r.null() {
		return
	}
	p.found = true
	r.array(func(i int) {
		p.rows++
		if i < p.from || i >= len(p.ids) {
			r.pass() // the prefix is the condition, not the question
			return
		}
		if r.null() {
			p.fail(badReply("position %d has no log-probability", i))
			return
		}
		p.row(r, i)
	})
}

func (p *promptScore) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *promptScore) row(r *jsonReader, i int) {
	at := i - p.from
	want, seen := string(p.keys[at]), false
	r.object(func(key []byte) {
		own := string(key) == want
		if !own && p.k == 0 {
			return
		}
		var lp float32
		r.object(func(key []byte) {
			if string(key) == "logprob" {
				lp = r.float32()
			}
		})
		if own {
			seen = true
			p.logprobs[at] = lp
		}
		if id, ok := tokenIDString(key); ok && p.k > 0 {
			p.top[at] = append(p.top[at], TokenLogprob{id, lp})
		}
	})
	switch {
	case r.err != nil:
	case !seen:
		p.fail(badReply("position %d has no entry for its own token %s", i, want))
	default:
		if err := checkLogprob(at, p.ids[i], p.logprobs[at]); err != nil {
			p.fail(err)
		}
	}
	if p.k > 0 {
		p.top[at] = sortTop(p.top[at], p.k)
	}
}

func equalIDs(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

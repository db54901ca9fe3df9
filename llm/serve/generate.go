package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/internal/textstream"
)

// span says which weights sampled the tokens from Start to before End.
type span struct {
	Version string `json:"version"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
}

// choice is one response as it grows. Its owner is the goroutine that samples it.
type choice struct {
	index  int
	prompt []int32
	model  llm.Model // that sampled last; spells the tokens
	events []llm.TokenEvent
	ids    []int32
	text   *textstream.Text
	names  int    // characters of the tokens' names so far, for text_offset
	finish string // "" while it grows
	reason any    // stop string or token id that ended it
	spans  []span
	told   int  // events that a stream has already sent
	begun  bool // a stream has sent its first chunk
	over   bool // nothing follows; finish may be known one call earlier
}

// Sentinels of emit: they end a generation from this side.
var errStop = errors.New("stop")

// run samples o.n responses to prompt at once. each, if given, is called after every token and once
// more at each end, never twice at the same time; its error ends all.
func (s *Server) run(ctx context.Context, prompt []int32, o order, first int, each func(c *choice) error) ([]*choice, error) {
	choices := make([]*choice, o.n)
	g, ctx := errgroup.WithContext(ctx)
	var one sync.Mutex
	tell := func(c *choice) error {
		if each == nil {
			return nil
		}
		one.Lock()
		defer one.Unlock()
		return each(c)
	}
	for i := range choices {
		c := &choice{index: first + i, prompt: prompt, text: newText(o)}
		choices[i] = c
		own := o
		if o.sampling.Seed != nil { // as vLLM: the choices of a seed differ, and again in the same way
			seed := *o.sampling.Seed + int64(i)
			own.sampling.Seed = &seed
		}
		g.Go(func() error {
			if err := s.sample(ctx, c, own, tell); err != nil {
				return err
			}
			c.over = true
			return tell(c)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return choices, nil
}

// sample grows c to its end. Weights that are swapped under it are left and the response goes on
// with the new ones; the label of each token's weights is kept.
func (s *Server) sample(ctx context.Context, c *choice, o order, tell func(*choice) error) error {
	most := o.sampling.MaxTokens
	for c.finish == "" {
		l, err := s.weights.enter(ctx, o.requestID, false)
		if err != nil {
			return err
		}
		left := o
		left.sampling.MaxTokens = most - len(c.ids)
		if n := int64(len(c.ids)); n > 0 && o.sampling.Seed != nil {
			seed := *o.sampling.Seed ^ n<<32 // the first weights used up the beginning of the series
			left.sampling.Seed = &seed
		}
		finish, err := s.stream(l, c, left, tell)
		why := context.Cause(l.ctx)
		l.leave()
		switch {
		case err == nil:
			if c.finish == "" {
				c.finish = finish
			}
		case errors.Is(err, errStop):
		case errors.Is(why, errAborted):
			c.finish = "abort"
		case errors.Is(why, errSwapped):
			if len(c.ids) >= most {
				c.finish = "length"
			}
		default:
			return err
		}
	}
	return nil
}

// stream lets the model sample from where c is.
func (s *Server) stream(l *lease, c *choice, o order, tell func(*choice) error) (string, error) {
	c.model = l.model
	req := llm.StreamRequest{Prompt: slices.Concat(c.prompt, c.ids), Sampling: o.sampling, TopLogprobs: max(0, o.top)}
	emit := func(ev llm.TokenEvent) error {
		version, err := l.hold()
		if err != nil {
			return err
		}
		ended := c.take(ev, version, o, l.model)
		if err := tell(c); err != nil {
			return err
		}
		if ended {
			return errStop
		}
		return nil
	}
	adjust := o.adjust
	if o.needsEndTokens {
		ends := endTokens(l.model)
		adjust = banEnds(ends, func(sampled int) bool { return o.minTokens == 0 || sampled < o.minTokens }, adjust)
	}
	if adjust == nil {
		return l.model.Stream(l.ctx, req, emit)
	}
	m, ok := l.model.(adjuster)
	if !ok {
		return "", bad("", "this model's logits cannot be changed: penalties, logit_bias, allowed_token_ids, min_tokens and ignore_eos are not supported")
	}
	before := slices.Clone(c.ids)
	return m.StreamAdjusted(l.ctx, req, func(sampled []int32, logits []float32) {
		adjust(c.prompt, slices.Concat(before, sampled), logits)
	}, emit)
}

// take adds a token to c and reports whether it ends the response by a rule of the request. A model's
// own end tokens end it by themselves.
func (c *choice) take(ev llm.TokenEvent, version string, o order, m llm.Model) (ended bool) {
	c.ids, c.events = append(c.ids, ev.ID), append(c.events, ev)
	if n := len(c.spans); n > 0 && c.spans[n-1].Version == version {
		c.spans[n-1].End++
	} else {
		c.spans = append(c.spans, span{version, len(c.ids) - 1, len(c.ids)})
	}
	early := len(c.ids) <= o.minTokens
	if slices.Contains(o.stopIDs, ev.ID) && !early {
		c.finish, c.reason = "stop", ev.ID
		if o.keepStop {
			c.text.Append(shown(m, ev.ID, o.skipSpecial))
		}
		return true
	}
	b := shown(m, ev.ID, o.skipSpecial)
	if isEnd(m, ev.ID) && (!o.keepStop || o.skipSpecial) {
		b = nil
	}
	if early {
		c.text.Append(b)
		return false
	}
	if c.text.Write(b) {
		c.finish, c.reason = "stop", c.text.Stop()
		return true
	}
	return false
}

// shown are the bytes of a token in the text.
func shown(m llm.Model, id int32, skipSpecial bool) []byte {
	if skipSpecial && isControl(m, id) {
		return nil
	}
	return m.TokenBytes(id)
}

func isEnd(m llm.Model, id int32) bool {
	if e, ok := m.(ender); ok {
		return e.EndsResponse(id)
	}
	return id >= 0 && id == m.Info().EOS
}

func isControl(m llm.Model, id int32) bool {
	if c, ok := m.(controller); ok {
		return c.IsControl(id)
	}
	info := m.Info()
	return id >= 0 && (id == info.EOS || id == info.BOS)
}

func endTokens(m llm.Model) (ids []int32) {
	for id := range int32(m.Info().VocabSize) {
		if isEnd(m, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// fit checks the prompt and settles max_tokens: otherwise is the endpoint's default, 0 = as far as the
// context reaches.
func (s *Server) fit(o *order, p *params, prompt []int32, otherwise int) error {
	limit := s.info.ContextLength
	if len(prompt) == 0 {
		return bad("prompt", "the prompt has no tokens")
	}
	if err := inVocabulary(prompt, s.info.VocabSize); err != nil {
		return err
	}
	asked := orInt(p.MaxTokens, otherwise)
	switch {
	case p.MaxTokens != nil && asked < 1:
		return bad("max_tokens", "max_tokens must be at least 1")
	case limit <= 0 && asked == 0:
		asked = unbounded
	case limit > 0 && p.MaxTokens == nil && len(prompt) < limit: // a default is no wish
		if asked == 0 || asked > limit-len(prompt) {
			asked = limit - len(prompt)
		}
	case limit > 0 && len(prompt)+asked > limit, limit > 0 && len(prompt) >= limit:
		return bad("max_tokens", "This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the prompt, %d in the completion). Please reduce the length of the prompt or completion.",
			limit, len(prompt)+asked, len(prompt), asked)
	}
	o.sampling.MaxTokens = asked
	return nil
}

// unbounded is the default length of a chat response of a model whose context has no end.
const unbounded = 4096

// scored is a prompt with its log-probabilities; Score has one entry less than the prompt.
type scored struct {
	m      llm.Model
	prompt []int32
	llm.Score
}

// promptScores gives the log-probability of every prompt token but the first, with o.promptTop
// alternatives each.
func (s *Server) promptScores(ctx context.Context, prompt []int32, o order) (scored, error) {
	for {
		l, err := s.weights.enter(ctx, o.requestID, false)
		if err != nil {
			return scored{}, err
		}
		if len(prompt) < 2 {
			l.leave()
			return scored{m: l.model, prompt: prompt}, nil
		}
		score, err := l.model.Score(l.ctx, llm.ScoreRequest{Prefix: prompt[:1], Continuation: prompt[1:], TopLogprobs: max(0, o.promptTop)})
		why := context.Cause(l.ctx)
		l.leave()
		switch {
		case err == nil && len(score.Logprobs) != len(prompt)-1:
			return scored{}, fmt.Errorf("the model scored %d of %d tokens", len(score.Logprobs), len(prompt)-1)
		case err == nil:
			return scored{l.model, prompt, score}, nil
		case errors.Is(why, errAborted):
			return scored{}, errAborted
		case !errors.Is(why, errSwapped):
			return scored{}, err
		}
	}
}

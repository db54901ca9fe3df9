package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm/internal/textstream"
)

// Local is a client of a model in this process: what goes over HTTP elsewhere is a call here, and
// entropies are exact.
type Local struct {
	m       Model
	now     func() time.Time
	meter   meter
	version atomic.Int32
}

var (
	_ Client    = (*Local)(nil)
	_ Scorer    = (*Local)(nil)
	_ Renderer  = (*Local)(nil)
	_ Tokenizer = (*Local)(nil)
)

// NewLocal returns a client of m. Of the configuration only Now is used: there is nothing to retry,
// and the model has slots of its own. Closing m is the caller's business.
func NewLocal(m Model, cfg Config) *Local {
	l := &Local{m: m, now: cfg.Now}
	if l.now == nil {
		l.now = func() time.Time { return time.Time{} }
	}
	return l
}

// SetVersion says which policy version the model's weights are; tokens sampled from now on carry it.
func (l *Local) SetVersion(v int32) { l.version.Store(v) }

// Identity describes the model.
func (l *Local) Identity(context.Context) (Identity, error) {
	i := l.m.Info()
	return Identity{
		Engine: i.Engine, Version: i.Version, Model: i.Name, Root: i.Name,
		ContextLength: i.ContextLength, VocabSize: i.VocabSize,
	}, nil
}

// Stats reports what this client did so far. Tokens that lay in a cache are all those of the model.
func (l *Local) Stats() Stats {
	s := l.meter.snapshot(l.now())
	if c, ok := l.m.(interface{ CachedTokens() int64 }); ok {
		s.CachedTokens = c.CachedTokens()
	}
	return s
}

// timed runs one call between two looks at the clock.
func (l *Local) timed(f func() error) (time.Duration, error) {
	start := l.now()
	l.meter.begin(start)
	err := f()
	end := l.now()
	l.meter.end(end, end.Sub(start), 1, err == nil)
	return end.Sub(start), err
}

// Generate samples one response. All columns of its tokens are filled; entropies are exact.
func (l *Local) Generate(ctx context.Context, req Request) (Generation, error) {
	if err := checkRequest(req); err != nil {
		return Generation{}, err
	}
	prompt := req.TokenIDs
	if len(req.Messages) > 0 {
		var err error
		if prompt, err = l.m.Render(req.Messages); err != nil {
			return Generation{}, harness.FailFinal(harness.FailAgent, "generate", err)
		}
	}
	g := Generation{Tokens: l.columns(prompt, req.Sampling)}
	text := textstream.New(req.Sampling.Stop, false)
	var pieces [][]byte
	var err error
	g.Latency, err = l.timed(func() error {
		stream := StreamRequest{Prompt: prompt, Sampling: req.Sampling, TopLogprobs: req.TopLogprobs}
		finish, err := l.m.Stream(ctx, stream, func(e TokenEvent) error {
			piece := l.take(&g, e, req.TopLogprobs)
			if pieces = append(pieces, piece); len(piece) > 0 && text.Write(piece) {
				return errStopString
			}
			return nil
		})
		if errors.Is(err, errStopString) {
			finish, err = "stop", nil
		}
		g.Finish = finish
		return err
	})
	if err != nil {
		return Generation{}, localFailure(ctx, "generate", err)
	}
	g.Text, g.Tokens.Meta.Finish = text.All(), g.Finish
	if g.Tokens.Lengths, err = Lengths(g.Text, pieces); err != nil {
		return Generation{}, localFailure(ctx, "generate", err)
	}
	g.Usage = Usage{PromptTokens: len(prompt), CompletionTokens: len(g.Tokens.IDs)}
	l.meter.tokens(len(prompt), len(g.Tokens.IDs), 0)
	return g, nil
}

// errStopString ends a generation at its stop string.
var errStopString = errors.New("a stop string is complete")

func (l *Local) columns(prompt []int32, s Sampling) *harness.Tokens {
	i := l.m.Info()
	return &harness.Tokens{
		PromptIDs: prompt, IDs: []int32{},
		Meta: &harness.TokenMeta{
			Engine: i.Engine, Version: i.Version, Model: i.Name, Mode: ModeRaw,
			Temperature: s.Temperature, TopP: or(s.TopP, 1), TopK: s.TopK, MinP: s.MinP,
		},
	}
}

// take adds a token to g and returns its text, empty for end and control tokens.
func (l *Local) take(g *Generation, e TokenEvent, top int) []byte {
	t := g.Tokens
	t.IDs, t.Logprobs = append(t.IDs, e.ID), append(t.Logprobs, e.Logprob)
	t.Entropies, t.Versions = append(t.Entropies, e.Entropy), append(t.Versions, l.version.Load())
	if top > 0 {
		g.Top = append(g.Top, e.Top)
	}
	if !l.isText(e.ID) {
		return nil
	}
	return l.m.TokenBytes(e.ID)
}

// isText reports whether a token stands in the response's text: end and control tokens do not.
func (l *Local) isText(id int32) bool {
	if c, ok := l.m.(interface{ IsControl(id int32) bool }); ok {
		return !c.IsControl(id)
	}
	info := l.m.Info()
	return id != info.EOS && id != info.BOS
}

// Score gives the log-probability of each token of the continuation.
func (l *Local) Score(ctx context.Context, req ScoreRequest) (Score, error) {
	if err := checkScore(req); err != nil {
		return Score{}, err
	}
	var s Score
	latency, err := l.timed(func() (err error) {
		s, err = l.m.Score(ctx, req)
		if err == nil && len(s.Logprobs) != len(req.Continuation) {
			err = badReply("%d log-probabilities for %d tokens", len(s.Logprobs), len(req.Continuation))
		}
		return err
	})
	if err != nil {
		return Score{}, localFailure(ctx, "score", err)
	}
	s.Latency, s.Calls = latency, 1
	l.meter.tokens(len(req.Prefix)+len(req.Continuation), 0, len(req.Continuation))
	return s, nil
}

// Render applies the model's chat template and tokenizes.
func (l *Local) Render(_ context.Context, messages []harness.Message) ([]int32, error) {
	ids, err := l.m.Render(messages)
	if err != nil {
		return nil, harness.FailFinal(harness.FailAgent, "render", err)
	}
	return ids, nil
}

// Tokenize returns the ids of text.
func (l *Local) Tokenize(_ context.Context, text string, special bool) ([]int32, error) {
	ids, err := l.m.Tokenize(text, special)
	if err != nil {
		return nil, harness.FailFinal(harness.FailAgent, "tokenize", err)
	}
	return ids, nil
}

// Detokenize returns the text of ids, control tokens spelled out.
func (l *Local) Detokenize(_ context.Context, ids []int32) (string, error) {
	if d, ok := l.m.(interface{ Detokenize(ids []int32) string }); ok {
		return strings.ToValidUTF8(d.Detokenize(ids), "\uFFFD"), nil
	}
	var b []byte
	for _, id := range ids {
		b = append(b, l.m.TokenBytes(id)...)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

// TokenBytes is the exact text of one token.
func (l *Local) TokenBytes(id int32) []byte { return l.m.TokenBytes(id) }

// localFailure types an error of the model. Trying again mends nothing that happens in this process,
// and a caller that gave up hears why it did.
func localFailure(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	}
	return harness.FailFinal(harness.FailServer, op, err)
}

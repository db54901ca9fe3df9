package llm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// scripted is a byte-level model that says what is written in it; token 0 ends a response.
type scripted struct {
	says string
	err  error
	few  bool // scores too few tokens
}

func (scripted) Info() llm.ModelInfo {
	return llm.ModelInfo{Name: "m", Engine: "test", Version: "7", VocabSize: 256, ContextLength: 99, BOS: -1, EOS: 0}
}

func (scripted) Tokenize(text string, _ bool) (ids []int32, err error) {
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

func (scripted) TokenBytes(id int32) []byte { return []byte{byte(id)} }

func (s scripted) Render(m []harness.Message) ([]int32, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.Tokenize(m[0].Content+">", true)
}

func (s scripted) Stream(ctx context.Context, req llm.StreamRequest, emit func(llm.TokenEvent) error) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	for i, b := range append([]byte(s.says), 0) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if i == req.Sampling.MaxTokens && i > 0 {
			return "length", nil
		}
		e := llm.TokenEvent{ID: int32(b), Logprob: -float32(i) - 1, Entropy: float32(i) / 2}
		if req.TopLogprobs > 0 {
			e.Top = []llm.TokenLogprob{{ID: int32(b), Logprob: e.Logprob}}
		}
		if err := emit(e); err != nil {
			return "", err
		}
	}
	return "stop", nil
}

func (s scripted) Score(_ context.Context, req llm.ScoreRequest) (llm.Score, error) {
	n := len(req.Continuation)
	if s.few {
		n--
	}
	return llm.Score{Logprobs: make([]float32, n)}, s.err
}

func TestLocalGeneration(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	l := llm.NewLocal(scripted{says: "hé"}, llm.Config{Now: func() time.Time { now = now.Add(time.Second); return now }})
	l.SetVersion(5)
	g, err := l.Generate(t.Context(), llm.Request{Messages: []harness.Message{{Role: "user", Content: "x"}}, Sampling: llm.DefaultSampling(), TopLogprobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := &harness.Tokens{
		PromptIDs: []int32{'x', '>'}, IDs: []int32{'h', 0xC3, 0xA9, 0}, Logprobs: []float32{-1, -2, -3, -4}, Entropies: []float32{0, .5, 1, 1.5},
		Versions: []int32{5, 5, 5, 5}, Lengths: []int32{1, 1, 1, 0}, Meta: &harness.TokenMeta{Engine: "test", Version: "7", Model: "m", Mode: "raw", Temperature: 1, TopP: 1, Finish: "stop"},
	}
	if d := cmp.Diff(want, g.Tokens); d != "" || g.Text != "hé" || g.Finish != "stop" || len(g.Top) != 4 || g.Latency != time.Second {
		t.Errorf("generation %+v\n%s", g, d)
	}
	if err := g.Tokens.Validate(); err != nil {
		t.Error(err)
	}
	if s := l.Stats(); s.Calls != 1 || s.PromptTokens != 2 || s.CompletionTokens != 4 {
		t.Errorf("stats %+v", s)
	}
}

func TestLocalEnds(t *testing.T) {
	t.Parallel()
	l := llm.NewLocal(scripted{says: "one two"}, llm.Config{})
	for _, tc := range []struct {
		s            llm.Sampling
		text, finish string
		tokens       int
	}{
		{llm.Sampling{MaxTokens: 3}, "one", "length", 3},
		{llm.Sampling{Stop: []string{" t"}}, "one", "stop", 5},
		{llm.Sampling{}, "one two", "stop", 8},
	} {
		g, err := l.Generate(t.Context(), llm.Request{TokenIDs: []int32{1}, Sampling: tc.s})
		if err != nil || g.Text != tc.text || g.Finish != tc.finish || len(g.Tokens.IDs) != tc.tokens || g.Tokens.Meta.Finish != tc.finish {
			t.Errorf("%+v: %q, %q, %d tokens, %v", tc.s, g.Text, g.Finish, len(g.Tokens.IDs), err)
		}
	}
}

func TestLocalFailures(t *testing.T) {
	t.Parallel()
	ask := llm.Request{TokenIDs: []int32{1}}
	score := llm.ScoreRequest{Prefix: []int32{1}, Continuation: []int32{2}}
	for name, tc := range map[string]struct {
		call func() error
		kind harness.FailureKind
		is   error
	}{
		"no prompt": {func() error {
			_, err := llm.NewLocal(scripted{}, llm.Config{}).Generate(t.Context(), llm.Request{})
			return err
		}, harness.FailAgent, nil},
		"bad template": {func() error {
			_, err := llm.NewLocal(scripted{err: errBroken}, llm.Config{}).Render(t.Context(), nil)
			return err
		}, harness.FailAgent, errBroken},
		"too long": {func() error {
			_, err := llm.NewLocal(scripted{err: llm.ErrContextLength}, llm.Config{}).Generate(t.Context(), ask)
			return err
		}, harness.FailServer, llm.ErrContextLength},
		"broken score": {func() error {
			_, err := llm.NewLocal(scripted{err: errBroken}, llm.Config{}).Score(t.Context(), score)
			return err
		}, harness.FailServer, errBroken},
		"few scores": {func() error {
			_, err := llm.NewLocal(scripted{few: true}, llm.Config{}).Score(t.Context(), score)
			return err
		}, harness.FailServer, llm.ErrBadReply},
		"no prefix": {func() error {
			_, err := llm.NewLocal(scripted{}, llm.Config{}).Score(t.Context(), llm.ScoreRequest{Continuation: []int32{1}})
			return err
		}, harness.FailAgent, nil},
	} {
		err := tc.call()
		if err == nil || harness.KindOf(err) != tc.kind || (tc.is != nil && !errors.Is(err, tc.is)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	if _, err := llm.NewLocal(scripted{says: "a"}, llm.Config{}).Generate(ctx, ask); !errors.Is(err, errBroken) {
		t.Errorf("cancelled: %v", err)
	}
}

var errBroken = errors.New("broken")

func TestLocalTokenizer(t *testing.T) {
	t.Parallel()
	l := llm.NewLocal(scripted{}, llm.Config{})
	ids, err := l.Tokenize(t.Context(), "é", true)
	if err != nil || !cmp.Equal(ids, []int32{0xC3, 0xA9}) {
		t.Errorf("tokenize: %v, %v", ids, err)
	}
	if text, err := l.Detokenize(t.Context(), append(ids, 0xFF)); err != nil || text != "é\uFFFD" {
		t.Errorf("detokenize: %q, %v", text, err)
	}
	if id, err := l.Identity(t.Context()); err != nil || id != (llm.Identity{Engine: "test", Version: "7", Model: "m", Root: "m", ContextLength: 99, VocabSize: 256}) {
		t.Errorf("identity: %+v, %v", id, err)
	}
	if string(l.TokenBytes('a')) != "a" {
		t.Error("token bytes")
	}
}

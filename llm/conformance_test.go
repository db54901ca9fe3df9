package llm_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

// scorer is what a token-exact client is.
type scorer interface {
	llm.Client
	llm.Scorer
}

// backend is one way of reaching the fake server.
type backend struct {
	name string
	opt  llmtest.Options
	cfg  llm.Config
	text bool // gives no tokens
}

// render lends SGLang the renderer that it has not.
func render(_ context.Context, m []harness.Message) ([]int32, error) { return llmtest.Render(m), nil }

// backends are the variants that every conformance test runs on.
func backends() []backend {
	return []backend{
		{name: "vllm/chat", opt: llmtest.Options{Dialect: llmtest.VLLM}},
		{name: "vllm/chat, actual token last", opt: llmtest.Options{Dialect: llmtest.VLLM, ReverseEntries: true}},
		{name: "vllm/completions", opt: llmtest.Options{Dialect: llmtest.VLLM}, cfg: llm.Config{Route: llm.RouteCompletions}},
		{name: "vllm/tokens", opt: llmtest.Options{Dialect: llmtest.VLLM}, cfg: llm.Config{Route: llm.RouteTokens}},
		{name: "vllm/tokens, string ids, no render", opt: llmtest.Options{Dialect: llmtest.VLLM, StringIDs: true, NoRender: true}, cfg: llm.Config{Route: llm.RouteTokens}},
		{name: "sglang", opt: llmtest.Options{Dialect: llmtest.SGLang}, cfg: llm.Config{Render: render}},
		{name: "sglang, old paths", opt: llmtest.Options{Dialect: llmtest.SGLang, OldPaths: true, NoLeadingNull: true}, cfg: llm.Config{Render: render}},
		{name: "llamacpp", opt: llmtest.Options{Dialect: llmtest.LlamaCpp}},
		{name: "openai", opt: llmtest.Options{Dialect: llmtest.OpenAI}, text: true},
	}
}

// open starts the fake server and connects.
func (b backend) open(t testing.TB) (llm.Client, *llmtest.Server) {
	t.Helper()
	srv := llmtest.New(t, b.opt)
	return b.connect(t, srv), srv
}

func (b backend) connect(t testing.TB, srv *llmtest.Server) llm.Client {
	t.Helper()
	cfg := b.cfg
	if cfg.BackoffFirst == 0 {
		cfg.BackoffFirst = 1 // ns: the waits themselves are tested with a fake clock
	}
	c, err := llm.Open(t.Context(), b.opt.Dialect+":"+srv.URL, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func chat(text string) []harness.Message {
	return []harness.Message{{Role: "system", Content: "You act."}, {Role: "user", Content: text}}
}

func seeded(seed int64, limit int) llm.Sampling {
	s := llm.DefaultSampling()
	s.Seed, s.MaxTokens = &seed, limit
	return s
}

func TestGenerationReScoredAgreesExactly(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		if b.text {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.opt.Model.EndBias = 4 // some responses end by themselves
			c, _ := b.open(t)
			for seed := range int64(6) {
				gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("go to drawer é"), Sampling: seeded(seed, 24), TopLogprobs: 5})
				if err != nil {
					t.Fatal(err)
				}
				tok := gen.Tokens
				if tok == nil || tok.Validate() != nil || len(tok.IDs) == 0 {
					t.Fatalf("seed %d: tokens %+v: %v", seed, tok, tok.Validate())
				}
				if want := llmtest.Render(chat("go to drawer é")); !slices.Equal(tok.PromptIDs, want) {
					t.Fatalf("prompt ids %v, want %v", tok.PromptIDs, want)
				}
				score, err := c.(scorer).Score(t.Context(), llm.ScoreRequest{Prefix: tok.PromptIDs, Continuation: tok.IDs, TopLogprobs: 5})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tok.Logprobs, score.Logprobs); diff != "" {
					t.Errorf("seed %d: sampled (-) and re-scored (+) log-probabilities differ: %s", seed, diff)
				}
				if diff := cmp.Diff(gen.Top, score.Top); diff != "" {
					t.Errorf("seed %d: alternatives sampled (-) and re-scored (+) differ: %s", seed, diff)
				}
			}
		})
	}
}

func TestGenerateGivesWhatTheModelSaid(t *testing.T) {
	t.Parallel()
	model := llmtest.Model{EndBias: 3.5, Weights: 7}
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.opt.Model = model
			c, _ := b.open(t)
			finishes := map[string]bool{}
			for seed := range int64(12) {
				gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("look"), Sampling: seeded(seed, 6)})
				if err != nil {
					t.Fatal(err)
				}
				finishes[gen.Finish] = true
				if b.text {
					if gen.Tokens != nil || gen.Top != nil {
						t.Fatalf("a text-only client gave tokens: %+v", gen)
					}
					continue
				}
				ids := gen.Tokens.IDs
				if want := llmtest.Decode(ids, false); gen.Text != want {
					t.Errorf("seed %d: text %q, tokens spell %q", seed, gen.Text, want)
				}
				if ended := ids[len(ids)-1] == llmtest.EOS; ended != (gen.Finish == "stop") {
					t.Errorf("seed %d: finish %q, ids %v", seed, gen.Finish, ids)
				}
				if gen.Usage != (llm.Usage{PromptTokens: len(gen.Tokens.PromptIDs), CompletionTokens: len(ids)}) && gen.Usage.PromptTokens != -1 {
					t.Errorf("usage %+v for %d + %d tokens", gen.Usage, len(gen.Tokens.PromptIDs), len(ids))
				}
				if m := gen.Tokens.Meta; m.Model != "tiny" || m.Temperature != 1 || m.TopP != 1 || m.TopK != 0 || m.Finish != gen.Finish || m.Version != "1.0-test" {
					t.Errorf("meta %+v", m)
				}
			}
			if !finishes["stop"] || !finishes["length"] {
				t.Errorf("12 responses ended by %v; the test wants both ends", finishes)
			}
		})
	}
}

func TestStopStringsAreCutFromTheText(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c, _ := b.open(t)
			free, err := c.Generate(t.Context(), llm.Request{Messages: chat("look"), Sampling: seeded(3, 20)})
			if err != nil {
				t.Fatal(err)
			}
			// A single byte, so that every dialect spells the stop string with one token.
			at := strings.IndexFunc(free.Text[4:], func(r rune) bool { return r > ' ' && r < 127 })
			stop := free.Text[4+at : 5+at]
			s := seeded(3, 20)
			s.Stop = []string{"\x00never", stop}
			gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("look"), Sampling: s})
			if err != nil {
				t.Fatal(err)
			}
			if want, _, _ := strings.Cut(free.Text, stop); gen.Text != want || gen.Finish != "stop" {
				t.Errorf("text %q (%s), want %q (stop)", gen.Text, gen.Finish, want)
			}
			if gen.Tokens != nil && len(gen.Tokens.Logprobs) != len(gen.Tokens.IDs) {
				t.Errorf("%d log-probabilities for %d ids", len(gen.Tokens.Logprobs), len(gen.Tokens.IDs))
			}
		})
	}
}

func TestScoreAtTheBoundary(t *testing.T) {
	t.Parallel()
	ids := llmtest.Render(chat("take mug 1"))
	for _, b := range backends() {
		if b.text {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c, _ := b.open(t)
			for _, n := range []int{1, 2, len(ids) / 2, len(ids) - 1} {
				score, err := c.(scorer).Score(t.Context(), llm.ScoreRequest{Prefix: ids[:n], Continuation: ids[n:]})
				if err != nil {
					t.Fatal(err)
				}
				want := make([]float32, 0, len(ids)-n)
				for i := n; i < len(ids); i++ {
					want = append(want, b.opt.Model.Logprobs(ids[:i])[ids[i]])
				}
				if diff := cmp.Diff(want, score.Logprobs); diff != "" {
					t.Errorf("prefix of %d: %s", n, diff)
				}
				if score.Top != nil {
					t.Errorf("alternatives that nobody asked for: %v", score.Top)
				}
			}
		})
	}
}

func TestImpossibleRequestsAreRefused(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c, srv := b.open(t)
			before := len(srv.Requests(""))
			for _, req := range []llm.Request{{}, {Messages: chat("x"), TokenIDs: []int32{1}}, {Messages: chat("x"), TopLogprobs: -1}} {
				if _, err := c.Generate(t.Context(), req); harness.KindOf(err) != harness.FailAgent {
					t.Errorf("%+v: %v, want an agent failure", req, err)
				}
			}
			if sc, ok := c.(llm.Scorer); ok {
				for _, req := range []llm.ScoreRequest{{}, {Prefix: []int32{1}}, {Continuation: []int32{1}}} {
					if _, err := sc.Score(t.Context(), req); harness.KindOf(err) != harness.FailAgent {
						t.Errorf("%+v: %v, want an agent failure", req, err)
					}
				}
			}
			if n := len(srv.Requests("")); n != before {
				t.Errorf("%d requests were sent for them", n-before)
			}
		})
	}
}

func TestVersionsReachEveryToken(t *testing.T) {
	t.Parallel()
	want := map[string]bool{"vllm/tokens": true, "vllm/tokens, string ids, no render": true, "sglang": true, "sglang, old paths": true}
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.opt.Model.Weights = 12
			b.opt.WeightLabel = "step-12"
			b.cfg.TrackVersions = b.name == "vllm/chat"
			c, _ := b.open(t)
			gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("look"), Sampling: seeded(1, 5)})
			if err != nil {
				t.Fatal(err)
			}
			if v, ok := c.(llm.Versioner); ok {
				if label, err := v.WeightVersion(t.Context()); err != nil || label != "step-12" {
					t.Errorf("label %q, %v", label, err)
				}
			}
			if !want[b.name] && !b.cfg.TrackVersions {
				if gen.Tokens != nil && gen.Tokens.Versions != nil {
					t.Errorf("versions %v out of nowhere", gen.Tokens.Versions)
				}
				return
			}
			if diff := cmp.Diff([]int32{12, 12, 12, 12, 12}, gen.Tokens.Versions); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEntropyBoundsHoldTheTruth(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		if b.text {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.cfg.VocabSize = llmtest.VocabSize()
			c, _ := b.open(t)
			gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("look"), Sampling: seeded(1, 20), TopLogprobs: 8})
			if err != nil {
				t.Fatal(err)
			}
			tok := gen.Tokens
			if tok.TopK != 8 || len(tok.Entropies) != len(tok.IDs) {
				t.Fatalf("k %d, %d entropies for %d tokens", tok.TopK, len(tok.Entropies), len(tok.IDs))
			}
			all := slices.Clone(tok.PromptIDs)
			for i, id := range tok.IDs {
				var h float64
				for _, lp := range b.opt.Model.Logprobs(all) {
					h -= math.Exp(float64(lp)) * float64(lp)
				}
				const slack = 1e-5 // float32 columns
				if h < float64(tok.EntropyLow[i])-slack || h > float64(tok.EntropyHigh[i])+slack {
					t.Errorf("token %d: entropy %g outside [%g, %g]", i, h, tok.EntropyLow[i], tok.EntropyHigh[i])
				}
				all = append(all, id)
			}
		})
	}
}

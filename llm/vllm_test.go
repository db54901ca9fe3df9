package llm_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

func TestScoringSaltsAreFresh(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		if b.opt.Dialect != llmtest.VLLM {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c, srv := b.open(t)
			for range 3 {
				if _, err := scoreOp(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			seen := map[any]bool{}
			for _, r := range srv.Requests(operations(b)["score"].path) {
				salt, _ := r.Body["cache_salt"].(string)
				if len(salt) != 32 || seen[salt] {
					t.Errorf("salt %q, seen before: %v", salt, seen[salt])
				}
				seen[salt] = true
			}
			if _, err := generateOp(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if r := srv.Requests(operations(b)["generate"].path); r[len(r)-1].Body["cache_salt"] != nil {
				t.Error("generation is salted too, which only costs the prefix cache")
			}
		})
	}
}

// TestSamplersAreSentWhole: a field that is left out is filled by the server from the model's own
// defaults, which are seldom neutral.
func TestSamplersAreSentWhole(t *testing.T) {
	t.Parallel()
	find := func(body map[string]any, name string) (any, bool) {
		if inner, ok := body["sampling_params"].(map[string]any); ok {
			body = inner
		}
		v, ok := body[name]
		return v, ok
	}
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c, srv := b.open(t)
			if _, err := generateTextOp(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			r := srv.Requests(operations(b)["generate"].path)
			body := r[len(r)-1].Body
			want := map[string]any{"temperature": 1.0, "top_p": 1.0, "top_k": -1.0, "min_p": 0.0, "repetition_penalty": 1.0}
			switch b.opt.Dialect {
			case llmtest.LlamaCpp:
				want = map[string]any{"temperature": 1.0, "top_p": 1.0, "top_k": 0.0, "min_p": 0.0, "repeat_penalty": 1.0, "typical_p": 1.0}
			case llmtest.OpenAI: // strict servers refuse fields that are not OpenAI's
				want = map[string]any{"temperature": 1.0, "top_p": 1.0, "top_k": nil, "min_p": nil, "repetition_penalty": nil}
			}
			for name, value := range want {
				if got, ok := find(body, name); ok != (value != nil) || ok && got != value {
					t.Errorf("%s is %v (sent: %v), want %v", name, got, ok, value)
				}
			}
		})
	}
}

func TestNonNeutralSamplersAreRecordedAndWarnedAbout(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			b.cfg.Log = newLog(&log)
			c, _ := b.open(t)
			s := seeded(1, 4)
			s.Temperature, s.TopP, s.TopK, s.MinP = 0.7, 0.9, 30, 0.02
			for range 2 {
				gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("look"), Sampling: s})
				if err != nil {
					t.Fatal(err)
				}
				if gen.Tokens == nil {
					continue
				}
				if m := gen.Tokens.Meta; m.Temperature != 0.7 || m.TopP != 0.9 || m.TopK != 30 || m.MinP != 0.02 {
					t.Errorf("meta %+v", m)
				}
			}
			if n := strings.Count(log.String(), "sampler is not neutral"); n != 1 {
				t.Errorf("warned %d times:\n%s", n, log.String())
			}
		})
	}
}

func TestProcessedLogprobsAreThoseOfTheSampler(t *testing.T) {
	t.Parallel()
	b := backend{opt: llmtest.Options{Dialect: llmtest.VLLM, Processed: true}, cfg: llm.Config{LogprobMode: llm.ModeProcessed, VocabSize: llmtest.VocabSize()}}
	c, _ := b.open(t)
	s := seeded(1, 12)
	s.TopP = 0.5
	gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("look"), Sampling: s, TopLogprobs: 20})
	if err != nil {
		t.Fatal(err)
	}
	if gen.Tokens.Meta.Mode != llm.ModeProcessed {
		t.Errorf("mode %q", gen.Tokens.Meta.Mode)
	}
	cut := false
	for i, top := range gen.Top {
		mass := 0.0
		for _, alt := range top {
			if alt.Logprob <= -9999 {
				t.Fatalf("token %d: an impossible alternative is kept: %+v", i, alt)
			}
			mass += math.Exp(float64(alt.Logprob))
		}
		if len(top) < 20 { // the rest was cut off and came as −9999
			cut = true
			if math.Abs(mass-1) > 1e-5 { // float32 values
				t.Errorf("token %d: %d possible tokens have mass %g", i, len(top), mass)
			}
			if lo, hi := gen.Tokens.EntropyLow[i], gen.Tokens.EntropyHigh[i]; hi-lo > 1e-3 {
				t.Errorf("token %d: all possible tokens are known, the entropy is between %g and %g", i, lo, hi)
			}
		}
	}
	if !cut {
		t.Error("no token had fewer than 20 possible alternatives: the test tests nothing")
	}
}

func TestLogitsAreNotTakenForLogprobs(t *testing.T) {
	t.Parallel()
	b := backends()[0]
	b.cfg.MaxTries = 1
	c, srv := b.open(t)
	srv.Inject("/v1/chat/completions", llmtest.Set("logprob", 3.5))
	if _, err := generateOp(t.Context(), c); err == nil || !strings.Contains(err.Error(), "logits") {
		t.Errorf("%v", err)
	}
}

func TestReasoningParserDoesNotHideText(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for _, dialect := range []string{llmtest.VLLM, llmtest.OpenAI} {
		b := backend{opt: llmtest.Options{Dialect: dialect, Reasoning: "hm"}, cfg: llm.Config{Log: newLog(&log)}}
		c, srv := b.open(t)
		srv.Inject("/v1/chat/completions", llmtest.Set("content", "what the parser left"))
		if dialect == llmtest.VLLM {
			// The member "content" of the log-probabilities is a list; only the message's text changes.
			srv = llmtest.New(t, b.opt)
			c = b.connect(t, srv)
			srv.Inject("/v1/chat/completions", llmtest.Edit(func(reply map[string]any) {
				reply["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)["content"] = "what the parser left"
			}))
		}
		gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("look"), Sampling: seeded(2, 8)})
		if err != nil {
			t.Fatal(err)
		}
		if dialect == llmtest.VLLM && gen.Text != llmtest.Decode(gen.Tokens.IDs, false) {
			t.Errorf("text %q, tokens spell %q", gen.Text, llmtest.Decode(gen.Tokens.IDs, false))
		}
		if dialect == llmtest.OpenAI && (gen.Text != "what the parser left" || !strings.Contains(log.String(), "reasoning parser")) {
			t.Errorf("text %q, log %s", gen.Text, log.String())
		}
	}
}

func TestAnotherScoredPromptIsRefused(t *testing.T) {
	t.Parallel()
	b := backends()[0]
	b.cfg.MaxTries = 1
	c, srv := b.open(t)
	srv.Inject("/v1/completions", llmtest.Set("prompt_token_ids", []int32{1, 2, 3}))
	if _, err := scoreOp(t.Context(), c); err == nil || !strings.Contains(err.Error(), "another prompt") {
		t.Errorf("%v", err)
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c, srv := b.open(t)
			p, ok := c.(llm.Pauser)
			if !ok {
				return
			}
			if can, err := p.CanPause(t.Context()); err != nil || !can {
				t.Fatalf("can pause: %v, %v", can, err)
			}
			if err := p.Pause(t.Context(), llm.PauseKeep); err != nil {
				t.Fatal(err)
			}
			if err := p.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := srv.Requests("/pause_generation"); b.opt.Dialect == llmtest.SGLang && r[len(r)-1].Body["mode"] != "in_place" {
				t.Errorf("SGLang was paused with %v", r[len(r)-1].Body)
			}
			srv.Update(func(o *llmtest.Options) { o.NoDev = true })
			if can, err := p.CanPause(t.Context()); err != nil || can {
				t.Errorf("without the endpoints: %v, %v", can, err)
			}
		})
	}
}

func TestTokenizersRoundTrip(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c, _ := b.open(t)
			tok, ok := c.(llm.Tokenizer)
			if !ok {
				return
			}
			const text = "go to the drawer é 日本"
			ids, err := tok.Tokenize(t.Context(), text, false)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := tok.Detokenize(t.Context(), ids); err != nil || back != text {
				t.Errorf("%v became %q, %v", ids, back, err)
			}
			special, err := tok.Tokenize(t.Context(), text, true)
			if err != nil || len(special) != len(ids)+1 || special[0] != llmtest.BOS {
				t.Errorf("with BOS: %v, %v", special, err)
			}
			if empty, err := tok.Detokenize(t.Context(), nil); empty != "" || err != nil {
				t.Errorf("nothing became %q, %v", empty, err)
			}
		})
	}
}

package llm_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
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

func TestSGLangBoundary(t *testing.T) {
	t.Parallel()
	b := backends()[slices.IndexFunc(backends(), func(b backend) bool { return b.name == "sglang" })]
	b.cfg.MaxTries = 1
	c, srv := b.open(t)
	prefix, cont := llmtest.Render(chat("x")), []int32{10, 11, 12}
	score := func() error {
		_, err := c.(scorer).Score(t.Context(), llm.ScoreRequest{Prefix: prefix, Continuation: cont})
		return err
	}
	if err := score(); err != nil {
		t.Fatal(err)
	}
	r := srv.Requests("/generate")
	if got := r[0].Body["logprob_start_len"]; got != float64(len(prefix)-1) {
		t.Errorf("logprob_start_len %v for a prefix of %d", got, len(prefix))
	}
	if got := r[0].Body["sampling_params"].(map[string]any)["max_new_tokens"]; got != 0.0 {
		t.Errorf("scoring samples %v tokens", got)
	}
	// One position too many or too few, and a list that is shifted by one.
	for name, from := range map[string]int{"late": len(prefix), "early": len(prefix) - 2} {
		srv.Inject("/generate", shifted(t, prefix, cont, from))
		if err := score(); err == nil {
			t.Errorf("a reply that starts too %s passed", name)
		}
	}
	srv.Inject("/generate", llmtest.Replace(`,11,`, `,13,`, 1))
	if err := score(); err == nil || !strings.Contains(err.Error(), "came back as token 13") {
		t.Errorf("another token's value passed: %v", err)
	}
}

// shifted is the reply to another logprob_start_len.
func shifted(t *testing.T, prefix, cont []int32, start int) llmtest.Fault {
	t.Helper()
	ids := append(slices.Clone(prefix), cont...)
	rows := []any{[]any{nil, ids[start], nil}}
	for _, id := range ids[start+1:] {
		rows = append(rows, []any{-1.0, id, nil})
	}
	body, err := json.Marshal(map[string]any{"text": "", "meta_info": map[string]any{"input_token_logprobs": rows}})
	if err != nil {
		t.Fatal(err)
	}
	return llmtest.Body(string(body))
}

func TestSGLangWithoutRendererGivesTextAndSaysSo(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := backend{opt: llmtest.Options{Dialect: llmtest.SGLang}, cfg: llm.Config{Log: newLog(&log)}}
	c, _ := b.open(t)
	gen, err := c.Generate(t.Context(), llm.Request{Messages: chat("look"), Sampling: seeded(2, 8)})
	if err != nil || gen.Text == "" || gen.Tokens != nil || !strings.Contains(log.String(), "no renderer") {
		t.Errorf("%+v, %v, log %s", gen, err, log.String())
	}
}

func TestLlamaCppScoringIsPricedAndBounded(t *testing.T) {
	t.Parallel()
	b := backend{opt: llmtest.Options{Dialect: llmtest.LlamaCpp}, cfg: llm.Config{MaxScoreCalls: 10}}
	c, srv := b.open(t)
	prefix := llmtest.Render(chat("x"))
	// The most and the least likely tokens: the latter is not among the first alternatives.
	dist := b.opt.Model.Logprobs(prefix)
	likely, rare := int32(0), int32(0)
	for i := range dist {
		if dist[i] > dist[likely] {
			likely = int32(i)
		}
		if dist[i] < dist[rare] {
			rare = int32(i)
		}
	}
	for name, tt := range map[string]struct {
		cont  []int32
		calls int // 0 = refused
		sent  int
	}{
		"one request for a likely token": {[]int32{likely}, 1, 1},
		"two for a rare one":             {[]int32{rare}, 2, 2},
		"too long from the start":        {make([]int32, 11), 0, 0},
		"too dear on the way":            {append([]int32{rare}, make([]int32, 9)...), 0, 1},
	} {
		before := len(srv.Requests("/completion"))
		sc, err := c.(scorer).Score(t.Context(), llm.ScoreRequest{Prefix: prefix, Continuation: tt.cont})
		sent := len(srv.Requests("/completion")) - before
		if sent != tt.sent || sc.Calls != tt.calls {
			t.Errorf("%s: %d calls, %d sent, %v", name, sc.Calls, sent, err)
		}
		if tt.calls == 0 {
			wantBudget(t, name, err)
		} else if err != nil || !cmp.Equal(sc.Logprobs, []float32{dist[tt.cont[0]]}) {
			t.Errorf("%s: %v, %v", name, sc.Logprobs, err)
		}
	}
	for _, r := range srv.Requests("/completion") {
		if r.Body["cache_prompt"] != false {
			t.Error("scoring used the prompt cache, which is documented as possibly non-deterministic")
		}
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

func TestNewOpenAIModelsGetTheirOwnLimitField(t *testing.T) {
	t.Parallel()
	c, srv := backend{opt: llmtest.Options{Dialect: llmtest.OpenAI}}.open(t)
	srv.Inject("/v1/chat/completions", llmtest.Refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."))
	for range 2 {
		if _, err := generateTextOp(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var limits []any
	for _, r := range srv.Requests("/v1/chat/completions") {
		limits = append(limits, r.Body["max_tokens"], r.Body["max_completion_tokens"])
	}
	if diff := cmp.Diff([]any{8.0, nil, nil, 8.0, nil, 8.0}, limits); diff != "" {
		t.Error(diff)
	}
}

func wantBudget(t *testing.T, name string, err error) {
	t.Helper()
	if !errors.Is(err, llm.ErrScoreBudget) || harness.KindOf(err) != harness.FailBudget || errext.Hint(err) == "" {
		t.Errorf("%s: %v, want a budget failure with a hint", name, err)
	}
}

func TestOldSGLangTakesNoSeed(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := backend{opt: llmtest.Options{Dialect: llmtest.SGLang}, cfg: llm.Config{Render: render, Log: newLog(&log)}}
	c, srv := b.open(t)
	srv.Inject("/generate", llmtest.Refuse("SamplingParams.__init__() got an unexpected keyword argument 'sampling_seed'"))
	for range 2 {
		if _, err := generateOp(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var seeds []any
	for _, r := range srv.Requests("/generate") {
		seeds = append(seeds, r.Body["sampling_params"].(map[string]any)["sampling_seed"])
	}
	if diff := cmp.Diff([]any{2.0, nil, nil}, seeds); diff != "" || strings.Count(log.String(), "takes no seeds") != 1 {
		t.Errorf("seeds %s, log %s", diff, log.String())
	}
}

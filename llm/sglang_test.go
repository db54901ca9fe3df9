package llm_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

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

package llm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

func TestSplitSpec(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][2]string{
		"vllm:http://h:8000":      {"vllm", "http://h:8000"},
		"auto:https://h/v1":       {"auto", "https://h/v1"},
		" http://h:8000 ":         {"auto", "http://h:8000"},
		"llamacpp:http://[::1]:8": {"llamacpp", "http://[::1]:8"},
	} {
		backend, address, err := llm.SplitSpec(spec)
		if err != nil || backend != want[0] || address != want[1] {
			t.Errorf("%q: %q, %q, %v", spec, backend, address, err)
		}
	}
	for _, spec := range []string{"", "h:8000", "tgi:http://h", "vllm"} {
		if _, _, err := llm.SplitSpec(spec); err == nil || errext.Hint(err) == "" {
			t.Errorf("%q: %v", spec, err)
		}
	}
	if got := llm.Backends(); !slices.Equal(got, []string{"auto", "llamacpp", "openai", "sglang", "vllm"}) {
		t.Errorf("back ends %q", got)
	}
}

func TestDetectByAnswers(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.opt.Version = "sglang vllm llama.cpp" // what a server calls itself does not matter
			srv := llmtest.New(t, b.opt)
			for _, suffix := range []string{"", "/", "/v1", "/v1/"} {
				c, err := llm.Open(t.Context(), srv.URL+suffix, b.cfg)
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]string{llmtest.VLLM: "*llm.VLLM", llmtest.SGLang: "*llm.SGLang", llmtest.LlamaCpp: "*llm.LlamaCpp", llmtest.OpenAI: "*llm.OpenAI"}[b.opt.Dialect]
				if got := fmt.Sprintf("%T", c); got != want {
					t.Errorf("%s is taken for %s", b.name, got)
				}
			}
		})
	}
}

func TestDetectTakesAnOldVLLMForText(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t, llmtest.Options{Dialect: llmtest.VLLM, NoTokenIDs: true})
	if got, err := llm.Detect(t.Context(), srv.URL, llm.Config{}); err != nil || got != "openai" {
		t.Errorf("%q, %v: without token ids only text is left", got, err)
	}
	c, err := llm.Open(t.Context(), "vllm:"+srv.URL, llm.Config{MaxTries: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := generateOp(t.Context(), c); !errors.Is(err, llm.ErrBadReply) || !strings.Contains(errext.Hint(err), "openai:") {
		t.Errorf("%v (hint %q)", err, errext.Hint(err))
	}
}

func TestOpenSaysWhyNot(t *testing.T) {
	t.Parallel()
	dead := "http://" + testutil.Address(t)
	web := llmtest.New(t, llmtest.Options{Dialect: "a web site"})
	web.Inject("*", slices.Repeat([]llmtest.Fault{llmtest.Status(404)}, 20)...)
	locked := llmtest.New(t, llmtest.Options{Dialect: llmtest.OpenAI, APIKey: "k"})
	vllm := llmtest.New(t, llmtest.Options{Dialect: llmtest.VLLM})
	sgl := llmtest.New(t, llmtest.Options{Dialect: llmtest.SGLang})
	for name, tt := range map[string]struct {
		spec string
		cfg  llm.Config
		says string
	}{
		"dead":                {dead, llm.Config{}, "refused"},
		"no model server":     {web.URL, llm.Config{}, "like none of the known servers"},
		"locked":              {locked.URL, llm.Config{}, "401"},
		"wrong model":         {"vllm:" + vllm.URL, llm.Config{Model: "huge"}, `lists ["tiny"]`},
		"wrong model, sglang": {"sglang:" + sgl.URL, llm.Config{Model: "huge"}, `runs "tiny"`},
		"wrong back end":      {"llamacpp:" + vllm.URL, llm.Config{}, "404"},
	} {
		tt.cfg.MaxTries, tt.cfg.BackoffFirst = 2, 1
		_, err := llm.Open(t.Context(), tt.spec, tt.cfg)
		if err == nil || !strings.Contains(err.Error(), tt.says) || harness.KindOf(err) != harness.FailServer {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]int32{"12": 12, "step-12": 12, "v_3": 3, "0": 0, "default": -1, "": -1, "v3": -1, "12a": -1, "-": -1, "99999999999": -1, "1.5": -1} {
		got, ok := llm.ParseVersion(label)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v", label, got, ok)
		}
	}
}

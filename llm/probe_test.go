package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
)

func probe(t *testing.T, b backend) *llm.Report {
	t.Helper()
	c, _ := b.open(t)
	rep, err := llm.Probe(t.Context(), c, llm.ProbeConfig{MaxTokens: 12})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// can lists the uses that a report allows.
func can(rep *llm.Report) map[string]bool {
	m := map[string]bool{}
	for _, v := range rep.Verdicts {
		m[v.Use] = v.OK
	}
	return m
}

func TestProbeMeasuresEachServer(t *testing.T) {
	t.Parallel()
	// text, exact rollouts, spans, token space, entropy, scoring, rendering, versions, pause, seeds
	want := map[string]string{
		"vllm/chat":                          "yyyyyyyyyy",
		"vllm/chat, actual token last":       "yyyyyyyyyy",
		"vllm/completions":                   "yyyyyyyyyy",
		"vllm/tokens":                        "yyyyyyyyyy",
		"vllm/tokens, string ids, no render": "yyyyyyyyyy",
		"sglang":                             "yyyyyyyyyy",
		"sglang, old paths":                  "yyyyyyyyyy",
		"llamacpp":                           "yyyyyyynny",
		"openai":                             "ynnnnnnnny",
	}
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			rep := probe(t, b)
			var got strings.Builder
			for _, v := range rep.Verdicts {
				got.WriteString(map[bool]string{true: "y", false: "n"}[v.OK])
			}
			if got.String() != want[b.name] {
				t.Errorf("verdicts %s, want %s\n%s", got.String(), want[b.name], rep)
			}
			if !rep.OK() {
				t.Errorf("a healthy server failed:\n%s", rep)
			}
			if b.text {
				return
			}
			if rep.Consistency.Tokens != 12 || rep.Consistency.Max != 0 || rep.Repeat.Tokens != 12 || rep.Repeat.Max != 0 {
				t.Errorf("consistency %+v, repeat %+v", rep.Consistency, rep.Repeat)
			}
			if rep.LogprobMode != llm.ModeRaw || rep.TopLogprobs != 20 || rep.ScoringTop != 20 {
				t.Errorf("mode %q, %d and %d alternatives", rep.LogprobMode, rep.TopLogprobs, rep.ScoringTop)
			}
			if rep.ForcedScoring != (b.opt.Dialect == llmtest.LlamaCpp) {
				t.Errorf("forced scoring %v, %d calls", rep.ForcedScoring, rep.CallsPerScore)
			}
		})
	}
}

func TestProbeFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	const scoring = "hindsight-teacher scoring"
	tests := []struct {
		name string
		opt  llmtest.Options
		cfg  llm.Config
		says string
		lost string
	}{
		{"stale cache in spite of salts", llmtest.Options{Dialect: llmtest.VLLM, StaleShift: 0.3, StaleIgnoresSalt: true}, llm.Config{}, "stale prefix cache", scoring},
		{"stale cache without salts", llmtest.Options{Dialect: llmtest.SGLang, StaleShift: 0.3}, llm.Config{Render: render}, "stale prefix cache", scoring},
		{"processed log-probabilities", llmtest.Options{Dialect: llmtest.VLLM, Processed: true}, llm.Config{}, "(processed)", ""},
		{"no versions, no pause", llmtest.Options{Dialect: llmtest.VLLM, NoDev: true}, llm.Config{}, "VLLM_SERVER_DEV_MODE", "pause for weight updates"},
		{"label without a number", llmtest.Options{Dialect: llmtest.VLLM, WeightLabel: "default"}, llm.Config{}, `"default", which is no number`, ""},
		{"no ids", llmtest.Options{Dialect: llmtest.VLLM, NoTokenIDs: true}, llm.Config{}, "generation fails", "collect rollouts as text"},
		{"no renderer", llmtest.Options{Dialect: llmtest.SGLang}, llm.Config{}, "no endpoint that renders", "token-exact rollouts for a trainer"},
		{"scoring beyond the bound", llmtest.Options{Dialect: llmtest.LlamaCpp}, llm.Config{MaxScoreCalls: 5}, "too many requests", scoring},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rep := probe(t, backend{opt: tt.opt, cfg: tt.cfg})
			if text := rep.String(); !strings.Contains(text, tt.says) {
				t.Errorf("the report does not say %q:\n%s", tt.says, text)
			}
			if tt.lost != "" && can(rep)[tt.lost] {
				t.Errorf("%q is still said to work:\n%s", tt.lost, rep)
			}
		})
	}
}

func TestFreshSaltsAvoidStaleCaches(t *testing.T) {
	t.Parallel()
	for _, route := range []llm.Route{llm.RouteChat, llm.RouteTokens} {
		rep := probe(t, backend{opt: llmtest.Options{Dialect: llmtest.VLLM, StaleShift: 0.3}, cfg: llm.Config{Route: route}})
		if rep.Stale() || !rep.OK() {
			t.Errorf("%s:\n%s", route, rep)
		}
	}
}

func TestProbeMeasuresInconsistency(t *testing.T) {
	t.Parallel()
	b := backend{opt: llmtest.Options{Dialect: llmtest.VLLM}}
	c, srv := b.open(t)
	// Other weights score than generate.
	rep, err := llm.Probe(t.Context(), scoresWith{c.(*llm.VLLM), func() { srv.Update(func(o *llmtest.Options) { o.Model.Weights = 3 }) }}, llm.ProbeConfig{MaxTokens: 12})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Consistent() || rep.OK() || rep.Consistency.Median < 0.1 || can(rep)["hindsight-teacher scoring"] || !strings.Contains(rep.String(), "do not belong to the sampled distribution") {
		t.Errorf("%s", rep)
	}
}

// scoresWith changes the server before it scores.
type scoresWith struct {
	*llm.VLLM
	change func()
}

func (s scoresWith) Score(ctx context.Context, req llm.ScoreRequest) (llm.Score, error) {
	s.change()
	return s.VLLM.Score(ctx, req)
}

// TestCertainTokensTellNoMode: a model that is sure of every token has the same log-probabilities at
// any temperature, as far as anybody can see.
func TestCertainTokensTellNoMode(t *testing.T) {
	t.Parallel()
	for _, processed := range []bool{false, true} {
		rep := probe(t, backend{opt: llmtest.Options{Dialect: llmtest.VLLM, Processed: processed, Model: llmtest.Model{Sharp: 60}}})
		if rep.LogprobMode != "" {
			t.Errorf("processed %v: mode %q\n%s", processed, rep.LogprobMode, rep)
		}
	}
}

func TestReportTellsLatencyWithAClock(t *testing.T) {
	t.Parallel()
	rep := probe(t, backend{opt: llmtest.Options{Dialect: llmtest.VLLM}, cfg: llm.Config{Now: time.Now}})
	if rep.Stats.Calls == 0 || rep.Stats.ScoredTokens != 4*12 || !strings.Contains(rep.String(), "tokens/s") {
		t.Errorf("%+v\n%s", rep.Stats, rep)
	}
}

func TestProbeStopsWithTheCallerAndWithTheServer(t *testing.T) {
	t.Parallel()
	b := backend{opt: llmtest.Options{Dialect: llmtest.VLLM}}
	c, srv := b.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.Probe(ctx, c, llm.ProbeConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for range 50 { // net/http repeats a GET by itself on a connection that it had kept
		srv.Inject("/v1/models", llmtest.Reset())
	}
	if _, err := llm.Probe(t.Context(), c, llm.ProbeConfig{}); err == nil {
		t.Error("a dead server was probed")
	}
}

func TestReportIsStableJSON(t *testing.T) {
	t.Parallel()
	rep := probe(t, backend{opt: llmtest.Options{Dialect: llmtest.LlamaCpp}})
	j, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var back llm.Report
	if err := json.Unmarshal(j, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rep, &back); diff != "" {
		t.Errorf("the report does not survive JSON: %s", diff)
	}
}

// A server that lists a model and generates nothing: the report says that, and claims nothing about the rest.
func TestProbeOfAServerThatDoesNotGenerate(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			_, _ = w.Write([]byte(`{"data": [{"id": "m"}]}`))
			return
		}
		http.Error(w, "out of memory", http.StatusBadRequest)
	}))
	defer srv.Close()
	c, err := llm.NewOpenAI(srv.URL, llm.Config{MaxTries: 1})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := llm.Probe(t.Context(), c, llm.ProbeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if rep.OK() || rep.Text {
		t.Errorf("a server without answers is fine:\n%s", rep)
	}
	text := rep.String()
	for _, want := range []string{"out of memory", "repeat a run by its seeds (not measured, because it does not generate)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "another response") || strings.Contains(text, "latency") {
		t.Errorf("the report claims what was not measured:\n%s", text)
	}
}

package serve

import (
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/gguf"
)

// ggufServer serves a real model in deterministic mode, or skips with the remedy.
func ggufServer(t *testing.T, path string, cfg gguf.Config) *httptest.Server {
	t.Helper()
	dir, err := gguf.FindLib(os.Getenv("HARNESS_LLAMA_LIB"))
	if err != nil {
		t.Skipf("%v: %s (or set HARNESS_LLAMA_LIB)", err, errext.Hint(err))
	}
	cfg.LibDir, cfg.Deterministic = dir, true
	m, err := gguf.Open(t.Context(), path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return serving(t, m, Config{})
}

func stories(t *testing.T) *httptest.Server {
	t.Helper()
	return ggufServer(t, testutil.Shared(t, "data/models/stories260K.gguf"), gguf.Config{Slots: 4})
}

// scoring is what a client of this project does with a server.
type scoring interface {
	llm.Client
	llm.Scorer
	llm.Tokenizer
}

// dial connects this project's own client along a route.
func dial(t *testing.T, ts *httptest.Server, route llm.Route) scoring {
	t.Helper()
	c, err := llm.NewVLLM(ts.URL, llm.Config{Route: route, HTTPClient: ts.Client(), LogprobMode: llm.ModeRaw})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sampledAgreesWithScored samples tokens and scores them again: they agree within 1e-4 nats, and the
// same tokens after another context do not.
func sampledAgreesWithScored(t *testing.T, c scoring, tokens int, seed int64) {
	t.Helper()
	prompt, err := c.Tokenize(t.Context(), "Once upon a time", true)
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.Generate(t.Context(), llm.Request{TokenIDs: prompt, TopLogprobs: 2, Sampling: llm.Sampling{Temperature: 1, TopP: 1, MaxTokens: tokens, Seed: &seed}})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Tokens.IDs) != tokens {
		t.Fatalf("%d tokens sampled, the seed is chosen for %d", len(g.Tokens.IDs), tokens)
	}
	s, err := c.Score(t.Context(), llm.ScoreRequest{Prefix: prompt, Continuation: g.Tokens.IDs})
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i, lp := range g.Tokens.Logprobs {
		worst = max(worst, math.Abs(float64(lp)-float64(s.Logprobs[i])))
	}
	if worst > 1e-4 {
		t.Errorf("sampled and re-scored differ by %v nats", worst)
	}
	other, err := c.Tokenize(t.Context(), "The big red dog was sad because", true)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Score(t.Context(), llm.ScoreRequest{Prefix: other, Continuation: g.Tokens.IDs})
	if err != nil {
		t.Fatal(err)
	}
	if d := math.Abs(float64(o.Logprobs[0]) - float64(s.Logprobs[0])); d < 0.01 {
		t.Errorf("another context changes the first token by %v nats only", d)
	}
	t.Logf("%d tokens: worst difference %v nats; another context changes the first by %v", tokens, worst, o.Logprobs[0]-s.Logprobs[0])
}

func TestSampledTokensScoreTheSame(t *testing.T) {
	t.Parallel()
	ts := stories(t)
	for _, route := range []llm.Route{llm.RouteChat, llm.RouteCompletions, llm.RouteTokens} {
		sampledAgreesWithScored(t, dial(t, ts, route), 200, 7)
	}
}

// The client in this process and those over HTTP give the same response to the same request.
func TestRoutesAgree(t *testing.T) {
	t.Parallel()
	ts := stories(t)
	seed := int64(11)
	req := llm.Request{Messages: []harness.Message{{Role: "user", Content: "Once upon a time"}}, Sampling: llm.Sampling{Temperature: 1, TopP: 1, MaxTokens: 40, Seed: &seed}}
	var first llm.Generation
	for i, route := range []llm.Route{llm.RouteChat, llm.RouteCompletions, llm.RouteTokens} {
		g, err := dial(t, ts, route).Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = g
		}
		if !slices.Equal(g.Tokens.IDs, first.Tokens.IDs) || !slices.Equal(g.Tokens.PromptIDs, first.Tokens.PromptIDs) || !slices.Equal(g.Tokens.Logprobs, first.Tokens.Logprobs) {
			t.Errorf("route %s: another response: %q, %q by route chat", route, g.Text, first.Text)
		}
	}
}

func TestProbeFindsAFullServer(t *testing.T) {
	t.Parallel()
	ts := stories(t)
	c := dial(t, ts, llm.RouteTokens)
	rep, err := llm.Probe(t.Context(), c, llm.ProbeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if !rep.TokenIDs || !rep.Logprobs || !rep.TokenInput || !rep.Render || !rep.Scoring || !rep.Seeds || !rep.TokenVersions || !rep.Pause || rep.ForcedScoring || rep.LogprobMode != llm.ModeRaw || rep.VersionLabel != "0" {
		t.Errorf("capabilities %+v", rep.Capabilities)
	}
	if rep.Consistency.Max > 1e-4 || rep.Repeat.Max > 1e-4 || !rep.OK() {
		t.Errorf("report %s", rep)
	}
	backend, err := llm.Detect(t.Context(), ts.URL, llm.Config{HTTPClient: ts.Client()})
	if err != nil || backend != "vllm" {
		t.Errorf("detected as %q, %v", backend, err)
	}
}

// openAISDK runs the official client's tests against a server.
func openAISDK(t *testing.T, ts *httptest.Server, model string) {
	t.Helper()
	dir := filepath.Join("testdata", "openai-sdk")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("the OpenAI client's tests need Node.js")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "openai")); err != nil {
		t.Skipf("the OpenAI client is not installed: (cd llm/serve/%s && npm install --no-package-lock --ignore-scripts)", dir)
	}
	cmd := exec.CommandContext(t.Context(), node, "--test", "test.mjs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BASE_URL="+ts.URL, "MODEL="+model)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("node --test: %v\n%s", err, out)
	}
}

func TestOpenAISDK(t *testing.T) {
	t.Parallel()
	openAISDK(t, stories(t), "stories260K")
}

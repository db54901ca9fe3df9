package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/llmtest"
	"github.com/hindsightrl/harness/llm/refmodel"
	"github.com/hindsightrl/harness/llm/serve"
	"github.com/hindsightrl/harness/store"
)

// buffer is a writer that a test reads while a command writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// inMemory runs a command line in this process.
func inMemory(st stops, env map[string]string, args ...string) (code int, stdout, stderr *buffer) {
	stdout, stderr = &buffer{}, &buffer{}
	return run(st, memoryGlobals(stdout, stderr, env), args), stdout, stderr
}

func memoryGlobals(stdout, stderr io.Writer, env map[string]string) *globals {
	return &globals{
		stdin: strings.NewReader(""), stdout: stdout, stderr: stderr, now: time.Now,
		env: func(key string) string { return env[key] },
		log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

func never(t *testing.T) stops { return stops{soft: t.Context(), hard: t.Context()} }

// refServer serves the reference model over vLLM's API.
func refServer(t *testing.T, cfg serve.Config) *httptest.Server {
	t.Helper()
	m, err := refmodel.New(refmodel.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := serve.New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	return ts
}

func TestDoctorTellsServersApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		opt  llmtest.Options
		code int
		want []string // regular expressions
	}{
		{"vllm", llmtest.Options{Dialect: llmtest.VLLM}, 0, []string{`engine +vllm`, `alternatives +20 per token`, `hindsight-teacher scoring \(one request`, `cannot:\n  \(nothing\)`}},
		{"vllm that grants few alternatives", llmtest.Options{Dialect: llmtest.VLLM, MaxLogprobs: 5}, 0, []string{`alternatives +5 per token`, `warn: 20 alternatives per token are refused`}},
		{"sglang", llmtest.Options{Dialect: llmtest.SGLang}, 0, []string{`engine +sglang`, `no endpoint that renders|rendering +no`}},
		{"llama.cpp", llmtest.Options{Dialect: llmtest.LlamaCpp}, 0, []string{`engine +llama.cpp`, `slow: [0-9]+ requests`}},
		{"text only", llmtest.Options{Dialect: llmtest.OpenAI}, 0, []string{`engine +openai`, `token ids +no`, `cannot:\n  token-exact rollouts`, `can:\n  collect rollouts as text`}},
		{"stale cache", llmtest.Options{Dialect: llmtest.VLLM, StaleShift: 0.3, StaleIgnoresSalt: true}, exitBelow, []string{`fail: the same scoring call repeated differs`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t, c.opt)
			code, out, stderr := inMemory(never(t), nil, "doctor", "--server", srv.URL)
			for _, re := range c.want {
				if !regexp.MustCompile(re).MatchString(out.String()) {
					t.Errorf("the report does not match %q", re)
				}
			}
			if code != c.code || strings.Contains(stderr.String(), "WARN") {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if t.Failed() {
				t.Logf("%s\n%s", out, stderr)
			}
			code, out, _ = inMemory(never(t), nil, "doctor", "--server", srv.URL, "--json")
			var report llm.Report
			if err := json.Unmarshal([]byte(out.String()), &report); err != nil || code != c.code || len(report.Verdicts) == 0 {
				t.Errorf("--json: exit code %d, %v: %s", code, err, out)
			}
		})
	}
}

func TestDoctorNamesTheRemedy(t *testing.T) {
	t.Parallel()
	ts := refServer(t, serve.Config{APIKey: "sesame"})
	for _, c := range []struct {
		name, server string
		env          map[string]string
		code         int
		want         string
	}{
		{"no key", ts.URL, nil, exitFailed, "hint: export HARNESS_API_KEY=… with the server's key"},
		{"wrong key", "vllm:" + ts.URL, map[string]string{"HARNESS_API_KEY": "guess"}, exitFailed, "hint: export HARNESS_API_KEY=… with the server's key"},
		{"right key", ts.URL, map[string]string{"HARNESS_API_KEY": "sesame"}, exitOK, ""},
		{"nobody there", "http://" + testutil.Address(t), nil, exitFailed, "hint: see whether the server answers"},
		{"another dialect", "sglang:" + refServer(t, serve.Config{}).URL, nil, exitFailed, "status 404"},
		{"no URL", "localhost:8000", nil, exitUsage, "hint: write vllm:URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := inMemory(never(t), c.env, "doctor", "--server", c.server)
			if code != c.code || !strings.Contains(stderr.String(), c.want) || strings.Contains(stderr.String(), "sesame") {
				t.Errorf("exit code %d, want %d, and %q in:\n%s", code, c.code, c.want, stderr)
			}
		})
	}
}

// recordedSteps reads the steps of a run's episodes in order.
func recordedSteps(t *testing.T, db *store.Store, name string) (steps []harness.Step) {
	t.Helper()
	r, err := db.RunByName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range db.Episodes(t.Context(), r.ID, store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		for s, err := range db.Steps(t.Context(), e.Attempt) {
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, s)
		}
	}
	return steps
}

// The same model with the same seed gives the same rows in this process and over every route; over a
// server the entropies are bounded in place of exact.
func TestRolloutGivesTheSameTokensOverEveryRoute(t *testing.T) {
	t.Parallel()
	ts := refServer(t, serve.Config{})
	path := filepath.Join(t.TempDir(), "routes.db")
	rollout := func(name string, more ...string) {
		t.Helper()
		args := append([]string{"rollout", "--db", path, "--name", name, "--tasks", "2", "--group", "1", "--max-steps", "3", "--seed", "5", "--quiet"}, more...)
		if code, _, stderr := inMemory(never(t), nil, args...); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", name, code, stderr)
		}
	}
	rollout("local")
	names := []string{"chat", "completions", "tokens"}
	for _, route := range names {
		rollout(route, "--policy", "vllm:"+ts.URL, "--route", route, "--logprob-mode", "raw")
	}
	rollout("found", "--policy", ts.URL, "--top-logprobs", "5", "--track-versions")
	rollout("text", "--policy", "openai:"+ts.URL)
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	want := recordedSteps(t, db, "local")
	if len(want) != 6 {
		t.Fatalf("%d steps", len(want))
	}
	for _, name := range append(names, "found") {
		got := recordedSteps(t, db, name)
		if len(got) != len(want) {
			t.Fatalf("%s: %d steps", name, len(got))
		}
		for i, s := range got {
			sameSampled(t, fmt.Sprintf("%s, step %d", name, i), want[i].Tokens, s.Tokens)
			if s.Response != want[i].Response {
				t.Errorf("%s, step %d: response %q, want %q", name, i, s.Response, want[i].Response)
			}
		}
		if k, mode := got[0].Tokens.TopK, got[0].Tokens.Meta.Mode; name != "found" && (k != 20 || mode != "raw") || name == "found" && (k != 5 || mode != "") {
			t.Errorf("%s: entropies from the top %d, mode %q", name, k, mode)
		}
	}
	for i, s := range recordedSteps(t, db, "text") {
		if s.Tokens != nil || s.Response != want[i].Response {
			t.Errorf("text, step %d: %q, tokens %v", i, s.Response, s.Tokens)
		}
	}
}

// sameSampled compares what a server gave with what the model itself says.
func sameSampled(t *testing.T, what string, exact, got *harness.Tokens) {
	t.Helper()
	if got == nil || !slices.Equal(got.IDs, exact.IDs) || !slices.Equal(got.PromptIDs, exact.PromptIDs) || !slices.Equal(got.Lengths, exact.Lengths) ||
		!slices.Equal(got.Versions, exact.Versions) {
		t.Fatalf("%s: %s", what, cmp.Diff(exact, got))
	}
	for i := range got.IDs {
		if d := got.Logprobs[i] - exact.Logprobs[i]; d > 1e-6 || d < -1e-6 {
			t.Errorf("%s: token %d has log-probability %g, want %g", what, i, got.Logprobs[i], exact.Logprobs[i])
		}
		low, high, h := got.EntropyLow[i], got.EntropyHigh[i], exact.Entropies[i]
		if h < low-1e-5 || h > high+1e-5 || got.Entropies[i] < low || got.Entropies[i] > high {
			t.Errorf("%s: token %d: entropy %g (estimate %g) outside [%g, %g]", what, i, h, got.Entropies[i], low, high)
		}
	}
}

// SGLang renders no messages: without a renderer its rollouts are text, with one they have tokens.
func TestRendererMakesSGLangExact(t *testing.T) {
	t.Parallel()
	sglang, vllm := llmtest.New(t, llmtest.Options{Dialect: llmtest.SGLang}), llmtest.New(t, llmtest.Options{Dialect: llmtest.VLLM})
	path := filepath.Join(t.TempDir(), "sglang.db")
	rollout := func(name string, more ...string) (*buffer, int) {
		code, _, stderr := inMemory(never(t), nil, append([]string{
			"rollout", "--db", path, "--name", name, "--policy", "sglang:" + sglang.URL, "--tasks", "1", "--group", "1",
			"--max-steps", "2", "--max-tokens", "8", "--quiet",
		}, more...)...)
		return stderr, code
	}
	for name, more := range map[string][]string{"text": nil, "exact": {"--renderer", "vllm:" + vllm.URL}} {
		if stderr, code := rollout(name, more...); code != exitOK {
			t.Fatalf("%s: exit code %d\n%s", name, code, stderr)
		}
	}
	if stderr, code := rollout("no", "--renderer", "sglang:"+sglang.URL); code == exitOK || !strings.Contains(stderr.String(), "SGLang has no endpoint that renders") {
		t.Errorf("a renderer that cannot: exit code %d\n%s", code, stderr)
	}
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range recordedSteps(t, db, "text") {
		if s.Tokens != nil {
			t.Errorf("text, step %d has tokens", s.Index)
		}
	}
	for _, s := range recordedSteps(t, db, "exact") {
		if tok := s.Tokens; tok == nil || len(tok.PromptIDs) == 0 || len(tok.Entropies) != len(tok.IDs) || len(tok.Lengths) != len(tok.IDs) {
			t.Errorf("exact, step %d: tokens %+v", s.Index, tok)
		}
	}
	code, out, _ := inMemory(never(t), nil, "doctor", "--server", "sglang:"+sglang.URL, "--renderer", "vllm:"+vllm.URL)
	if code != exitOK || !strings.Contains(out.String(), "rendering              yes") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestRolloutExplainsRefusedAlternatives(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t, llmtest.Options{Dialect: llmtest.VLLM, MaxLogprobs: 5})
	db := filepath.Join(t.TempDir(), "x.db")
	args := []string{"rollout", "--db", db, "--policy", "vllm:" + srv.URL, "--tasks", "1", "--group", "1", "--max-steps", "1", "--max-tokens", "8", "--quiet"}
	code, _, stderr := inMemory(never(t), nil, args...)
	if code != exitFailed || !strings.Contains(stderr.String(), "not with 20 alternatives per token") || !strings.Contains(stderr.String(), "--top-logprobs N") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if code, _, stderr := inMemory(never(t), nil, append(args, "--top-logprobs", "5")...); code != exitOK {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if code, _, stderr := inMemory(never(t), nil, append(args, "--route", "carrier-pigeon")...); code != exitUsage || !strings.Contains(stderr.String(), `route "carrier-pigeon"`) {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// Faults are ridden out, show in the run's log, and change no row.
func TestRolloutRidesOutFaults(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t, llmtest.Options{Dialect: llmtest.VLLM})
	path := filepath.Join(t.TempDir(), "faults.db")
	rollout := func(name string) {
		t.Helper()
		code, _, stderr := inMemory(never(t), nil, "rollout", "--db", path, "--name", name, "--policy", "vllm:"+srv.URL, "--tasks", "2", "--group", "1",
			"--max-steps", "2", "--max-tokens", "8", "--seed", "5", "--quiet", "--top-logprobs", "0")
		if code != 0 {
			t.Fatalf("%s: exit code %d\n%s", name, code, stderr)
		}
		if name == "disturbed" && !strings.Contains(stderr.String(), "5 requests sent again") {
			t.Errorf("the faults are not counted:\n%s", stderr)
		}
	}
	rollout("calm")
	srv.Inject("/v1/chat/completions", llmtest.Status(429, "Retry-After", "0"), llmtest.Status(503), llmtest.Reset(), llmtest.MidStream(), llmtest.Truncate())
	rollout("disturbed")
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	calm, disturbed := recordedSteps(t, db, "calm"), recordedSteps(t, db, "disturbed")
	if len(calm) != 4 || len(disturbed) != 4 {
		t.Fatalf("%d and %d steps", len(calm), len(disturbed))
	}
	for i := range calm {
		if d := cmp.Diff(calm[i].Tokens, disturbed[i].Tokens); d != "" || calm[i].Response != disturbed[i].Response {
			t.Errorf("step %d: %s", i, d)
		}
	}
	log := eventsOf(t, db, "disturbed")
	for _, want := range []string{"429", "503", "server generate: attempt 1 failed, sent again"} {
		if !strings.Contains(log, want) {
			t.Errorf("the run's log does not say %q:\n%s", want, log)
		}
	}
}

func eventsOf(t *testing.T, db *store.Store, name string) string {
	t.Helper()
	r, err := db.RunByName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for e, err := range db.Events(t.Context(), r.ID) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", e.Kind, e.Message)
	}
	return b.String()
}

// Another model under the same address ends the run's calls: its episodes fail, none has a reward, and
// with the former model back they go on from where they were.
func TestRolloutStopsAtASwappedModel(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t, llmtest.Options{Dialect: llmtest.VLLM})
	path := filepath.Join(t.TempDir(), "swap.db")
	swap := func(name string) { srv.Update(func(o *llmtest.Options) { o.Name = name }) }
	srv.Inject("/v1/chat/completions", nil, func(_ *llmtest.Server, w http.ResponseWriter, _ *http.Request, honest func(http.ResponseWriter)) {
		honest(w)
		swap("other")
	})
	args := []string{"rollout", "--db", path, "--policy", "vllm:" + srv.URL, "--tasks", "1", "--group", "2", "--max-steps", "4", "--max-tokens", "8", "--workers", "1", "--quiet", "--top-logprobs", "0"}
	code, out, stderr := inMemory(never(t), nil, append(args, "--name", "s")...)
	if code != exitFailed || !strings.Contains(stderr.String(), "the server's model changed under the run") && !strings.Contains(stderr.String(), "status 404") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.RunByName(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range db.Episodes(t.Context(), r.ID, store.Filter{}) {
		if err != nil || e.Status != harness.StatusFailed || e.Outcome != nil || e.Failure == nil || e.Failure.Kind != harness.FailServer {
			t.Errorf("episode %+v, %v", e, err)
		}
	}
	if log := eventsOf(t, db, "s"); !strings.Contains(log, "failed attempt 1: model_server failure") {
		t.Errorf("log:\n%s", log)
	}
	swap("tiny")
	if code, out, stderr := inMemory(never(t), nil, "rollout", "--db", path, "--resume", "s", "--retry-failed", "--quiet"); code != exitOK || !strings.Contains(out.String(), " 2     2       0 ") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}

// listening waits for the line that says where a server is.
func listening(t *testing.T, stderr *buffer) string {
	t.Helper()
	re := regexp.MustCompile(`http://\S+?;`)
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if at := re.FindString(stderr.String()); at != "" {
			return strings.TrimSuffix(at, ";")
		}
	}
	t.Fatalf("the server does not start:\n%s", stderr)
	return ""
}

// The first stop lets requests under way end; the second cuts them off.
func TestModelServeStops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		hard bool
		code int
	}{{"once", false, exitOK}, {"twice", true, exitInterrupted}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hard, stopHard := context.WithCancel(t.Context())
			soft, stopSoft := context.WithCancel(hard)
			defer stopHard()
			defer stopSoft()
			stderr := &buffer{}
			code := make(chan int, 1)
			go func() {
				code <- run(stops{soft, hard}, memoryGlobals(io.Discard, stderr, nil), []string{"model", "serve", "--refmodel", "--listen", "127.0.0.1:0"})
			}()
			url := listening(t, stderr)
			// A request whose body is not complete is under way for as long as the test likes. The client
			// sends the body once the server asks for it, so the first write says that it did.
			body, finish := io.Pipe()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/tokenize", body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Expect", "100-continue")
			req.Header.Set("Content-Type", "application/json")
			reply := make(chan error, 1)
			patient := &http.Transport{ExpectContinueTimeout: time.Minute} // the default one sends after a second unasked
			defer patient.CloseIdleConnections()
			go func() {
				resp, err := (&http.Client{Transport: patient}).Do(req)
				if err == nil {
					defer resp.Body.Close()
					var got struct{ Count int }
					if err = json.NewDecoder(resp.Body).Decode(&got); err == nil && got.Count == 0 {
						err = fmt.Errorf("status %s", resp.Status)
					}
				}
				reply <- err
			}()
			if _, err := io.WriteString(finish, `{"prompt": "go to`); err != nil {
				t.Fatal(err)
			}
			stopSoft()
			for !strings.Contains(stderr.String(), "stopping: requests under way") {
				time.Sleep(time.Millisecond)
			}
			if c.hard {
				stopHard()
			} else {
				if _, err := io.WriteString(finish, ` desk 1"}`); err != nil {
					t.Fatal(err)
				}
				finish.Close()
			}
			got := <-code
			finish.Close()
			if err := <-reply; (err != nil) != c.hard {
				t.Errorf("the request under way ended with %v", err)
			}
			if got != c.code {
				t.Errorf("exit code %d, want %d\n%s", got, c.code, stderr)
			}
		})
	}
}

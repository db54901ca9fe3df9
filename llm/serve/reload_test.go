package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/gguf"
)

// gated is a real model whose tokens take one value each from a gate; nil = no waiting.
type gated struct {
	*gguf.Model
	gate chan struct{}
}

func (g *gated) Stream(ctx context.Context, req llm.StreamRequest, emit func(llm.TokenEvent) error) (string, error) {
	return g.StreamAdjusted(ctx, req, nil, emit)
}

func (g *gated) StreamAdjusted(ctx context.Context, req llm.StreamRequest, adjust gguf.Adjust, emit func(llm.TokenEvent) error) (string, error) {
	return g.Model.StreamAdjusted(ctx, req, adjust, func(ev llm.TokenEvent) error {
		if g.gate != nil {
			select {
			case <-g.gate:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return emit(ev)
	})
}

// otherWeights writes the model again with its last tensor, the output matrix, a quarter larger.
func otherWeights(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := raw[len(raw)-512*64*4:]
	for i := 0; i < len(last); i += 4 {
		v := 1.25 * math.Float32frombits(binary.LittleEndian.Uint32(last[i:]))
		binary.LittleEndian.PutUint32(last[i:], math.Float32bits(v))
	}
	out := filepath.Join(t.TempDir(), "next.gguf")
	if err := os.WriteFile(out, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// open opens a file as the server of reloading does, or skips with the remedy.
func open(ctx context.Context, t *testing.T, path string) (*gguf.Model, error) {
	dir, err := gguf.FindLib(os.Getenv("HARNESS_LLAMA_LIB"))
	if err != nil {
		t.Skipf("%v: %s (or set HARNESS_LLAMA_LIB)", err, errext.Hint(err))
	}
	return gguf.Open(ctx, path, gguf.Config{LibDir: dir, Deterministic: true, Slots: 2, Name: "stories260K"})
}

// reloading serves stories260K behind a gate; whatever a trainer names is opened behind the same gate.
func reloading(t *testing.T, gate chan struct{}) (ts *httptest.Server, path string) {
	t.Helper()
	path = testutil.Shared(t, "data/models/stories260K.gguf")
	first, err := open(t.Context(), t, path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(&gated{first, gate}, Config{Reload: func(ctx context.Context, path string) (llm.Model, error) {
		m, err := open(ctx, t, path)
		if err != nil {
			return nil, err
		}
		return &gated{m, gate}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ts = httptest.NewServer(s)
	t.Cleanup(func() {
		ts.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return ts, path
}

// scoredBy are the log-probabilities that the weights of a file give ids behind prompt.
func scoredBy(t *testing.T, path string, prompt, ids []int32) []float32 {
	t.Helper()
	m, err := open(t.Context(), t, path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.Score(t.Context(), llm.ScoreRequest{Prefix: prompt, Continuation: ids})
	if err != nil {
		t.Fatal(err)
	}
	return s.Logprobs
}

// A response that is under way when a trainer loads other weights goes on, and each of its tokens has the
// log-probability that the weights of its version give it.
func TestReloadOfRealWeights(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	ts, path := reloading(t, gate)
	next := otherWeights(t, path)
	prompt := ask[struct{ Tokens []int32 }](t, ts, "/tokenize", `{"prompt":"Once upon a time"}`).Tokens
	body := object{"token_ids": prompt, "sampling_params": object{"temperature": 1, "seed": 3, "max_tokens": 24, "logprobs": 0}}
	done := make(chan generateReply, 1)
	go func() { done <- ask[generateReply](t, ts, "/inference/v1/generate", body) }()
	for range 10 {
		gate <- struct{}{}
	}
	do(t, ts, "/pause?mode=keep", `{}`)
	if status, b := do(t, ts, "/update_weights", object{"update_info": object{"path": next}, "weight_version": 7}); status != http.StatusOK {
		t.Fatalf("update: %d %s", status, b)
	}
	if v := versionOf(t, ts); v != "7" {
		t.Errorf("version %q", v)
	}
	do(t, ts, "/resume", `{}`)
	close(gate)
	c := (<-done).Choices[0]
	n := len(c.IDs)
	if len(c.Versions) != 2 || c.Versions[1].Version != "7" || c.Versions[1].End != n || c.Versions[0].End != c.Versions[1].Start {
		t.Fatalf("versions %v of %d tokens", c.Versions, n)
	}
	turn := c.Versions[1].Start
	if turn < 9 || turn > 10 { // the pause may come before the tenth token was handed out
		t.Errorf("the new weights begin at token %d", turn)
	}
	was, is := scoredBy(t, path, prompt, c.IDs), scoredBy(t, next, prompt, c.IDs)
	if cmp.Equal(was, is) {
		t.Fatal("both weights give the same numbers")
	}
	raw, err := json.Marshal(c.Logprobs)
	if err != nil {
		t.Fatal(err)
	}
	var list idLogprobs
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 0, n)
	for _, e := range list.Content {
		got = append(got, e.Logprob)
	}
	want := append(append([]float32{}, was[:turn]...), is[turn:]...)
	if !cmp.Equal(got, want) {
		t.Errorf("log-probabilities\n%v\nwant\n%v", got, want)
	}
}

// With mode "wait" what is under way ends under the old weights, and what comes later has the new ones.
func TestReloadWaits(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	ts, path := reloading(t, gate)
	body := `{"token_ids":[1,403],"sampling_params":{"temperature":0,"max_tokens":8,"logprobs":0}}`
	first := make(chan generateReply, 1)
	go func() { first <- ask[generateReply](t, ts, "/inference/v1/generate", body) }()
	gate <- struct{}{}
	paused := make(chan struct{})
	go func() {
		defer close(paused)
		do(t, ts, "/pause?mode=wait", `{}`)
	}()
	close(gate)
	if c := (<-first).Choices[0]; !cmp.Equal(c.Versions, []span{{"0", 0, len(c.IDs)}}) {
		t.Errorf("under way: versions %v", c.Versions)
	}
	<-paused
	client := dial(t, ts, llm.RouteTokens)
	updater, ok := client.(llm.Updater)
	if !ok {
		t.Fatal("the client cannot update weights")
	}
	if err := updater.UpdateWeights(t.Context(), llm.Update{Version: 4, Path: otherWeights(t, path)}); err != nil {
		t.Fatal(err)
	}
	if err := updater.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, err := client.Generate(t.Context(), llm.Request{TokenIDs: []int32{1, 403}, Sampling: llm.Sampling{Temperature: 1, TopP: 1, MaxTokens: 3}})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range g.Tokens.Versions {
		if v != 4 {
			t.Errorf("token %d has version %d", i, v)
		}
	}
	if len(g.Tokens.Versions) != len(g.Tokens.IDs) {
		t.Errorf("%d versions of %d tokens", len(g.Tokens.Versions), len(g.Tokens.IDs))
	}
}

// A broken file is refused, and the old weights go on.
func TestReloadOfABrokenFile(t *testing.T) {
	t.Parallel()
	ts, path := reloading(t, nil)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "short.gguf")
	if err := os.WriteFile(short, raw[:len(raw)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	before := ask[map[string]string](t, ts, "/weight_info", nil)
	for _, name := range []string{short, filepath.Join(t.TempDir(), "absent.gguf")} {
		status, b := do(t, ts, "/update_weights", object{"update_info": object{"path": name}, "weight_version": "9"})
		if status != http.StatusBadRequest || !strings.Contains(string(b), filepath.Base(name)) {
			t.Errorf("%s: %d %s", filepath.Base(name), status, b)
		}
	}
	if after := ask[map[string]string](t, ts, "/weight_info", nil); !cmp.Equal(before, after) {
		t.Errorf("weights %v, before %v", after, before)
	}
	if c := ask[completionReply](t, ts, "/v1/completions", object{"prompt": "Once", "max_tokens": 4}).Choices[0]; c.Text == "" {
		t.Error("no text after a failed update")
	}
}

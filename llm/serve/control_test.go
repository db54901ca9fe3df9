package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/llm"
)

// seeds notes the seeds that it is given.
type seeds struct {
	fake
	mu   sync.Mutex
	seen []int64
}

func (m *seeds) Stream(ctx context.Context, req llm.StreamRequest, emit func(llm.TokenEvent) error) (string, error) {
	m.mu.Lock()
	m.seen = append(m.seen, *req.Sampling.Seed)
	m.mu.Unlock()
	return m.fake.Stream(ctx, req, emit)
}

// going starts a streamed generation on a gated model and waits until n tokens have arrived, so that
// the model waits at its gate for the next. The channel gives the whole response in the end.
func going(t *testing.T, ts *httptest.Server, gate chan struct{}, n int) <-chan generateChoice {
	t.Helper()
	out, arrived := make(chan generateChoice, 1), make(chan struct{}, 100)
	body := `{"token_ids":[62],"request_id":"r1","stream":true,"sampling_params":{"temperature":0,"max_tokens":50}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL+"/inference/v1/generate", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	go func() {
		var whole generateChoice
		defer func() { out <- whole }()
		res, err := ts.Client().Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			var r generateReply
			if data, ok := strings.CutPrefix(lines.Text(), "data: {"); !ok || json.Unmarshal([]byte("{"+data), &r) != nil {
				continue
			}
			c := r.Choices[0]
			whole.IDs, whole.Finish, whole.Versions = append(whole.IDs, c.IDs...), c.Finish, c.Versions
			arrived <- struct{}{}
		}
	}()
	for range n {
		gate <- struct{}{}
		<-arrived
	}
	return out
}

func versionOf(t *testing.T, ts *httptest.Server) string {
	t.Helper()
	return ask[map[string]string](t, ts, "/weight_info", nil)["weight_version"]
}

func TestWeightVersions(t *testing.T) {
	t.Parallel()
	ts := serving(t, &fake{script: "a"}, Config{})
	if v := versionOf(t, ts); v != "0" {
		t.Errorf("first version %q", v)
	}
	for _, tc := range []struct{ path, body, want string }{
		{"/update_weight_version", `{"new_version":"7"}`, "7"},
		{"/update_weight_version", `{"new_version":8}`, "8"},
		{"/finish_weight_update", `{"weight_version":"9"}`, "9"},
		{"/finish_weight_update", ``, "9"},
	} {
		if status, b := do(t, ts, tc.path, tc.body); status != http.StatusOK {
			t.Fatalf("%s: %d %s", tc.path, status, b)
		}
		if v := versionOf(t, ts); v != tc.want {
			t.Errorf("after %s %s: %q", tc.path, tc.body, v)
		}
	}
	if status, b := do(t, ts, "/update_weight_version", `{}`); status != http.StatusBadRequest {
		t.Errorf("without a version: %d %s", status, b)
	}
	for _, path := range []string{"/init_weight_transfer_engine", "/start_weight_update"} {
		if status, b := do(t, ts, path, `{}`); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, b)
		}
	}
	if n := ask[map[string]int](t, ts, "/get_world_size", nil)["world_size"]; n != 1 {
		t.Errorf("world size %d", n)
	}
}

func TestPauseAborts(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	ts := serving(t, &fake{script: "abcdef", gate: gate}, Config{})
	out := going(t, ts, gate, 2)
	if status, b := do(t, ts, "/pause", `{}`); status != http.StatusOK || !strings.Contains(string(b), "paused") {
		t.Fatalf("pause: %d %s", status, b)
	}
	if c := <-out; *c.Finish != "abort" || len(c.IDs) != 2 {
		t.Errorf("aborted choice: %+v", c)
	}
	if !ask[map[string]bool](t, ts, "/is_paused", nil)["is_paused"] {
		t.Error("the server does not say that it is paused")
	}
	later := going(t, ts, nil, 0)
	if v := ask[struct{ Count int }](t, ts, "/tokenize", `{"prompt":"ab"}`); v.Count != 3 {
		t.Errorf("tokenizing while paused: %+v", v)
	}
	select {
	case r := <-later:
		t.Errorf("a paused server answered %+v", r)
	default:
	}
	do(t, ts, "/resume", `{}`)
	for range 7 {
		gate <- struct{}{}
	}
	if c := <-later; *c.Finish != "stop" || len(c.IDs) != 7 {
		t.Errorf("after resuming: %+v", c)
	}
}

func TestPauseWaits(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	ts := serving(t, &fake{script: "abc", gate: gate}, Config{})
	out := going(t, ts, gate, 1)
	paused := make(chan struct{})
	go func() {
		do(t, ts, "/pause?mode=wait", `{}`)
		close(paused)
	}()
	for range 3 {
		gate <- struct{}{}
	}
	if c := <-out; *c.Finish != "stop" || len(c.IDs) != 4 {
		t.Errorf("what was under way: %+v", c)
	}
	<-paused
	if status, _ := do(t, ts, "/pause?mode=never", `{}`); status != http.StatusBadRequest {
		t.Errorf("unknown mode: %d", status)
	}
}

func TestPauseKeeps(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	ts := serving(t, &fake{script: "abcd", gate: gate}, Config{})
	out := going(t, ts, gate, 2)
	do(t, ts, "/pause?mode=keep", `{}`)
	gate <- struct{}{} // the third token is sampled and held
	do(t, ts, "/update_weight_version", `{"new_version":"1"}`)
	do(t, ts, "/resume", `{}`)
	gate <- struct{}{}
	gate <- struct{}{}
	c := <-out
	if *c.Finish != "stop" || len(c.IDs) != 5 {
		t.Errorf("the frozen response: %+v", c)
	}
	if !cmp.Equal(c.Versions, []span{{"0", 0, 2}, {"1", 2, 5}}) {
		t.Errorf("versions %v", c.Versions)
	}
}

func TestAbortOne(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	ts := serving(t, &fake{script: "abcd", gate: gate}, Config{})
	out := going(t, ts, gate, 1)
	do(t, ts, "/abort_requests", `{"request_ids":["another"]}`)
	gate <- struct{}{}
	do(t, ts, "/inference/v1/abort_requests", `{"request_ids":["r1"]}`)
	if c := <-out; *c.Finish != "abort" {
		t.Errorf("finish %q", *c.Finish)
	}
}

func TestRequestsAreAbortedByEitherID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"chatcmpl-a": true, "a": true, "b": false, "chatcmpl": false, "": false} {
		if got := contains([]string{id}, "chatcmpl-a"); got != want {
			t.Errorf("%q names chatcmpl-a: %v", id, got)
		}
	}
}

// A response under way goes on with the new weights, and each token knows its own.
func TestReload(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	old, next := &fake{script: "abcd", gate: gate}, &fake{script: "abXY", shift: 5, gate: gate}
	ts := serving(t, old, Config{Reload: func(_ context.Context, path string) (llm.Model, error) {
		if path != "new.gguf" {
			return nil, errors.New("no such file")
		}
		return next, nil
	}})
	before := ask[map[string]string](t, ts, "/version", nil)
	out := going(t, ts, gate, 2)
	do(t, ts, "/pause?mode=keep", `{}`)
	gate <- struct{}{} // sampled by the old weights and then dropped, because it was not handed out
	if status, b := do(t, ts, "/update_weights", `{"update_info":{"path":"new.gguf"}}`); status != http.StatusOK {
		t.Fatalf("update: %d %s", status, b)
	}
	do(t, ts, "/update_weight_version", `{"new_version":"1"}`)
	do(t, ts, "/resume", `{}`)
	for range 3 {
		gate <- struct{}{}
	}
	c := <-out
	if want := []int32{'a', 'b', 'X', 'Y', fakeEOS}; !cmp.Equal(c.IDs, want) || !cmp.Equal(c.Versions, []span{{"0", 0, 2}, {"1", 2, 5}}) {
		t.Errorf("ids %v, versions %v", c.IDs, c.Versions)
	}
	if !old.closed.Load() || next.closed.Load() {
		t.Error("the replaced model, and only it, is to be closed")
	}
	if info := ask[map[string]string](t, ts, "/weight_info", nil); info["model_version"] != next.Info().Version {
		t.Errorf("weight info %v", info)
	}
	if after := ask[map[string]string](t, ts, "/version", nil); !cmp.Equal(before, after) {
		t.Errorf("the server's version changed from %v to %v: clients would take it for another one", before, after)
	}
}

func TestReloadErrors(t *testing.T) {
	t.Parallel()
	none := serving(t, &fake{}, Config{})
	if status, b := do(t, none, "/update_weights", `{"update_info":{"path":"x"}}`); status != http.StatusNotImplemented {
		t.Errorf("without a loader: %d %s", status, b)
	}
	small := &smallVocabulary{}
	ts := serving(t, &fake{script: "a"}, Config{Reload: func(_ context.Context, path string) (llm.Model, error) {
		if path == "small" {
			return small, nil
		}
		return nil, errors.New("not a complete file")
	}})
	for body, want := range map[string]string{
		`{"update_info":{"path":"bad"}}`:         "not a complete file",
		`{"update_info":{"model_path":"small"}}`: "vocabulary of 3",
		`{"update_info":{}}`:                     "update_info",
	} {
		if status, b := do(t, ts, "/update_weights", body); status != http.StatusBadRequest || !strings.Contains(string(b), want) {
			t.Errorf("%s: %d %s", body, status, b)
		}
	}
	if !small.closed.Load() {
		t.Error("the refused model is still open")
	}
	if c := ask[completionReply](t, ts, "/v1/completions", object{"prompt": ">"}).Choices[0]; c.Text != "a" {
		t.Errorf("after failed updates: %q", c.Text)
	}
}

type smallVocabulary struct{ fake }

func (m *smallVocabulary) Info() llm.ModelInfo { return llm.ModelInfo{VocabSize: 3} }

// A client that goes away ends its generation.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	m := &fake{script: "abcdef", gate: gate}
	ts := serving(t, m, Config{})
	for _, stream := range []string{"true", "false"} {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, ts.URL+"/v1/completions", bytes.NewReader([]byte(`{"prompt":">","stream":`+stream+`}`)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if res, err := ts.Client().Do(req); err == nil {
				res.Body.Close()
			}
		}()
		gate <- struct{}{}
		cancel()
		<-ended
		m.open.Wait() // nobody opens the gate any more: only the cancellation can end it
	}
}

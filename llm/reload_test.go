package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// control is a policy server as far as weights go: it keeps the order of what it was asked, and fails or
// hangs up where it is told to.
type control struct {
	mu     sync.Mutex
	calls  []string
	paused bool
	fail   map[string]int // path → status; 0 hangs up
	times  map[string]int // path → how often it fails; absent = always
}

func (c *control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, _ := io.ReadAll(r.Body)
	call := r.URL.Path
	if r.URL.RawQuery != "" {
		call += "?" + r.URL.RawQuery
	}
	if body := strings.TrimSpace(string(raw)); body != "" && body != "{}" && body != "null" {
		call += " " + body
	}
	c.calls = append(c.calls, call)
	if status, ok := c.fail[r.URL.Path]; ok {
		n, counted := c.times[r.URL.Path]
		if !counted || n > 0 {
			if counted {
				c.times[r.URL.Path] = n - 1
			}
			if status == 0 {
				panic(http.ErrAbortHandler)
			}
			http.Error(w, `{"error":{"message":"no"}}`, status)
			return
		}
	}
	switch r.URL.Path {
	case "/pause", "/pause_generation":
		c.paused = true
	case "/resume", "/continue_generation":
		c.paused = false
	}
	json.NewEncoder(w).Encode(map[string]any{"success": true})
}

// state is what the server was asked so far, and whether it is paused.
func (c *control) state() (calls []string, paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls), c.paused
}

func startControl(t *testing.T, dialect string, c *control) llm.Updater {
	t.Helper()
	if c.times == nil {
		c.times = map[string]int{}
	}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	cfg := llm.Config{Now: time.Now, MaxTries: 1, Timeout: 30 * time.Second}
	var u llm.Updater
	var err error
	if dialect == "vllm" {
		u, err = llm.NewVLLM(srv.URL, cfg)
	} else {
		u, err = llm.NewSGLang(srv.URL, cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func reload(mode llm.PauseMode) llm.Reload {
	return llm.Reload{Mode: mode, Tries: 3, Sleep: func(context.Context, time.Duration) error { return nil }}
}

// TestReloadPausesLoadsAndResumes: the order, word for word, in both dialects.
func TestReloadPausesLoadsAndResumes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect string
		mode    llm.PauseMode
		update  llm.Update
		want    []string
	}{
		{"vllm", llm.PauseKeep, llm.Update{Version: 7, Path: "/w/7"}, []string{
			"/pause?mode=keep", "/start_weight_update", `/update_weights {"update_info":{"path":"/w/7"}}`, "/finish_weight_update",
			`/update_weight_version {"new_version":"7"}`, "/resume",
		}},
		{"vllm", llm.PauseAbort, llm.Update{Version: 8, Info: map[string]any{"names": []string{"a"}}}, []string{
			"/pause?mode=abort", "/start_weight_update", `/update_weights {"update_info":{"names":["a"]}}`, "/finish_weight_update",
			`/update_weight_version {"new_version":"8"}`, "/resume",
		}},
		{"sglang", "", llm.Update{Version: 7, Path: "/w/7"}, []string{
			`/pause_generation {"mode":"in_place"}`,
			`/update_weights_from_disk {"abort_all_requests":false,"flush_cache":true,"keep_pause":true,"model_path":"/w/7","weight_version":"7"}`,
			"/continue_generation",
		}},
		{"sglang", llm.PauseAbort, llm.Update{Version: 7, Path: "/w/7", Info: map[string]any{"load_format": "dummy"}}, []string{
			`/pause_generation {"mode":"abort"}`,
			`/update_weights_from_disk {"abort_all_requests":false,"flush_cache":true,"keep_pause":true,"load_format":"dummy","model_path":"/w/7","weight_version":"7"}`,
			"/continue_generation",
		}},
	} {
		s := &control{}
		u := startControl(t, c.dialect, s)
		var steps []string
		r := reload(c.mode)
		r.Step = func(name string) { steps = append(steps, name) }
		if err := r.Run(t.Context(), u, c.update); err != nil {
			t.Errorf("%s: %v", c.dialect, err)
		}
		calls, paused := s.state()
		if diff := cmp.Diff(c.want, calls); diff != "" {
			t.Errorf("%s: %s", c.dialect, diff)
		}
		if diff := cmp.Diff([]string{"pause", "update", "resume"}, steps); diff != "" {
			t.Error(diff)
		}
		if paused {
			t.Errorf("%s: it is still paused", c.dialect)
		}
	}
}

// TestReloadThatFailsResumesOrSaysSo goes through every place where a server can fail or die.
func TestReloadThatFailsResumesOrSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dialect string
		fail    map[string]int
		times   map[string]int
		paused  bool // left so, and said
		resumes int
		message string
	}{
		"vllm cannot pause":          {"vllm", map[string]int{"/pause": 404}, nil, false, 0, "pause the policy server"},
		"vllm pause fails":           {"vllm", map[string]int{"/pause": 400}, nil, false, 1, "pause the policy server"},
		"vllm dies while it pauses":  {"vllm", map[string]int{"/pause": 0, "/resume": 0}, nil, true, 3, "may still be paused"},
		"vllm start fails":           {"vllm", map[string]int{"/start_weight_update": 400}, nil, false, 1, "load version 3"},
		"vllm update fails half-way": {"vllm", map[string]int{"/update_weights": 400}, nil, true, 0, "load version 3"},
		"vllm dies while it loads":   {"vllm", map[string]int{"/update_weights": 0}, nil, true, 0, "may still be paused"},
		"vllm finish fails":          {"vllm", map[string]int{"/finish_weight_update": 400}, nil, true, 0, "may still be paused"},
		"vllm resume fails once":     {"vllm", map[string]int{"/resume": 400}, map[string]int{"/resume": 1}, false, 2, ""},
		"vllm resume fails":          {"vllm", map[string]int{"/resume": 400}, nil, true, 3, "resume the policy server"},
		"sglang update fails":        {"sglang", map[string]int{"/update_weights_from_disk": 400}, nil, false, 1, "load version 3"},
		"sglang dies while it loads": {"sglang", map[string]int{"/update_weights_from_disk": 0}, nil, true, 0, "may still be paused"},
		"sglang resume fails":        {"sglang", map[string]int{"/continue_generation": 0}, nil, true, 3, "may still be paused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &control{fail: c.fail, times: c.times}
			err := reload("").Run(t.Context(), startControl(t, c.dialect, s), llm.Update{Version: 3, Path: "/w"})
			if (err == nil) != (c.message == "") || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Fatalf("error %v", err)
			}
			var left *llm.PausedError
			if errors.As(err, &left) != c.paused {
				t.Errorf("said that it is paused: %v", err)
			}
			if c.paused && errext.Hint(err) == "" {
				t.Errorf("no way on is named: %v", err)
			}
			resumes := 0
			calls, paused := s.state()
			for _, call := range calls {
				if strings.HasPrefix(call, "/resume") || strings.HasPrefix(call, "/continue_generation") {
					resumes++
				}
			}
			if resumes != c.resumes || paused && !c.paused {
				t.Errorf("%d resumes, paused %v: %q", resumes, paused, calls)
			}
		})
	}
}

// TestReloadIsFinishedAfterItsContextEnds: a trainer that hangs up while the server is paused.
func TestReloadIsFinishedAfterItsContextEnds(t *testing.T) {
	t.Parallel()
	s := &control{fail: map[string]int{"/start_weight_update": 400}}
	ctx, cancel := context.WithCancel(t.Context())
	r := reload("")
	r.Step = func(name string) {
		if name == "update" {
			cancel()
		}
	}
	if err := r.Run(ctx, startControl(t, "vllm", s), llm.Update{Version: 1}); err == nil {
		t.Error("no error")
	}
	if calls, paused := s.state(); paused || calls[0] != "/pause?mode=keep" || calls[len(calls)-1] != "/resume" {
		t.Errorf("paused %v: %q", paused, calls)
	}
}

// TestAPausedServerIsLoadedAnew: after a failure half-way, the next run pauses, loads and resumes.
func TestAPausedServerIsLoadedAnew(t *testing.T) {
	t.Parallel()
	s := &control{fail: map[string]int{"/update_weights": 400}, times: map[string]int{"/update_weights": 1}}
	u := startControl(t, "vllm", s)
	if err := reload("").Run(t.Context(), u, llm.Update{Version: 1}); err == nil {
		t.Fatal("no error")
	} else if _, paused := s.state(); !paused {
		t.Fatalf("it goes on with half of its weights: %v", err)
	}
	if err := reload("").Run(t.Context(), u, llm.Update{Version: 1}); err != nil {
		t.Error(err)
	}
	if _, paused := s.state(); paused {
		t.Error("it is still paused")
	}
}

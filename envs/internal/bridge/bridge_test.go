package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/envs/internal/bridge"
	"github.com/hindsightrl/harness/internal/errext"
)

// A session resets, steps, and ends with its connection.
func TestSession(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var asked []map[string]any
	answer := f.answer
	f.answer = func(r map[string]any) []string { asked = append(asked, r); return answer(r) }
	s := f.session(t)
	if _, err := s.Step(t.Context(), "early"); err == nil {
		t.Error("a step before the reset gives no error")
	}
	if _, err := s.Reset(t.Context(), map[string]any{"game": "chess"}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Step(t.Context(), "e2 \xff \"e4\"")
	want := bridge.Answer{Observation: "e2 \ufffd \"e4\"", Admissible: []string{"a", "b"}, Score: 0.5}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("step: %v\n%s", err, d)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Reset(t.Context(), nil); err == nil || s.Usable() {
		t.Error("a closed session can be reset")
	}
	for deadline := time.Now().Add(time.Minute); f.open.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server still has the connection")
		}
	}
	if len(asked) != 2 || asked[0]["op"] != "reset" || asked[0]["game"] != "chess" || asked[1]["op"] != "step" {
		t.Errorf("the server was asked %v", asked)
	}
}

// What the original does wrong is an environment failure with its words; the session needs a reset then,
// and can have it.
func TestErrors(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	answer := f.answer
	f.answer = func(r map[string]any) []string {
		switch r["action"] {
		case "break":
			return []string{reply(r, map[string]any{"error": "KeyError: 'x'", "kind": "environment"})}
		case "nonsense":
			return []string{reply(r, map[string]any{"error": "no operation", "kind": "request"})}
		}
		return answer(r)
	}
	s := f.session(t)
	for action, retry := range map[string]bool{"break": true, "nonsense": false} {
		if _, err := s.Reset(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		_, err := s.Step(t.Context(), action)
		fail := (*harness.Failure)(nil)
		if !errors.As(err, &fail) || fail.Kind != harness.FailEnv || fail.Retryable != retry {
			t.Errorf("%s: got %v", action, err)
		}
		if action == "break" && !strings.Contains(err.Error(), "KeyError: 'x'") {
			t.Errorf("the original's words are lost: %v", err)
		}
		if _, err := s.Step(t.Context(), "go on"); err == nil {
			t.Error("a step after an error, without a reset")
		}
	}
	if !s.Usable() {
		t.Error("the session cannot be used after errors of the original")
	}
}

// A connection that ends is an environment failure, and the session is of no use any more.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{"hung up": hangUp, "not JSON": "<html>", "too much": ""} {
		f := newFake(t)
		answer := f.answer
		f.answer = func(r map[string]any) []string {
			if r["op"] == "reset" {
				return answer(r)
			}
			if last == "" {
				return []string{reply(r, map[string]any{"observation": strings.Repeat("x", 65<<20)})}
			}
			return []string{last}
		}
		s := f.session(t)
		if _, err := s.Reset(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Step(t.Context(), "x"); harness.KindOf(err) != harness.FailEnv {
			t.Errorf("%s: got %v", name, err)
		}
		if s.Usable() {
			t.Errorf("%s: the session counts as usable", name)
		}
	}
}

// A call that is given up does not confuse the next: its answer comes late and is dropped.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	answer := f.answer
	release := make(chan struct{})
	f.answer = func(r map[string]any) []string {
		if r["action"] == "slow" {
			<-release
		}
		return answer(r)
	}
	s := f.session(t)
	if _, err := s.Reset(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		cancel()
	}()
	if _, err := s.Step(ctx, "slow"); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(release)
	if got, err := s.Reset(t.Context(), nil); err != nil || got.Observation != "reset" {
		t.Fatalf("reset: %v %v", got, err)
	}
	if got, err := s.Step(t.Context(), "fast"); err != nil || got.Observation != "fast" {
		t.Errorf("step: %v %v", got, err)
	}
}

// A server that never answers is noticed.
func TestSilent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(map[string]any) []string { return nil }
	cfg := f.config()
	cfg.CallLimit = 300 * time.Millisecond
	s, err := dialWithin(t.Context(), cfg)
	for until := time.Now().Add(time.Minute); err != nil; s, err = dialWithin(t.Context(), cfg) {
		if time.Now().After(until) {
			t.Fatal(err)
		}
		t.Logf("the machine is busy, the limit holds for connecting as well: %v", err)
	}
	defer s.Close()
	if _, err := s.Reset(t.Context(), nil); harness.KindOf(err) != harness.FailEnv || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func dialWithin(ctx context.Context, cfg bridge.Config) (*bridge.Session, error) {
	b, err := bridge.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return b.Dial(ctx)
}

// Settings and servers that cannot work are refused with what to do.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for name, c := range map[string]struct {
		change func(*bridge.Config)
		greet  string
		want   string
	}{
		"neither":        {change: func(c *bridge.Config) { c.Address = "" }, want: "name one of them"},
		"both":           {change: func(c *bridge.Config) { c.Image = "x" }, want: "name one of them"},
		"no WebSocket":   {change: func(c *bridge.Config) { c.Address = "http://127.0.0.1:1" }, want: "ws://127.0.0.1:8765"},
		"nobody there":   {change: func(c *bridge.Config) { c.Address = "ws://127.0.0.1:1" }, want: "docker compose up fake"},
		"wrong token":    {change: func(c *bridge.Config) { c.Token = "open" }, want: "HARNESS_BRIDGE_TOKEN"},
		"another":        {greet: `{"protocol":1,"environment":"other"}`, want: `serves "other"`},
		"newer":          {greet: `{"protocol":9,"environment":"fake"}`, want: "protocol 9"},
		"full":           {greet: `{"error":"all 64 sessions are taken","kind":"limit"}`, want: "all 64 sessions"},
		"other protocol": {greet: `[]`, want: "no answer"},
	} {
		g := f
		if c.greet != "" {
			g = newFake(t)
			g.greet = c.greet
		}
		cfg := g.config()
		if c.change != nil {
			c.change(&cfg)
		}
		_, err := bridge.Open(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error()+errext.Hint(err), c.want) {
			t.Errorf("%s: got %v (hint %q), want %q", name, err, errext.Hint(err), c.want)
		}
	}
	if info := f.bridge(t).Info(); info["version_the_package"] != "1.2" || info["backend"] != "container" {
		t.Errorf("a run would record %v", info)
	}
}

// An episode asks the native expert, who has seen the same actions, and takes a new session where the
// old one is lost.
func TestEpisode(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	answer := f.answer
	f.answer = func(r map[string]any) []string {
		if r["action"] == "die" {
			return []string{hangUp}
		}
		return answer(r)
	}
	b := f.bridge(t)
	native := envtest.NewFakeSuite(envtest.FakeConfig{}, 3)
	var e bridge.Episode
	if _, err := e.Advise(t.Context()); err == nil {
		t.Error("advice before the reset")
	}
	if _, err := e.Step(t.Context(), "x"); err == nil {
		t.Error("a step before the reset")
	}
	want, err := native.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := want.Reset(t.Context(), envtest.FakeTask(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reset(t.Context(), b, native, envtest.FakeTask(3), nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		advice, err := want.(harness.Advisor).Advise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Advise(t.Context()); err != nil || got != advice {
			t.Errorf("advised %q (%v), want %q", got, err, advice)
		}
		if _, err := want.Step(t.Context(), advice); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Step(t.Context(), advice); err != nil {
			t.Fatal(err)
		}
	}
	_, err = e.Step(t.Context(), "die")
	if harness.KindOf(err) != harness.FailEnv {
		t.Errorf("a step on a lost session: %v", err)
	}
	if _, err := e.Reset(t.Context(), b, native, envtest.FakeTask(3), nil); err != nil {
		t.Errorf("a reset after the session was lost: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if native.Opened() != native.Closed()+1 { // want is open
		t.Errorf("%d native environments were opened, %d closed", native.Opened(), native.Closed())
	}
}

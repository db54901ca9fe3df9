package openenv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envtest"
)

// TestEpisode plays an episode and looks at every field of every answer.
func TestEpisode(t *testing.T) {
	t.Parallel()
	r := start(t, goals(2), Config{})
	c := r.dial(t)
	if a := c.ask(`{"type":"state"}`); a.Type != "state" || a.Data.EpisodeID != nil || a.Data.StepCount != 0 || a.Data.SessionID == "" {
		t.Errorf("before the first reset: %+v", a)
	}
	if a := c.ask(`{"type":"step","data":{"text":"look"}}`); a.Data.Code != codeExecution || a.Data.Message != errNoEpisode.Error() {
		t.Errorf("a step without a reset: %+v", a)
	}
	a := c.ask(`{"type":"reset","data":{"episode_id":"mine","seed":5}}`)
	o := a.Data.Observation
	if a.Type != "observation" || o.Text != "The counter shows 0." || o.Task != "count to 2." || len(o.Admissible) != 2 || a.Data.Reward != nil || a.Data.Done {
		t.Errorf("reset: %+v", a)
	}
	m := metadata{EpisodeID: "mine", Env: "fake", TaskID: "count-2", Split: "train", Type: "short"}
	if a.Data.Metadata != m || o.Metadata != m {
		t.Errorf("metadata: %+v and %+v, want %+v", a.Data.Metadata, o.Metadata, m)
	}
	a = c.ask(`{"type":"step","data":{"text":"add one"}}`)
	o = a.Data.Observation
	if o.Text != "The counter shows 1." || o.Feedback != "The counter goes up." || o.Score != 0.5 || o.Won || a.Data.Done || *a.Data.Reward != 0 || o.Metadata.Step != 1 {
		t.Errorf("step: %+v", a)
	}
	if a = c.ask(`{"type":"step","data":{"text":"add two"}}`); a.Data.Observation.Feedback != "Nothing happens." {
		t.Errorf("an agent's mistake is an observation, not %+v", a)
	}
	a = c.ask(`{"type":"step","data":{"text":"add one"}}`)
	o = a.Data.Observation
	if !a.Data.Done || !o.Won || o.Score != 1 || *a.Data.Reward != 1 || o.Metadata.Truncated {
		t.Errorf("last step: %+v", a)
	}
	if a = c.ask(`{"type":"step","data":{"text":"look"}}`); a.Data.Message != errOver.Error() {
		t.Errorf("a step after the last: %+v", a)
	}
	s := c.ask(`{"type":"state"}`).Data
	if *s.EpisodeID != "mine" || s.StepCount != 3 || s.state.Reward != 1 || !s.Done || !s.Won || s.TaskID != "count-2" || *s.Seed != 5 || len(s.TaskHash) != 64 {
		t.Errorf("state: %+v", s.state)
	}
	if a = c.ask(`{"type":"reset"}`); *c.ask(`{"type":"state"}`).Data.EpisodeID == "mine" || a.Data.Done {
		t.Error("another reset goes on with the old episode")
	}
	if n := r.suite.Opened(); n != 1 {
		t.Errorf("one session opened %d environments", n)
	}
	if st := r.Stats(); st.Steps != 3 || st.Sessions != 1 || st.Active != 1 {
		t.Errorf("stats: %+v", st)
	}
}

func TestErrorsLeaveTheSessionAlone(t *testing.T) {
	t.Parallel()
	r := start(t, goals(3), Config{})
	c := r.dial(t)
	c.ask(`{"type":"reset"}`)
	c.ask(`{"type":"step","data":{"text":"add one"}}`)
	for in, code := range map[string]string{
		`nonsense`: codeInvalidJSON, `[]`: codeValidation, `{"type":"dance"}`: codeUnknownType, `{"type":"step","data":{}}`: codeValidation,
		`{"type":"reset","data":{"task_id":"count-9"}}`: codeValidation, `{"type":"reset","data":{"split":"test"}}`: codeValidation,
		`{"type":"reset","data":{"index":1}}`: codeValidation,
	} {
		if a := c.ask("%s", in); a.Type != "error" || a.Data.Code != code || a.Data.Message == "" {
			t.Errorf("%s: %+v, want %s", in, a, code)
		}
	}
	if err := c.WriteMessage(websocket.BinaryMessage, []byte(`{"type":"state"}`)); err != nil {
		t.Fatal(err)
	}
	if a := c.hear(); a.Data.Code != codeInvalidJSON {
		t.Errorf("a binary message: %+v", a)
	}
	if s := c.ask(`{"type":"state"}`).Data; s.StepCount != 1 || s.Done {
		t.Errorf("after the errors: %+v", s.state)
	}
}

func TestTasksOfResets(t *testing.T) {
	t.Parallel()
	r := start(t, goals(1, 2, 3), Config{})
	c, d := r.dial(t), r.dial(t)
	task := func(c *client, data string) string {
		t.Helper()
		return c.ask(`{"type":"reset","data":%s}`, data).Data.Metadata.TaskID
	}
	for i, got := range []string{task(c, `{}`), task(d, `{}`), task(c, `{}`), task(d, `{}`)} { // all sessions share the line
		if want := fmt.Sprintf("count-%d", i%3+1); got != want {
			t.Errorf("reset %d without a word: %s, want %s", i, got, want)
		}
	}
	for data, want := range map[string]string{
		`{"seed":0}`: "count-1", `{"seed":4}`: "count-2", `{"index":2}`: "count-3", `{"split":"train","index":1}`: "count-2",
		`{"split":"train","seed":5}`: "count-3", `{"task_id":"count-2"}`: "count-2", `{"task_id":"fake/count-3"}`: "count-3",
		`{"task_id":"count-1","split":"train","seed":2}`: "count-1", `{"seed":9223372036854775807}`: "count-2",
	} {
		if got := task(c, data); got != want {
			t.Errorf("%s: %s, want %s", data, got, want)
		}
	}
}

func TestStepLimit(t *testing.T) {
	t.Parallel()
	r := start(t, goals(3), Config{MaxSteps: 2})
	c := r.dial(t)
	for data, want := range map[string]int{`{}`: 2, `{"max_steps":1}`: 1, `{"max_steps":4}`: 4} {
		c.ask(`{"type":"reset","data":%s}`, data)
		for i := 1; i <= want; i++ {
			a := c.ask(`{"type":"step","data":{"text":"look"}}`)
			if a.Data.Done != (i == want) || a.Data.Metadata.Truncated != (i == want) {
				t.Errorf("%s: step %d: %+v", data, i, a.Data.Metadata)
			}
		}
	}
	c.ask(`{"type":"reset","data":{"max_steps":0}}`)
	for range 5 {
		if c.ask(`{"type":"step","data":{"text":"look"}}`).Data.Done {
			t.Error("max_steps 0 is no limit")
		}
	}
	c.ask(`{"type":"reset","data":{"max_steps":3}}`)
	c.ask(`{"type":"step","data":{"text":"add one"}}`)
	c.ask(`{"type":"step","data":{"text":"add one"}}`)
	if a := c.ask(`{"type":"step","data":{"text":"add one"}}`); !a.Data.Done || a.Data.Metadata.Truncated || !a.Data.Observation.Won {
		t.Errorf("won with the last step that was allowed: %+v", a)
	}
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	r := start(t, goals(1), Config{MaxSessions: 2})
	a, b := r.dial(t), r.dial(t)
	a.ask(`{"type":"reset"}`)
	b.ask(`{"type":"reset"}`)
	c := r.dial(t)
	// As openenv's client does, it asks before it reads why it was refused.
	c.WriteMessage(websocket.TextMessage, []byte(`{"type":"reset"}`)) // it may be refused already
	why := c.hear()
	if why.Type != "error" || why.Data.Code != codeCapacity || *why.Data.Active != 2 || *why.Data.Max != 2 || !strings.Contains(why.Data.Message, "2/2 sessions active") {
		t.Errorf("a third session: %+v", why)
	}
	c.ends(websocket.CloseNormalClosure)
	if status, body := r.do(t, "POST", "/reset", ""); status != http.StatusServiceUnavailable || !strings.Contains(fmt.Sprint(body["detail"]), "at capacity") {
		t.Errorf("a reset over HTTP: %d %v", status, body)
	}
	if _, body := r.do(t, "POST", "/mcp", `{"jsonrpc":"2.0","method":"openenv/session/create","id":1}`); fmt.Sprint(body["error"]) == "<nil>" {
		t.Errorf("a session over JSON-RPC: %v", body)
	}
	// The place is free before the goodbye is answered.
	if err := a.WriteMessage(websocket.TextMessage, []byte(`{"type":"close"}`)); err != nil {
		t.Fatal(err)
	}
	a.ends(websocket.CloseNormalClosure)
	if got := r.dial(t).ask(`{"type":"reset"}`); got.Type != "observation" {
		t.Errorf("after a goodbye: %+v", got)
	}
	b.Close() // without a word
	eventually(t, "the place of a client that vanished is free", func() bool { return r.Stats().Active == 1 })
}

func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	var clk clock
	r := start(t, goals(2), clk.config(Config{Idle: time.Hour}))
	idle, used := r.dial(t), r.dial(t)
	idle.ask(`{"type":"reset"}`)
	used.ask(`{"type":"reset"}`)
	clk.move(40 * time.Minute)
	used.ask(`{"type":"state"}`)
	clk.move(40 * time.Minute)
	r.reap()
	if a := idle.hear(); a.Data.Code != codeSession || !strings.Contains(a.Data.Message, "idle for 1h0m0s") {
		t.Errorf("the idle one hears %+v", a)
	}
	idle.ends(websocket.CloseNormalClosure)
	if a := used.ask(`{"type":"step","data":{"text":"look"}}`); a.Type != "observation" {
		t.Errorf("the used one hears %+v", a)
	}
	if n := r.Stats().Active; n != 1 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestBusySessionsAreNotIdle: a step that takes longer than the limit is no reason to end its session.
func TestBusySessionsAreNotIdle(t *testing.T) {
	t.Parallel()
	var clk clock
	began, go1 := make(chan struct{}), make(chan struct{})
	suite := envtest.NewFakeSuite(envtest.FakeConfig{OnStep: func(context.Context, string, int) error {
		close(began)
		<-go1
		return nil
	}}, 2)
	r := start(t, suite, clk.config(Config{Idle: time.Minute}))
	c := r.dial(t)
	c.ask(`{"type":"reset"}`)
	if err := c.WriteMessage(websocket.TextMessage, []byte(`{"type":"step","data":{"text":"add one"}}`)); err != nil {
		t.Fatal(err)
	}
	<-began
	clk.move(time.Hour)
	r.reap()
	close(go1)
	if a := c.hear(); a.Data.Observation.Score != 0.5 {
		t.Errorf("got %+v", a)
	}
}

// TestDisconnectInterrupts: a client that leaves during a call interrupts it, and its place is free.
func TestDisconnectInterrupts(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	suite := envtest.NewFakeSuite(envtest.FakeConfig{OnStep: func(ctx context.Context, _ string, _ int) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}}, 2)
	r := start(t, suite, Config{MaxSessions: 1})
	c := r.dial(t)
	c.ask(`{"type":"reset"}`)
	if err := c.WriteMessage(websocket.TextMessage, []byte(`{"type":"step","data":{"text":"add one"}}`)); err != nil {
		t.Fatal(err)
	}
	<-began
	c.Close()
	eventually(t, "the session is gone", func() bool { return r.Stats().Active == 0 && suite.Closed() == 1 })
}

// TestBrokenEnvironments: an environment that fails or panics ends its episode, not its session and not
// the server.
func TestBrokenEnvironments(t *testing.T) {
	t.Parallel()
	suite := envtest.NewFakeSuite(envtest.FakeConfig{
		OnStep: func(_ context.Context, action string, _ int) error {
			switch action {
			case "fail":
				return harness.Fail(harness.FailEnv, "step", errors.New("the disk is gone"))
			case "panic":
				panic("no such counter")
			}
			return nil
		},
		OnReset: func(_ context.Context, _ harness.Task, n int) error {
			if n == 2 {
				return errors.New("not now")
			}
			return nil
		},
	}, 2)
	r := start(t, suite, Config{})
	c := r.dial(t)
	c.ask(`{"type":"reset"}`)
	if a := c.ask(`{"type":"step","data":{"text":"fail"}}`); a.Data.Code != codeExecution || !strings.Contains(a.Data.Message, "the disk is gone") {
		t.Errorf("a failure: %+v", a)
	}
	if a := c.ask(`{"type":"step","data":{"text":"look"}}`); a.Data.Message != errNoEpisode.Error() {
		t.Errorf("a step after a failure: %+v", a)
	}
	if a := c.ask(`{"type":"reset"}`); a.Data.Code != codeExecution || !strings.Contains(a.Data.Message, "not now") {
		t.Errorf("a reset that fails: %+v", a)
	}
	if a := c.ask(`{"type":"reset"}`); a.Type != "observation" {
		t.Errorf("a reset after a failure: %+v", a)
	}
	if a := c.ask(`{"type":"step","data":{"text":"panic"}}`); a.Data.Code != codeExecution || !strings.Contains(a.Data.Message, "no such counter") {
		t.Errorf("a panic: %+v", a)
	}
	if a := c.ask(`{"type":"reset"}`); a.Type != "observation" || suite.Opened() != 4 {
		t.Errorf("a reset after a panic: %+v; %d environments", a, suite.Opened())
	}
}

func TestLargeMessages(t *testing.T) {
	t.Parallel()
	r := start(t, goals(2), Config{MaxMessage: 1000})
	c := r.dial(t)
	c.ask(`{"type":"reset"}`)
	c.ask(`{"type":"step","data":{"text":"%s"}}`, strings.Repeat("x", 900))
	if err := c.WriteMessage(websocket.TextMessage, make([]byte, 1<<20)); err != nil {
		t.Logf("refused while it was written: %v", err)
	}
	c.ends(websocket.CloseMessageTooBig)
	eventually(t, "the session is gone", func() bool { return r.Stats().Active == 0 })
	if status, _ := r.do(t, "POST", "/reset", `{"episode_id":"`+strings.Repeat("x", 1000)+`"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("over HTTP: %d", status)
	}
}

// TestManySessions: sessions do not see each other.
func TestManySessions(t *testing.T) {
	t.Parallel()
	const n = 32
	r := start(t, goals(1, 2, 3, 4, 5, 6, 7), Config{MaxSessions: n})
	var all sync.WaitGroup
	for i := range n {
		c := r.dial(t)
		all.Go(func() {
			for round := range 3 {
				goal := (i+round)%7 + 1
				a := c.ask(`{"type":"reset","data":{"task_id":"count-%d","episode_id":"%d.%d"}}`, goal, i, round)
				for s := 1; !a.Data.Done; s++ {
					a = c.ask(`{"type":"step","data":{"text":"add one"}}`)
					if a.Data.Metadata.Step != s || a.Data.Metadata.EpisodeID != fmt.Sprintf("%d.%d", i, round) {
						t.Errorf("session %d is in %+v", i, a.Data.Metadata)
						return
					}
				}
				if a.Data.Metadata.Step != goal || !a.Data.Observation.Won {
					t.Errorf("session %d: %+v", i, a)
				}
			}
		})
	}
	all.Wait()
	if st := r.Stats(); st.Active != n || r.suite.Opened() != n {
		t.Errorf("%+v, %d environments", st, r.suite.Opened())
	}
}

// TestCloseEndsEverything: sessions hear why, calls under way are interrupted, environments are closed.
func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	suite := envtest.NewFakeSuite(envtest.FakeConfig{OnStep: func(ctx context.Context, _ string, _ int) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}}, 2)
	r := start(t, suite, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	quiet, busy := r.dial(t), r.dial(t)
	quiet.ask(`{"type":"reset"}`)
	busy.ask(`{"type":"reset"}`)
	if err := busy.WriteMessage(websocket.TextMessage, []byte(`{"type":"step","data":{"text":"add one"}}`)); err != nil {
		t.Fatal(err)
	}
	<-began
	cancel()
	for _, c := range []*client{quiet, busy} {
		if a := c.hear(); a.Data.Code != codeSession || !strings.Contains(a.Data.Message, "stopping") {
			t.Errorf("got %+v", a)
		}
	}
	quiet.ends(websocket.CloseGoingAway)
	busy.ends(websocket.CloseGoingAway)
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	if r.Stats().Active != 0 || suite.Closed() != 2 {
		t.Errorf("%+v, %d environments closed", r.Stats(), suite.Closed())
	}
	ctx, stop := seconds30()
	defer stop()
	if _, resp, err := websocket.DefaultDialer.DialContext(ctx, dialURL(r.url, "/ws"), nil); err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a connection after the end: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

// TestReaperRuns: Run ends idle sessions by itself.
func TestReaperRuns(t *testing.T) {
	t.Parallel()
	r := start(t, goals(2), Config{Idle: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	c := r.dial(t)
	if a := c.hear(); a.Data.Code != codeSession {
		t.Errorf("got %+v", a)
	}
	c.ends(websocket.CloseNormalClosure)
	eventually(t, "the idle session is gone", func() bool { return r.Stats().Active == 0 })
	cancel()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
}

// TestEnding: what an environment makes of an episode once it is over comes with the last step, whoever
// ended it, once; an ending that fails is an error of that session, and the next reset opens another
// environment.
func TestEnding(t *testing.T) {
	t.Parallel()
	var finished atomic.Int32
	var broken atomic.Bool
	suite := envtest.NewFakeSuite(envtest.FakeConfig{OnFinish: func(context.Context) (harness.Ending, error) {
		finished.Add(1)
		if broken.Load() {
			return harness.Ending{}, errors.New("the judge is away")
		}
		return harness.Ending{Reward: 3, Score: 0.25, Feedback: "The judge nods."}, nil
	}}, 2)
	r := start(t, suite, Config{})
	c := r.dial(t)
	for name, reset := range map[string]string{"environment": `{"type":"reset"}`, "limit": `{"type":"reset","data":{"max_steps":2}}`} {
		finished.Store(0)
		c.ask("%s", reset)
		if a := c.ask(`{"type":"step","data":{"text":"add one"}}`); a.Data.Done || a.Data.Observation.Feedback != "The counter goes up." || finished.Load() != 0 {
			t.Errorf("%s: a step before the last: %+v", name, a)
		}
		action, own := "add one", 1.0
		if name == "limit" {
			action, own = "look", 0
		}
		a := c.ask(`{"type":"step","data":{"text":%q}}`, action)
		o := a.Data.Observation
		if !a.Data.Done || *a.Data.Reward != 3+own || o.Score != 0.25 || o.Won || !strings.HasSuffix(o.Feedback, "\n\nThe judge nods.") || o.Metadata.Truncated != (name == "limit") {
			t.Errorf("%s: the last step: %+v", name, a)
		}
		if s := c.ask(`{"type":"state"}`).Data.state; s.Reward != 3+own || s.Score != 0.25 || finished.Load() != 1 {
			t.Errorf("%s: state %+v, finished %d times", name, s, finished.Load())
		}
	}
	broken.Store(true)
	c.ask(`{"type":"reset","data":{"max_steps":1}}`)
	opened := r.suite.Opened()
	if a := c.ask(`{"type":"step","data":{"text":"look"}}`); a.Data.Code != codeExecution || !strings.Contains(a.Data.Message, "the judge is away") {
		t.Errorf("an ending that fails: %+v", a)
	}
	if a := c.ask(`{"type":"reset"}`); a.Type != "observation" || r.suite.Opened() != opened+1 {
		t.Errorf("a reset after that: %+v, %d environments", a, r.suite.Opened())
	}
}

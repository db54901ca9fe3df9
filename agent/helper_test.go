package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/testutil"
)

func TestMain(m *testing.M) { os.Exit(testutil.RunAndFindLeaks(m)) }

// memory is a Recorder in memory. It refuses what the contract forbids.
type memory struct {
	mu       sync.Mutex
	next     int64
	episodes map[string]*kept
	byID     map[int64]*kept
	calls    []string // failed calls, "attempt.step.try kind"
	broken   error    // returned by Step when set
}

// kept is one episode in memory.
type kept struct {
	attempts []*keptAttempt
	outcome  *harness.Outcome
	failed   *harness.Failure
}

type keptAttempt struct {
	id      int64
	open    bool
	steps   []harness.Step
	failure *harness.Failure
}

func newMemory() *memory {
	return &memory{episodes: map[string]*kept{}, byID: map[int64]*kept{}}
}

var (
	_ Recorder     = (*memory)(nil)
	_ CallRecorder = (*memory)(nil)
)

func (m *memory) Begin(ctx context.Context, ref harness.EpisodeRef) (int64, []harness.Step, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	k := m.episodes[ref.String()]
	if k == nil {
		k = &kept{}
		m.episodes[ref.String()] = k
	}
	if k.outcome != nil || k.failed != nil {
		return 0, nil, fmt.Errorf("episode %s has ended", ref)
	}
	if n := len(k.attempts); n > 0 && k.attempts[n-1].open {
		a := k.attempts[n-1]
		return a.id, slices.Clone(a.steps), nil
	}
	m.next++
	k.attempts = append(k.attempts, &keptAttempt{id: m.next, open: true})
	m.byID[m.next] = k
	return m.next, nil, nil
}

func (m *memory) last(id int64) (*kept, *keptAttempt, error) {
	k := m.byID[id]
	if k == nil {
		return nil, nil, fmt.Errorf("no attempt %d", id)
	}
	a := k.attempts[len(k.attempts)-1]
	if a.id != id || !a.open {
		return nil, nil, fmt.Errorf("attempt %d is closed", id)
	}
	return k, a, nil
}

func (m *memory) Step(ctx context.Context, id int64, s harness.Step) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_, a, err := m.last(id)
	if err != nil {
		return err
	}
	if s.Index != len(a.steps) {
		return fmt.Errorf("step %d after %d steps", s.Index, len(a.steps))
	}
	a.steps = append(a.steps, s)
	return nil
}

func (m *memory) Finish(ctx context.Context, id int64, o harness.Outcome) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, a, err := m.last(id)
	if err != nil {
		return err
	}
	a.open, k.outcome = false, &o
	return ctx.Err()
}

func (m *memory) Fail(ctx context.Context, id int64, f *harness.Failure, final bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, a, err := m.last(id)
	if err != nil {
		return err
	}
	a.open, a.failure = false, f
	if final {
		k.failed = f
	}
	return ctx.Err()
}

func (m *memory) CallFailed(_ context.Context, attempt int64, step, try int, f *harness.Failure) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, fmt.Sprintf("%d.%d.%d %s", attempt, step, try, f.Kind))
	return nil
}

// of returns what is kept of an episode.
func (m *memory) of(t *testing.T, ref harness.EpisodeRef) *kept {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.episodes[ref.String()]
	if k == nil {
		t.Fatalf("nothing is kept of episode %s", ref)
	}
	return k
}

// corridor is an environment with one agent on a line: it starts at 0 and wins at the task's goal,
// which is the number that the task's ID ends in. Its hooks break it on purpose.
type corridor struct {
	goal    int
	onEnv   func(n int) error                            // NewEnv number n
	onReset func(n int) error                            // Reset in env number n
	onStep  func(ctx context.Context, n, step int) error // before a step in env number n
	change  func(n, step int, tr *harness.Transition)    // after it
	noList  bool                                         // no admissible actions
	mu      sync.Mutex
	opened  int
	closed  int
}

func (c *corridor) Name() string { return "corridor" }

func (c *corridor) Tasks(context.Context, string) ([]harness.Task, error) { return nil, nil }

func (c *corridor) NewEnv(context.Context) (harness.Env, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	if c.onEnv != nil {
		if err := c.onEnv(c.opened); err != nil {
			return nil, err
		}
	}
	return &walk{suite: c, n: c.opened}, nil
}

type walk struct {
	suite           *corridor
	n, step         int
	at, goal        int
	ready, isClosed bool
}

func (w *walk) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	if w.suite.onReset != nil {
		if err := w.suite.onReset(w.n); err != nil {
			return harness.Observation{}, err
		}
	}
	w.goal = w.suite.goal
	if n, err := strconv.Atoi(task.ID[len(task.ID)-1:]); err == nil {
		w.goal = n
	}
	w.at, w.step, w.ready = 0, 0, true
	return w.look(), ctx.Err()
}

func (w *walk) look() harness.Observation {
	o := harness.Observation{Text: fmt.Sprintf("You are at %d.", w.at), Task: fmt.Sprintf("reach %d", w.goal)}
	if !w.suite.noList {
		o.Admissible = []string{"left", "right", "wait"}
	}
	return o
}

func (w *walk) Step(ctx context.Context, action string) (harness.Transition, error) {
	if !w.ready || w.isClosed {
		return harness.Transition{}, errors.New("step without reset")
	}
	if w.suite.onStep != nil {
		if err := w.suite.onStep(ctx, w.n, w.step); err != nil {
			return harness.Transition{}, err
		}
	}
	feedback := "Nothing happens."
	switch action {
	case "left":
		w.at, feedback = w.at-1, "You go left."
	case "right":
		w.at, feedback = w.at+1, "You go right."
	}
	tr := harness.Transition{Observation: w.look(), Feedback: feedback, Reward: 0.25, Score: 0}
	if w.at == w.goal {
		tr.Won, tr.Done, tr.Score, tr.Reward = true, true, 1, 10
	}
	if w.suite.change != nil {
		w.suite.change(w.n, w.step, &tr)
	}
	w.step++
	return tr, nil
}

func (w *walk) Advise(context.Context) (string, error) {
	if w.at > w.goal {
		return "", errors.New("the expert only knows the way right")
	}
	return "right", nil
}

func (w *walk) Close() error {
	w.suite.mu.Lock()
	defer w.suite.mu.Unlock()
	w.suite.closed++
	w.isClosed = true
	return nil
}

func ref(group, sample int) harness.EpisodeRef {
	return harness.EpisodeRef{Group: group, Sample: sample, Task: harness.Task{Env: "corridor", ID: fmt.Sprintf("task-%d", group)}}
}

// quick is a configuration whose waits take no time and whose clock ticks one millisecond a look.
func quick(t *testing.T, env *corridor, p Policy) (Config, *memory) {
	t.Helper()
	rec := newMemory()
	var mu sync.Mutex
	now := time.Unix(0, 0)
	return Config{
		RunSeed:  7,
		Suites:   map[string]harness.Suite{"corridor": env},
		Policy:   p,
		Recorder: rec,
		Sleep:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Millisecond)
			return now
		},
	}, rec
}

func mustExpert(t testing.TB, share float64) Policy {
	t.Helper()
	p, err := Expert(share)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// right is the response that goes right.
const right = "<think>on</think><action>right</action>"

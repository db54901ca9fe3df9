package envtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hindsightrl/harness"
)

// FakeConfig configures the counter environment. The zero value works: it never fails.
type FakeConfig struct {
	// Reward is paid on first reaching the goal; 0 means 1.
	Reward float64
	// HideAdmissible leaves the list of admissible actions out of observations.
	HideAdmissible bool
	// OnReset and OnStep run first in Reset and Step; an error they return is the method's error. n
	// counts the calls over all environments that share the config's suite, from 1. They may block on
	// ctx to play a slow environment.
	OnReset func(ctx context.Context, task harness.Task, n int) error
	OnStep  func(ctx context.Context, action string, n int) error
	// OnFinish makes the environments of a suite Finishers, and is what their Finish does.
	OnFinish func(ctx context.Context) (harness.Ending, error)
	// OnClose runs first in Close.
	OnClose func() error
}

// counters are shared by the environments of a suite.
type counters struct {
	resets, steps, opened, closed atomic.Int64
}

// Fake is a deterministic environment: a counter that has to reach the number in the task's id
// ("count-3"). Its actions are "add one", "take one" and "look"; anything else has no effect. It is a
// Snapshotter and an Advisor. It may be Reset after Close.
type Fake struct {
	cfg    FakeConfig
	shared *counters
	state  fakeState
	task   harness.Task
	ready  bool
	open   bool
}

type fakeState struct{ value, goal, steps int }

var (
	_ harness.Snapshotter = (*Fake)(nil)
	_ harness.Advisor     = (*Fake)(nil)
)

// NewFake opens a counter environment of its own.
func NewFake(cfg FakeConfig) *Fake { return newFake(cfg, &counters{}) }

func newFake(cfg FakeConfig, shared *counters) *Fake {
	if cfg.Reward == 0 {
		cfg.Reward = 1
	}
	shared.opened.Add(1)
	return &Fake{cfg: cfg, shared: shared, open: true}
}

// finishingFake is a Fake with the last word.
type finishingFake struct{ *Fake }

var _ harness.Finisher = finishingFake{}

func (f finishingFake) Finish(ctx context.Context) (harness.Ending, error) {
	return f.cfg.OnFinish(ctx)
}

// FakeTask is the task of counting to goal.
func FakeTask(goal int) harness.Task {
	typ := "short"
	if goal > 3 {
		typ = "long"
	}
	return harness.Task{Env: FakeName, ID: fmt.Sprintf("count-%d", goal), Split: "train", Type: typ, Hash: fmt.Sprintf("%064x", goal)}
}

// FakeName is the environment name of the fake's tasks.
const FakeName = "fake"

// Reset starts counting from 0.
func (f *Fake) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	if err := ctx.Err(); err != nil {
		return harness.Observation{}, err
	}
	n := int(f.shared.resets.Add(1))
	if f.cfg.OnReset != nil {
		if err := f.cfg.OnReset(ctx, task, n); err != nil {
			return harness.Observation{}, err
		}
	}
	number, ok := strings.CutPrefix(task.ID, "count-")
	goal, err := strconv.Atoi(number)
	if !ok || err != nil || goal < 1 {
		return harness.Observation{}, fmt.Errorf("reset fake: task %q is not \"count-N\"", task.ID)
	}
	f.state = fakeState{goal: goal}
	f.task, f.ready = task, true
	if !f.open {
		f.open = true
		f.shared.opened.Add(1)
	}
	return f.observe(), nil
}

func (f *Fake) observe() harness.Observation {
	o := harness.Observation{
		Text: fmt.Sprintf("The counter shows %d.", f.state.value),
		Task: fmt.Sprintf("count to %d.", f.state.goal),
	}
	if !f.cfg.HideAdmissible {
		o.Admissible = []string{"add one", "look"}
		if f.state.value > 0 {
			o.Admissible = append(o.Admissible, "take one")
		}
	}
	return o
}

// Step applies an action.
func (f *Fake) Step(ctx context.Context, action string) (harness.Transition, error) {
	if err := ctx.Err(); err != nil {
		return harness.Transition{}, err
	}
	if !f.ready || !f.open {
		return harness.Transition{}, errors.New("step fake: no task is under way")
	}
	n := int(f.shared.steps.Add(1))
	if f.cfg.OnStep != nil {
		if err := f.cfg.OnStep(ctx, action, n); err != nil {
			return harness.Transition{}, err
		}
	}
	if f.won() {
		return f.transition("The count is over.", "the episode has ended", 0), nil
	}
	f.state.steps++
	switch action {
	case "add one":
		f.state.value++
		reward := 0.0
		if f.won() {
			reward = f.cfg.Reward
		}
		return f.transition("The counter goes up.", "", reward), nil
	case "take one":
		if f.state.value == 0 {
			return f.transition("Nothing happens.", "the counter is at 0", 0), nil
		}
		f.state.value--
		return f.transition("The counter goes down.", "", 0), nil
	case "look":
		return f.transition(f.observe().Text, "", 0), nil
	}
	return f.transition("Nothing happens.", "no such action", 0), nil
}

func (f *Fake) won() bool { return f.state.value >= f.state.goal }

func (f *Fake) transition(feedback, privileged string, reward float64) harness.Transition {
	return harness.Transition{
		Observation: f.observe(), Feedback: feedback, Privileged: privileged, Reward: reward,
		Score: min(1, float64(f.state.value)/float64(f.state.goal)), Won: f.won(), Done: f.won(),
	}
}

// Close ends the episode. Closing twice is harmless.
func (f *Fake) Close() error {
	var err error
	if f.open {
		f.open = false
		f.shared.closed.Add(1)
		if f.cfg.OnClose != nil {
			err = f.cfg.OnClose()
		}
	}
	f.ready = false
	return err
}

type fakeSnapshot struct {
	harness.SnapshotBase
	state fakeState
	task  string
}

// Snapshot copies the counter.
func (f *Fake) Snapshot() (harness.Snapshot, error) {
	if !f.ready {
		return nil, errors.New("snapshot fake: no task is under way")
	}
	return fakeSnapshot{state: f.state, task: f.task.Key()}, nil
}

// Restore puts the counter back.
func (f *Fake) Restore(s harness.Snapshot) error {
	snap, ok := s.(fakeSnapshot)
	if !ok || !f.ready || snap.task != f.task.Key() {
		return errors.New("restore fake: the snapshot is of another task")
	}
	f.state = snap.state
	return nil
}

// Advise counts up.
func (f *Fake) Advise(ctx context.Context) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !f.ready:
		return "", errors.New("advise fake: no task is under way")
	case f.won():
		return "", errors.New("advise fake: the task is solved")
	}
	return "add one", nil
}

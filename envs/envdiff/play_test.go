package envdiff_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envdiff"
	"github.com/hindsightrl/harness/envs/envtest"
)

// altered is an environment that answers otherwise from its third step on.
type altered struct {
	harness.Env
	steps int
	alter func(*harness.Transition)
	reset func(*harness.Observation)
}

func (a *altered) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	o, err := a.Env.Reset(ctx, task)
	a.steps = 0
	if a.reset != nil {
		a.reset(&o)
	}
	return o, err
}

func (a *altered) Step(ctx context.Context, action string) (harness.Transition, error) {
	tr, err := a.Env.Step(ctx, action)
	if a.steps++; a.steps == 3 && a.alter != nil {
		tr.Observation.Admissible = slices.Clone(tr.Observation.Admissible)
		a.alter(&tr)
	}
	return tr, err
}

func fake(t *testing.T) (harness.Env, harness.Task) {
	t.Helper()
	s := envtest.NewFakeSuite(envtest.FakeConfig{}, 20)
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return env, envtest.FakeTask(20)
}

// Two environments that are equal have no difference, and the same seed plays the same actions.
func TestEqual(t *testing.T) {
	t.Parallel()
	play := func(seed int64) envdiff.Result {
		a, task := fake(t)
		b, _ := fake(t)
		res, err := envdiff.Play(t.Context(), a, b, task, envdiff.Config{Seed: seed, Steps: 12})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	first := play(5)
	if first.Difference != nil || first.Steps == 0 || len(first.Actions) != first.Steps {
		t.Errorf("equal environments: %+v", first)
	}
	if d := cmp.Diff(first, play(5)); d != "" {
		t.Errorf("the same seed plays another game:\n%s", d)
	}
	if slices.Equal(first.Actions, play(6).Actions) {
		t.Error("another seed plays the same game")
	}
}

// Whatever is different is found where it is.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for what, alter := range map[string]func(*harness.Transition){
		"observation":         func(tr *harness.Transition) { tr.Observation.Text += " " },
		"task":                func(tr *harness.Transition) { tr.Observation.Task += "x" },
		"admissible action 2": func(tr *harness.Transition) { tr.Observation.Admissible[1] += "!" },
		"admissible action 1": func(tr *harness.Transition) { slices.Reverse(tr.Observation.Admissible) },
		"reward":              func(tr *harness.Transition) { tr.Reward++ },
		"score":               func(tr *harness.Transition) { tr.Score = 0.5 },
		"won":                 func(tr *harness.Transition) { tr.Won = !tr.Won },
		"done":                func(tr *harness.Transition) { tr.Done = !tr.Done },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a, task := fake(t)
			b, _ := fake(t)
			res, err := envdiff.Play(t.Context(), a, &altered{Env: b, alter: alter}, task, envdiff.Config{Steps: 10})
			if err != nil {
				t.Fatal(err)
			}
			d := res.Difference
			if d == nil || d.Step != 3 || d.What != what || d.Native == d.Original || d.Action != res.Actions[2] || res.Steps != 2 {
				t.Errorf("got %+v after %d steps, want a difference of %q at step 3", d, res.Steps, what)
			}
		})
	}
	a, task := fake(t)
	b, _ := fake(t)
	short := func(o *harness.Observation) { o.Admissible = o.Admissible[:len(o.Admissible)-1] }
	res, err := envdiff.Play(t.Context(), a, &altered{Env: b, reset: short}, task, envdiff.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if d := res.Difference; d == nil || d.Step != 0 || !strings.HasPrefix(d.What, "admissible action") || !strings.HasPrefix(d.Original, "(there are") {
		t.Errorf("a list that is shorter at the reset: %+v", d)
	}
}

// failing breaks at its second step.
type failing struct {
	harness.Env
	steps int
}

var errBroken = errors.New("out of order")

func (f *failing) Step(ctx context.Context, action string) (harness.Transition, error) {
	if f.steps++; f.steps == 2 {
		return harness.Transition{}, errBroken
	}
	return f.Env.Step(ctx, action)
}

// An environment that breaks is an error that says which one, and at what action.
func TestBroken(t *testing.T) {
	t.Parallel()
	a, task := fake(t)
	b, _ := fake(t)
	_, err := envdiff.Play(t.Context(), a, &failing{Env: b}, task, envdiff.Config{})
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "step 2") || !strings.Contains(err.Error(), "original:") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := envdiff.Play(ctx, a, b, task, envdiff.Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

// quiet lists one entry with a blank, and records what it is told.
type quiet struct{ told []string }

func (q *quiet) Reset(context.Context, harness.Task) (harness.Observation, error) {
	return harness.Observation{Text: "hello", Task: "find red shoes.", Admissible: []string{"say[<words>]"}}, nil
}

func (q *quiet) Step(_ context.Context, action string) (harness.Transition, error) {
	q.told = append(q.told, action)
	return harness.Transition{Observation: harness.Observation{Text: fmt.Sprint(len(q.told)), Admissible: []string{"say[<words>]"}}}, nil
}

func (q *quiet) Close() error { return nil }

// Blanks are filled with words of the task, and some actions are none.
func TestFill(t *testing.T) {
	t.Parallel()
	fill := func(_ string, word func() string) string { return "say[" + word() + "]" }
	a, b := &quiet{}, &quiet{}
	res, err := envdiff.Play(t.Context(), a, b, harness.Task{Env: "quiet", ID: "1"}, envdiff.Config{Steps: 200, Fill: fill})
	if err != nil || res.Difference != nil {
		t.Fatal(err, res.Difference)
	}
	filled := map[string]int{}
	for _, action := range a.told {
		filled[action]++
	}
	entries := 0
	for _, want := range []string{"say[find]", "say[red]", "say[shoes]"} {
		if filled[want] == 0 {
			t.Errorf("%q was never said: %v", want, filled)
		}
		entries += filled[want]
	}
	if none := len(a.told) - entries; none < 5 || none > 60 {
		t.Errorf("%d of %d actions are none of the list", none, len(a.told))
	}
	if filled["say[<words>]"] > 0 || !slices.Equal(a.told, b.told) {
		t.Errorf("blanks stayed, or the two were told different things: %v", filled)
	}
	if _, err := envdiff.Play(t.Context(), &mute{}, &mute{}, harness.Task{ID: "1"}, envdiff.Config{}); err == nil {
		t.Error("an environment without actions and expert gives no error")
	}
}

// mute offers nothing.
type mute struct{ quiet }

func (m *mute) Reset(context.Context, harness.Task) (harness.Observation, error) {
	return harness.Observation{Text: "nothing to do"}, nil
}

package alfworld_test

import (
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/envtest"
)

func TestEnvKeepsTheContract(t *testing.T) {
	t.Parallel()
	suite, tasks := panel(t, alfworld.Config{})
	seen := make(map[string]bool)
	for _, task := range tasks {
		if seen[task.Type] {
			continue
		}
		seen[task.Type] = true
		t.Run(task.Type, func(t *testing.T) {
			t.Parallel()
			open := func(tb testing.TB) harness.Env {
				env, err := suite.NewEnv(tb.Context())
				if err != nil {
					tb.Fatal(err)
				}
				return env
			}
			envtest.RunWith(t, open, task, envtest.Options{Steps: 25, UnknownTask: harness.Task{Env: alfworld.Name, ID: "valid_seen/none/none"}})
		})
	}
	if len(seen) != len(alfworld.TaskTypes()) {
		t.Errorf("the embedded panel has the task types %v only", seen)
	}
}

// solve follows the expert to the end.
func solve(tb testing.TB, env *alfworld.Env, limit int) (harness.Transition, int) {
	tb.Helper()
	for n := 1; n <= limit; n++ {
		a, err := env.Advise(tb.Context())
		if err != nil {
			tb.Fatalf("advise: %v", err)
		}
		tr, err := env.Step(tb.Context(), a)
		if err != nil {
			tb.Fatalf("step %q: %v", a, err)
		}
		if tr.Won {
			return tr, n
		}
	}
	tb.Fatalf("not solved in %d steps", limit)
	return harness.Transition{}, 0
}

func TestWinningPaysOnceAndFreezes(t *testing.T) {
	t.Parallel()
	suite, tasks := panel(t, alfworld.Config{})
	env, obs := start(t, suite, tasks[0])
	if obs.Task == "" || !strings.HasSuffix(obs.Text, "Your task is to: "+obs.Task) {
		t.Errorf("the instruction %q is not the end of %q", obs.Task, obs.Text)
	}
	won, _ := solve(t, env, 50)
	if won.Reward != 10 || won.Score != 1 || !won.Done || won.Feedback != won.Observation.Text {
		t.Errorf("the winning transition is %+v", won)
	}
	after, err := env.Step(t.Context(), "look")
	if err != nil {
		t.Fatal(err)
	}
	if after.Reward != 0 || !after.Won || !after.Done || after.Observation.Text != won.Observation.Text {
		t.Errorf("after the end a step gives %+v, want the last answer without reward", after)
	}
}

func TestPlayOnGoesOnAfterTheGoal(t *testing.T) {
	t.Parallel()
	suite, tasks := panel(t, alfworld.Config{PlayOn: true, Reward: 3})
	env, _ := start(t, suite, tasks[0])
	won, _ := solve(t, env, 50)
	if won.Reward != 3 {
		t.Errorf("the reward is %v, want 3", won.Reward)
	}
	after, err := env.Step(t.Context(), "inventory")
	if err != nil {
		t.Fatal(err)
	}
	if after.Reward != 0 || !after.Won || after.Observation.Text == won.Observation.Text {
		t.Errorf("after the goal a step gives %+v, want a new answer", after)
	}
}

func TestInadmissibleActionsAreExplained(t *testing.T) {
	t.Parallel()
	suite := reference(t, "2.1.2")
	env, _ := start(t, suite, harness.Task{ID: "valid_seen/pick_clean_then_place_in_recep-Lettuce-None-CounterTop-16/trial_T20190909_051630_092360"})
	for _, c := range []struct{ before, action, want string }{
		{"", "fly", "no action is worded like this"},
		{"", "put lettuce 1 in/on fridge 1", "no action is worded like this"},
		{"", "open drawer 1", "needs atLocation(agent1, the location of the drawer 1)"},
		{"", "open drawer 99", `there is no "drawer 99"`},
		{"go to fridge 1", "go to fridge 1", "it would change nothing"},
		{"", "open countertop 1", "the countertop 1 is not openable"},
		{"", "close fridge 1", "the fridge 1 is not opened"},
		{"open fridge 1", "open fridge 1", "the fridge 1 is opened"},
		{"", "heat apple 1 with microwave 1", "needs atLocation(agent1, the location of the microwave 1)"},
	} {
		if c.before != "" {
			if tr, err := env.Step(t.Context(), c.before); err != nil || tr.Privileged != "" {
				t.Fatalf("%q: got %+v, %v", c.before, tr, err)
			}
		}
		tr, err := env.Step(t.Context(), c.action)
		if err != nil {
			t.Fatal(err)
		}
		if tr.Feedback != "Nothing happens." || tr.Privileged != c.want {
			t.Errorf("%q: got %q, explained %q, want %q", c.action, tr.Feedback, tr.Privileged, c.want)
		}
	}
}

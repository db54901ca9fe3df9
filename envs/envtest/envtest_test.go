package envtest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envtest"
)

func TestFakePassesTheSuite(t *testing.T) {
	t.Parallel()
	open := func(testing.TB) harness.Env { return envtest.NewFake(envtest.FakeConfig{}) }
	envtest.RunWith(t, open, envtest.FakeTask(40), envtest.Options{UnknownTask: harness.Task{Env: envtest.FakeName, ID: "dance"}})
}

func TestFakeWithoutAdmissibleActionsPassesTheSuite(t *testing.T) {
	t.Parallel()
	open := func(testing.TB) harness.Env { return envtest.NewFake(envtest.FakeConfig{HideAdmissible: true}) }
	envtest.RunWith(t, open, envtest.FakeTask(40), envtest.Options{Actions: []string{"add one", "take one", "look", "sing"}})
}

func TestFakeCountsAndPays(t *testing.T) {
	t.Parallel()
	env := envtest.NewFake(envtest.FakeConfig{Reward: 10})
	if _, err := env.Reset(t.Context(), envtest.FakeTask(2)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		action, feedback string
		reward, score    float64
		won              bool
	}{
		{"take one", "Nothing happens.", 0, 0, false},
		{"add one", "The counter goes up.", 0, 0.5, false},
		{"take one", "The counter goes down.", 0, 0, false},
		{"sing", "Nothing happens.", 0, 0, false},
		{"add one", "The counter goes up.", 0, 0.5, false},
		{"add one", "The counter goes up.", 10, 1, true},
		{"add one", "The count is over.", 0, 1, true},
	} {
		tr, err := env.Step(t.Context(), step.action)
		if err != nil {
			t.Fatal(err)
		}
		if tr.Feedback != step.feedback || tr.Reward != step.reward || tr.Score != step.score || tr.Won != step.won || tr.Done != step.won {
			t.Errorf("%q: got %q reward %v score %v won %v, want %+v", step.action, tr.Feedback, tr.Reward, tr.Score, tr.Won, step)
		}
	}
	if _, err := env.Advise(t.Context()); err == nil {
		t.Error("advice after the end gives no error")
	}
}

func TestFakeSuiteCountsAndInjectsFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	suite := envtest.NewFakeSuite(envtest.FakeConfig{
		OnReset: func(_ context.Context, _ harness.Task, n int) error {
			if n == 1 {
				return broken
			}
			return nil
		},
		OnStep: func(_ context.Context, _ string, n int) error {
			if n == 2 {
				return broken
			}
			return nil
		},
		OnClose: func() error { return broken },
	}, 1, 5)
	tasks, err := suite.Tasks(t.Context(), "train")
	if err != nil || len(tasks) != 2 || tasks[0].Type != "short" || tasks[1].Type != "long" {
		t.Fatalf("got tasks %v, %v", tasks, err)
	}
	if none, _ := suite.Tasks(t.Context(), "valid"); len(none) != 0 {
		t.Errorf("split valid has tasks %v", none)
	}
	env, err := suite.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.Reset(t.Context(), tasks[0]); !errors.Is(err, broken) {
		t.Errorf("first reset: got %v", err)
	}
	if _, err := env.Reset(t.Context(), tasks[1]); err != nil {
		t.Errorf("second reset: got %v", err)
	}
	if _, err := env.Step(t.Context(), "look"); err != nil {
		t.Errorf("first step: got %v", err)
	}
	if _, err := env.Step(t.Context(), "look"); !errors.Is(err, broken) {
		t.Errorf("second step: got %v", err)
	}
	if err := env.Close(); !errors.Is(err, broken) {
		t.Errorf("close: got %v", err)
	}
	got := []int{suite.Resets(), suite.Steps(), suite.Opened(), suite.Closed()}
	for i, want := range []int{2, 2, 1, 1} {
		if got[i] != want {
			t.Errorf("counts are %v, want [2 2 1 1]", got)
			break
		}
	}
}

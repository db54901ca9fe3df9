package envtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

// Options adapts the suite to an environment.
type Options struct {
	// Actions are tried where an environment lists no admissible actions.
	Actions []string
	// Steps is how many actions the suite plays in one go; 0 means 12.
	Steps int
	// UnknownTask is a task that the environment must refuse; the zero value skips that check.
	UnknownTask harness.Task
	// Admissible reports whether a list of admissible actions has an action; nil means that it holds the
	// very text. Environments whose lists have blanks to fill need their own.
	Admissible func(list []string, action string) bool
}

// Run checks an environment against the contract of harness.Env, and of Snapshotter and Advisor where
// it has them. newEnv opens a fresh environment; the suite closes it.
func Run(t *testing.T, newEnv func(testing.TB) harness.Env, task harness.Task) {
	t.Helper()
	RunWith(t, newEnv, task, Options{})
}

// RunWith is Run with options.
func RunWith(t *testing.T, newEnv func(testing.TB) harness.Env, task harness.Task, opt Options) {
	t.Helper()
	if opt.Steps == 0 {
		opt.Steps = 12
	}
	if opt.Admissible == nil {
		opt.Admissible = slices.Contains[[]string]
	}
	s := &suite{newEnv: newEnv, task: task, opt: opt}
	t.Run("reset", s.reset)
	t.Run("order", s.order)
	t.Run("determinism", s.determinism)
	t.Run("strange actions", s.strange)
	t.Run("cancelled context", s.cancelled)
	t.Run("unknown task", s.unknown)
	t.Run("snapshot", s.snapshot)
	t.Run("advice", s.advice)
}

type suite struct {
	newEnv func(testing.TB) harness.Env
	task   harness.Task
	opt    Options
}

func (s *suite) open(t *testing.T) harness.Env {
	t.Helper()
	env := s.newEnv(t)
	t.Cleanup(func() {
		if err := env.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return env
}

func (s *suite) start(t *testing.T) (harness.Env, harness.Observation) {
	t.Helper()
	env := s.open(t)
	obs, err := env.Reset(t.Context(), s.task)
	if err != nil {
		t.Fatalf("reset: %v", err)
	}
	return env, obs
}

// reset: the first observation is usable, and the same again.
func (s *suite) reset(t *testing.T) {
	env, first := s.start(t)
	if first.Text == "" {
		t.Error("the first observation has no text")
	}
	checkObservation(t, first)
	if actions := s.actions(first); len(actions) > 0 {
		if _, err := env.Step(t.Context(), actions[0]); err != nil {
			t.Fatalf("step %q: %v", actions[0], err)
		}
	}
	again, err := env.Reset(t.Context(), s.task)
	if err != nil {
		t.Fatalf("second reset: %v", err)
	}
	if d := cmp.Diff(first, again); d != "" {
		t.Errorf("a second reset gives another observation (-first +second):\n%s", d)
	}
}

func checkObservation(t *testing.T, o harness.Observation) {
	t.Helper()
	if !utf8.ValidString(o.Text) {
		t.Errorf("the observation is not valid UTF-8: %q", o.Text)
	}
	seen := make(map[string]bool, len(o.Admissible))
	for _, a := range o.Admissible {
		if a == "" || seen[a] {
			t.Errorf("admissible action %q is empty or listed twice", a)
		}
		seen[a] = true
	}
}

// order: Step needs a Reset before it and no Close; Close may come twice.
func (s *suite) order(t *testing.T) {
	env := s.newEnv(t)
	if _, err := env.Step(t.Context(), "look"); err == nil {
		t.Error("a step before the first reset gives no error")
	}
	if _, err := env.Reset(t.Context(), s.task); err != nil {
		t.Fatalf("reset: %v", err)
	}
	for range 2 {
		if err := env.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if _, err := env.Step(t.Context(), "look"); err == nil {
		t.Error("a step after close gives no error")
	}
}

func (s *suite) actions(o harness.Observation) []string {
	if len(o.Admissible) > 0 {
		return o.Admissible
	}
	return s.opt.Actions
}

// play takes pseudo-random actions and records everything that comes back.
func (s *suite) play(t *testing.T, env harness.Env, obs harness.Observation, seed uint64) []harness.Transition {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []harness.Transition
	for range s.opt.Steps {
		actions := s.actions(obs)
		if len(actions) == 0 {
			return out
		}
		a := actions[rng.IntN(len(actions))]
		tr, err := env.Step(t.Context(), a)
		if err != nil {
			t.Fatalf("step %q: %v", a, err)
		}
		checkTransition(t, a, tr)
		out = append(out, tr)
		if obs = tr.Observation; tr.Done {
			break
		}
	}
	return out
}

func checkTransition(t *testing.T, action string, tr harness.Transition) {
	t.Helper()
	checkObservation(t, tr.Observation)
	if tr.Score < 0 || tr.Score > 1 {
		t.Errorf("after %q the score is %v, outside [0, 1]", action, tr.Score)
	}
	if tr.Won && tr.Score != 1 {
		t.Errorf("after %q the task is won with score %v", action, tr.Score)
	}
}

// determinism: the same actions give the same answers, in one environment and in two.
func (s *suite) determinism(t *testing.T) {
	env, obs := s.start(t)
	other, otherObs := s.start(t)
	for seed := range uint64(3) {
		if d := cmp.Diff(s.play(t, env, obs, seed), s.play(t, other, otherObs, seed)); d != "" {
			t.Fatalf("seed %d: two environments differ:\n%s", seed, d)
		}
		var err error
		if obs, err = env.Reset(t.Context(), s.task); err != nil {
			t.Fatalf("reset: %v", err)
		}
		if otherObs, err = other.Reset(t.Context(), s.task); err != nil {
			t.Fatalf("reset: %v", err)
		}
	}
}

// strange: whatever an agent says is an observation, never an error.
func (s *suite) strange(t *testing.T) {
	env, first := s.start(t)
	for _, a := range []string{
		"", " ", "\x00", "\xff\xfe\x80", "go to \xf0\x28\x8c\x28", "{}", "%s%n", "look\nlook", "\u202elook", "nonsense of no use",
		strings.Repeat("go to nowhere ", 50_000),
	} {
		tr, err := env.Step(t.Context(), a)
		if err != nil {
			t.Fatalf("action %.40q: %v", a, err)
		}
		checkTransition(t, a, tr)
		if tr.Done {
			t.Skipf("action %.40q ended the episode", a)
		}
	}
	s.play(t, env, first, 7)
}

// cancelled: a context that has ended is an error, and the environment lives on.
func (s *suite) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env, obs := s.start(t)
	if _, err := env.Step(ctx, "look"); !errors.Is(err, context.Canceled) {
		t.Errorf("step with a cancelled context: got %v, want context.Canceled", err)
	}
	if _, err := env.Reset(ctx, s.task); !errors.Is(err, context.Canceled) {
		t.Errorf("reset with a cancelled context: got %v, want context.Canceled", err)
	}
	again, err := env.Reset(t.Context(), s.task)
	if err != nil {
		t.Fatalf("reset after a cancelled one: %v", err)
	}
	if d := cmp.Diff(obs, again); d != "" {
		t.Errorf("reset after a cancelled one differs:\n%s", d)
	}
}

func (s *suite) unknown(t *testing.T) {
	if s.opt.UnknownTask.ID == "" {
		t.Skip("no unknown task given")
	}
	env := s.open(t)
	if _, err := env.Reset(t.Context(), s.opt.UnknownTask); err == nil {
		t.Errorf("reset of task %q gives no error", s.opt.UnknownTask.ID)
	}
}

// snapshot: from a restored state the future is the same, in this environment and in another.
func (s *suite) snapshot(t *testing.T) {
	env, obs := s.start(t)
	snapper, ok := env.(harness.Snapshotter)
	if !ok {
		t.Skip("the environment is no Snapshotter")
	}
	if trs := s.play(t, env, obs, 3); len(trs) > 0 {
		if last := trs[len(trs)-1]; last.Done {
			t.Skip("the episode ended early")
		}
		obs = trs[len(trs)-1].Observation
	}
	snap, err := snapper.Snapshot()
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	want := s.play(t, env, obs, 4)
	other, _ := s.start(t)
	for name, e := range map[string]harness.Snapshotter{"same environment": snapper, "another environment": other.(harness.Snapshotter)} {
		for range 2 {
			if err := e.Restore(snap); err != nil {
				t.Fatalf("%s: restore: %v", name, err)
			}
			if d := cmp.Diff(want, s.play(t, e, obs, 4)); d != "" {
				t.Fatalf("%s: the future after restore differs:\n%s", name, d)
			}
		}
	}
	if err := snapper.Restore(foreignSnapshot{}); err == nil {
		t.Error("restoring a snapshot of another environment gives no error")
	}
}

type foreignSnapshot struct{ harness.SnapshotBase }

// advice: the expert's actions are admissible, asking changes nothing, and following them wins.
func (s *suite) advice(t *testing.T) {
	env, obs := s.start(t)
	advisor, ok := env.(harness.Advisor)
	if !ok {
		t.Skip("the environment is no Advisor")
	}
	const limit = 200
	for range limit {
		a, err := advisor.Advise(t.Context())
		if err != nil {
			t.Fatalf("advise: %v", err)
		}
		if b, err := advisor.Advise(t.Context()); err != nil || a != b {
			t.Fatalf("asked again the expert says %q (%v), not %q", b, err, a)
		}
		if len(obs.Admissible) > 0 && !s.opt.Admissible(obs.Admissible, a) {
			t.Fatalf("the expert says %q, which is not admissible", a)
		}
		tr, err := env.Step(t.Context(), a)
		if err != nil {
			t.Fatalf("step %q: %v", a, err)
		}
		if obs = tr.Observation; tr.Done {
			if !tr.Won {
				t.Errorf("the expert's episode ended unsolved")
			}
			return
		}
	}
	t.Errorf("the expert did not finish within %d steps", limit)
}

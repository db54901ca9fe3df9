package agent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

func panelRefs(groups, samples int) []harness.EpisodeRef {
	var out []harness.EpisodeRef
	for g := range groups {
		for s := range samples {
			out = append(out, ref(g, s))
		}
	}
	return out
}

// noise is a policy whose answers are random, with a token column, and a server that fails now and then.
func noise(fail bool) Policy {
	random := Random()
	var calls atomic.Int64
	return PolicyFunc(func(ctx context.Context, t Turn) (Answer, error) {
		if fail && calls.Add(1)%5 == 0 {
			return Answer{}, harness.Fail(harness.FailServer, "generate", errors.New("503"))
		}
		a, err := random.Act(ctx, t)
		a.Tokens = &harness.Tokens{IDs: []int32{int32(t.CallSeed), t.Rand.Int32()}}
		return a, err
	})
}

// transcript is what a run left behind, without attempt ids and times.
func transcript(m *memory) map[string]any {
	out := map[string]any{}
	for name, k := range m.episodes {
		last := k.attempts[len(k.attempts)-1]
		out[name] = []any{k.outcome, last.steps}
	}
	return out
}

func sameEpisodes(t *testing.T, want, got *memory) {
	t.Helper()
	opt := cmpopts.IgnoreFields(harness.Step{}, "PolicyTime", "EnvTime")
	if diff := cmp.Diff(transcript(want), transcript(got), opt); diff != "" {
		t.Errorf("episodes differ:\n%s", diff)
	}
}

// The schedule and failures on the way never show in the episodes.
func TestOneWorkerAnd64GiveTheSameEpisodes(t *testing.T) {
	t.Parallel()
	refs := panelRefs(10, 8)
	run := func(workers int, fail bool) *memory {
		env := &corridor{}
		if fail {
			env.onStep = func(_ context.Context, n, step int) error { return failAt(n%7 == 0 && step == 3, errors.New("hung")) }
		}
		cfg, rec := quick(t, env, noise(fail))
		cfg.Workers, cfg.MaxSteps = workers, 12
		cfg.Retry = Retries{
			harness.FailEnv:    {Attempts: 100, Calls: 1},
			harness.FailServer: {Attempts: 100, Calls: 3},
		}
		stats, err := Run(t.Context(), t.Context(), refs, cfg)
		if err != nil || stats.Done != len(refs) || stats.Failed+stats.Left != 0 {
			t.Fatalf("stats %+v, %v", stats, err)
		}
		if fail && (stats.Failures[harness.FailEnv] == 0 || len(rec.calls) == 0) {
			t.Fatalf("nothing failed: %+v", stats)
		}
		if env.opened != env.closed {
			t.Errorf("%d environments opened, %d closed", env.opened, env.closed)
		}
		return rec
	}
	one := run(1, false)
	sameEpisodes(t, one, run(64, false))
	sameEpisodes(t, one, run(5, true))
	a, b := one.episodes[ref(3, 0).String()].attempts[0].steps, one.episodes[ref(3, 1).String()].attempts[0].steps
	if cmp.Equal(a, b) {
		t.Error("two samples of a task are the same episode")
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	env := &corridor{}
	cfg, rec := quick(t, env, mustExpert(t, 0))
	started, steps := 0, 0
	cfg.OnEvent = func(e Event) { // one at a time, so no lock
		switch e.Kind {
		case EventStarted:
			started++
		case EventStep:
			steps++
		case EventCall, EventAttempt, EventFailed, EventFinished, EventLeft:
		}
	}
	stats, err := Run(t.Context(), t.Context(), panelRefs(4, 2)[2:], cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{
		Episodes: 6, Done: 6, Won: 6, Attempts: 6, Steps: 12,
		Failures: map[harness.FailureKind]int{}, Stops: map[harness.StopReason]int{harness.StopWon: 6},
	}
	if diff := cmp.Diff(want, stats); diff != "" {
		t.Error(diff)
	}
	if started != 6 || steps != 12 || len(rec.episodes) != 6 {
		t.Errorf("%d started, %d steps, %d kept", started, steps, len(rec.episodes))
	}
}

func TestFailedEpisodesAreNoErrorOfTheRun(t *testing.T) {
	t.Parallel()
	env := &corridor{onReset: func(n int) error { return failAt(n <= 3, errors.New("hung")) }}
	cfg, _ := quick(t, env, mustExpert(t, 0))
	cfg.Workers = 1
	stats, err := Run(t.Context(), t.Context(), panelRefs(2, 1), cfg)
	if err != nil || stats.Failed != 1 || stats.Done != 1 || stats.Failures[harness.FailEnv] != 3 {
		t.Errorf("stats %+v, %v", stats, err)
	}
}

// A soft stop lets running episodes end and begins no other.
func TestSoftStop(t *testing.T) {
	t.Parallel()
	soft, stop := context.WithCancel(t.Context())
	env := &corridor{onStep: func(_ context.Context, _, step int) error {
		if step == 1 {
			stop()
		}
		return nil
	}}
	cfg, rec := quick(t, env, mustExpert(t, 0))
	cfg.Workers = 1
	refs := panelRefs(10, 1)[5:]
	stats, err := Run(soft, t.Context(), refs, cfg)
	if !errors.Is(err, ErrStopped) || errext.Hint(err) == "" || stats.Done != 1 || stats.Left != 4 {
		t.Fatalf("stats %+v, %v", stats, err)
	}
	if len(rec.episodes) != 1 {
		t.Errorf("%d episodes begun", len(rec.episodes))
	}
}

// A soft stop between two attempts leaves the episode to a later run.
func TestSoftStopDuringBackoff(t *testing.T) {
	t.Parallel()
	soft, stop := context.WithCancel(t.Context())
	cfg, rec := quick(t, &corridor{onReset: until(99, errors.New("hung"))}, mustExpert(t, 0))
	cfg.Sleep = func(ctx context.Context, _ time.Duration) error {
		stop()
		<-ctx.Done()
		return ctx.Err()
	}
	_, err := RunEpisode(soft, t.Context(), ref(1, 0), cfg)
	k := rec.of(t, ref(1, 0))
	if !errors.Is(err, ErrStopped) || len(k.attempts) != 1 || k.failed != nil || k.attempts[0].open {
		t.Errorf("%v, %+v", err, k)
	}
}

// A hard stop interrupts at once and leaves attempts open; the next run goes on from their steps and
// gives the episodes of an undisturbed run.
func TestHardStopAndResume(t *testing.T) {
	t.Parallel()
	refs := panelRefs(6, 3)
	undisturbed, want := quick(t, &corridor{}, noise(false))
	undisturbed.MaxSteps = 9
	if _, err := Run(t.Context(), t.Context(), refs, undisturbed); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{0, 1, 7, 40, 100} {
		hard, stop := context.WithCancel(t.Context())
		var steps atomic.Int64
		env := &corridor{onStep: func(ctx context.Context, _, _ int) error {
			if steps.Add(1) > after {
				stop()
				return ctx.Err() // as an engine that watches its context
			}
			return nil
		}}
		cfg, rec := quick(t, env, noise(false))
		cfg.MaxSteps, cfg.Workers = 9, 4
		stats, err := Run(t.Context(), hard, refs, cfg)
		if !errors.Is(err, ErrStopped) || stats.Left == 0 || stats.Failed != 0 || len(stats.Failures) != 0 {
			t.Fatalf("after %d steps: %+v, %v", after, stats, err)
		}
		var rest []harness.EpisodeRef
		for _, r := range refs {
			if k := rec.episodes[r.String()]; k == nil || k.outcome == nil {
				rest = append(rest, r)
			}
		}
		env.onStep = nil
		more, err := Run(t.Context(), t.Context(), rest, cfg)
		if err != nil || more.Done != len(rest) || more.Failed != 0 {
			t.Fatalf("resumed after %d steps: %+v, %v", after, more, err)
		}
		sameEpisodes(t, want, rec)
		for name, k := range rec.episodes {
			if len(k.attempts) != 1 {
				t.Errorf("after %d steps: episode %s took %d attempts", after, name, len(k.attempts))
			}
		}
	}
}

func TestBrokenRecorderEndsTheRun(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	cfg, rec := quick(t, &corridor{}, mustExpert(t, 0))
	rec.broken = full
	cfg.Workers = 2
	stats, err := Run(t.Context(), t.Context(), panelRefs(9, 9), cfg)
	if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "episode ") || stats.Failed != 0 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	for name, k := range rec.episodes {
		if k.failed != nil || len(k.attempts) != 1 || !k.attempts[0].open {
			t.Errorf("episode %s: %+v", name, k)
		}
	}
}

func TestRunRefusesWhatCannotRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*Config, *harness.EpisodeRef)
		want string
		hint string
	}{
		{"no suites", func(c *Config, _ *harness.EpisodeRef) { c.Suites = nil }, "agent config: no environment suites", ""},
		{"no policy", func(c *Config, _ *harness.EpisodeRef) { c.Policy = nil }, "agent config: no policy", ""},
		{"no recorder", func(c *Config, _ *harness.EpisodeRef) { c.Recorder = nil }, "agent config: no recorder", ""},
		{"workers", func(c *Config, _ *harness.EpisodeRef) { c.Workers = -1 }, "agent config: workers -1, maximum steps 0 or response bytes 16777216 is negative", ""},
		{"history", func(c *Config, _ *harness.EpisodeRef) { c.History = -2 }, "agent config: history of -2 steps", ""},
		{"budget", func(c *Config, _ *harness.EpisodeRef) { c.Budget.Tokens = -2 }, "agent config: budget of -2 tokens or 0s is negative", ""},
		{"clock", func(c *Config, _ *harness.EpisodeRef) { c.Budget.Time, c.Now = 1, nil }, "agent config: a time budget needs a clock", ""},
		{"retry", func(c *Config, _ *harness.EpisodeRef) { c.Retry = Retries{harness.FailEnv: {}} }, "agent config: retry of environment failures: attempts 0 and calls 0 must be at least 1, waits 0s ≤ 0s and not negative", ""},
		{"task", func(_ *Config, r *harness.EpisodeRef) { r.Task.ID = "" }, `task of "corridor": no id`, ""},
		{"suite", func(_ *Config, r *harness.EpisodeRef) { r.Task.Env = "coridor" }, `task coridor/task-1: no suite for environment "coridor"`, `the nearest of ["corridor"] is "corridor"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, rec := quick(t, &corridor{}, Random())
			r := ref(1, 0)
			c.edit(&cfg, &r)
			_, err := Run(t.Context(), t.Context(), []harness.EpisodeRef{r}, cfg)
			if err == nil || err.Error() != c.want || errext.Hint(err) != c.hint {
				t.Errorf("error %v (hint %q), want %s", err, errext.Hint(err), c.want)
			}
			if _, one := RunEpisode(t.Context(), t.Context(), r, cfg); c.name != "task" && (one == nil || one.Error() != c.want) {
				t.Errorf("one episode: %v", one)
			}
			if len(rec.episodes) != 0 && c.name != "task" {
				t.Error("an episode began")
			}
		})
	}
}

// Without a clock the times are 0 and all else is the same.
func TestNoClock(t *testing.T) {
	t.Parallel()
	cfg, rec := quick(t, &corridor{}, mustExpert(t, 0))
	cfg.Now, cfg.Sleep = nil, nil
	o, err := runOne(t, ref(2, 0), cfg)
	if err != nil || !o.Won {
		t.Fatal(o, err)
	}
	for _, s := range rec.of(t, ref(2, 0)).attempts[0].steps {
		if s.PolicyTime != 0 || s.EnvTime != 0 {
			t.Errorf("step %d: times %v and %v", s.Index, s.PolicyTime, s.EnvTime)
		}
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	if err := sleep(t.Context(), 1); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sleep(ctx, 1<<60); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// asked is a corridor that wants to know what comes next.
type asked struct {
	corridor
	mu    sync.Mutex
	tasks []string
}

func (a *asked) Prepare(task harness.Task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tasks = append(a.tasks, task.ID)
}

// TestSuitesAreToldWhatComesNext: of every episode, in order, once.
func TestSuitesAreToldWhatComesNext(t *testing.T) {
	t.Parallel()
	env := &asked{}
	cfg, _ := quick(t, &env.corridor, mustExpert(t, 0))
	cfg.Suites = map[string]harness.Suite{"corridor": env}
	cfg.Workers = 2
	refs := panelRefs(3, 2)
	if _, err := Run(t.Context(), t.Context(), refs, cfg); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range refs {
		want = append(want, r.Task.ID)
	}
	if diff := cmp.Diff(want, env.tasks); diff != "" {
		t.Error(diff)
	}
}

// TestPreparedEpisodesFindTheirs: also in a group of one task, what is prepared for those that wait is not taken by
// those that begin at once: as many are told of before an episode begins as have begun.
func TestPreparedEpisodesFindTheirs(t *testing.T) {
	t.Parallel()
	const workers = 3
	env := &asked{}
	cfg, _ := quick(t, &env.corridor, mustExpert(t, 0))
	cfg.Suites = map[string]harness.Suite{"corridor": env}
	cfg.Workers = workers
	begun := 0
	cfg.OnEvent = func(e Event) {
		if e.Kind != EventStarted {
			return
		}
		begun++
		env.mu.Lock()
		defer env.mu.Unlock()
		if told := len(env.tasks); told < begun || told > begun+2*workers {
			t.Errorf("%d episodes have begun and %d were told of", begun, told)
		}
	}
	if _, err := Run(t.Context(), t.Context(), panelRefs(1, 12), cfg); err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsPreparedAfterAStop: of episodes that do not begin any more a suite is told nothing.
func TestNothingIsPreparedAfterAStop(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"soft", "hard"} {
		env := &asked{}
		cfg, _ := quick(t, &env.corridor, mustExpert(t, 0))
		cfg.Suites = map[string]harness.Suite{"corridor": env}
		cfg.Workers = 1
		soft, stopSoft := context.WithCancel(t.Context())
		hard, stopHard := context.WithCancel(t.Context())
		stop := map[string]func(){"soft": stopSoft, "hard": stopHard}[which]
		cfg.OnEvent = func(e Event) {
			if e.Kind == EventStarted {
				stop()
			}
		}
		refs := panelRefs(10, 2)
		stats, err := Run(soft, hard, refs, cfg)
		stopSoft()
		stopHard()
		if !errors.Is(err, ErrStopped) || stats.Attempts != 1 {
			t.Fatalf("%s stop: %+v, %v", which, stats, err)
		}
		if len(env.tasks) > 2 { // the one that began and the one that would have been next
			t.Errorf("%s stop: %d episodes that did not begin were prepared", which, len(env.tasks))
		}
	}
}

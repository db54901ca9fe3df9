package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// judged is a corridor whose environment has the last word.
type judged struct {
	corridor
	ending   harness.Ending
	err      error
	finishes int
}

func (j *judged) NewEnv(ctx context.Context) (harness.Env, error) {
	env, err := j.corridor.NewEnv(ctx)
	if err != nil {
		return nil, err
	}
	return &judgedWalk{env.(*walk), j}, nil
}

type judgedWalk struct {
	*walk
	suite *judged
}

func (w *judgedWalk) Finish(ctx context.Context) (harness.Ending, error) {
	w.suite.finishes++
	if w.isClosed {
		return harness.Ending{}, errors.New("finish after close")
	}
	return w.suite.ending, errors.Join(w.suite.err, ctx.Err())
}

// keeping is a memory that keeps artifacts.
type keeping struct {
	*memory
	artifacts []harness.Artifact
}

func (k *keeping) Artifact(_ context.Context, _ int64, a harness.Artifact) error {
	k.artifacts = append(k.artifacts, a)
	return nil
}

func judgedConfig(t *testing.T, env *judged, p Policy) (Config, *keeping) {
	t.Helper()
	cfg, rec := quick(t, &env.corridor, p)
	cfg.Suites = map[string]harness.Suite{"corridor": env}
	k := &keeping{memory: rec}
	cfg.Recorder = k
	return cfg, k
}

var patched = harness.Ending{
	Reward: 1, Score: 1, Won: true, Feedback: "3 tests pass", Privileged: "the log",
	Artifacts: []harness.Artifact{{Name: "patch.diff", Content: "diff\n"}},
}

func TestEndingJoinsTheLastStepWhateverEndedTheEpisode(t *testing.T) {
	t.Parallel()
	full := PolicyFunc(func(_ context.Context, turn Turn) (Answer, error) {
		if turn.Step == 3 {
			return Answer{}, llm.ErrContextLength
		}
		return Answer{Response: right}, nil
	})
	for name, c := range map[string]struct {
		policy Policy
		set    func(*Config)
		stop   harness.StopReason
	}{
		"steps":    {mustExpert(t, 0), func(c *Config) { c.MaxSteps = 3 }, harness.StopMaxSteps},
		"finished": {Fixed(right, right, right), func(*Config) {}, harness.StopFinished},
		"context":  {full, func(*Config) {}, harness.StopContext},
		"time":     {mustExpert(t, 0), func(c *Config) { c.Budget.Time = 13 * time.Millisecond }, harness.StopBudget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := &judged{ending: patched}
			cfg, rec := judgedConfig(t, env, c.policy)
			c.set(&cfg)
			if _, err := runOne(t, ref(9, 0), cfg); err != nil {
				t.Fatal(err)
			}
			k := rec.of(t, ref(9, 0))
			steps := k.attempts[0].steps
			last := steps[len(steps)-1]
			if k.outcome == nil || k.outcome.Stop != c.stop || !k.outcome.Won || k.outcome.Score != 1 || k.outcome.Steps != len(steps) {
				t.Fatalf("outcome %+v after %d steps", k.outcome, len(steps))
			}
			if last.Reward != 1.25 || last.Score != 1 || !last.Won || last.Feedback != "You go right.\n\n3 tests pass" || last.Privileged != "the log" {
				t.Errorf("last step %+v", last)
			}
			if want := 0.25*float64(len(steps)) + 1; k.outcome.Reward != want {
				t.Errorf("reward %v, want %v", k.outcome.Reward, want)
			}
			if d := cmp.Diff(patched.Artifacts, rec.artifacts); d != "" || env.finishes != 1 {
				t.Errorf("artifacts after %d endings (-want +got):\n%s", env.finishes, d)
			}
		})
	}
}

func TestEndingWithoutAStep(t *testing.T) {
	t.Parallel()
	env := &judged{ending: harness.Ending{Artifacts: []harness.Artifact{{Name: "patch.diff"}}}}
	cfg, rec := judgedConfig(t, env, Fixed())
	if _, err := runOne(t, ref(9, 0), cfg); err != nil {
		t.Fatal(err)
	}
	if k := rec.of(t, ref(9, 0)); k.outcome == nil || k.outcome.Steps != 0 || len(rec.artifacts) != 1 {
		t.Errorf("outcome %+v, artifacts %v", k.outcome, rec.artifacts)
	}
}

func TestEndingThatBreaksFailsTheAttemptAndKeepsItsSteps(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]*judged{
		"error":           {err: errors.New("the container died")},
		"score of 2":      {ending: harness.Ending{Score: 2}},
		"nobody keeps it": {ending: patched},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, rec := judgedConfig(t, env, Fixed(right, right))
			if name == "nobody keeps it" {
				cfg.Recorder = rec.memory
				if _, err := runOne(t, ref(9, 0), cfg); !errors.Is(err, errNoArtifacts) {
					t.Errorf("got %v", err)
				}
				return
			}
			if _, err := runOne(t, ref(9, 0), cfg); harness.KindOf(err) != harness.FailEnv {
				t.Fatal(err)
			}
			k := rec.of(t, ref(9, 0))
			if k.failed == nil || k.failed.Kind != harness.FailEnv || k.outcome != nil || len(k.attempts) != 3 {
				t.Fatalf("failure %v, outcome %v, %d attempts", k.failed, k.outcome, len(k.attempts))
			}
			for i, a := range k.attempts {
				if len(a.steps) != 2 || a.steps[1].Reward != 0.25 {
					t.Errorf("attempt %d keeps %+v", i, a.steps)
				}
			}
		})
	}
}

// A stopped run has not recorded the latest step: it is taken again, and may be the last one.
func TestEndingAfterAResumption(t *testing.T) {
	t.Parallel()
	stop := func(n int) Policy {
		return PolicyFunc(func(ctx context.Context, turn Turn) (Answer, error) {
			if turn.Step == n {
				return Answer{Finished: true}, nil
			}
			return Answer{Response: right}, ctx.Err()
		})
	}
	want := &judged{ending: patched}
	cfg, whole := judgedConfig(t, want, stop(4))
	if _, err := runOne(t, ref(9, 0), cfg); err != nil {
		t.Fatal(err)
	}
	env := &judged{ending: patched}
	cfg, rec := judgedConfig(t, env, stop(4))
	ctx, cancel := context.WithCancel(t.Context())
	cfg.OnEvent = func(e Event) {
		if e.Kind == EventStep && e.Steps == 3 {
			cancel()
		}
	}
	if _, err := Run(ctx, ctx, []harness.EpisodeRef{ref(9, 0)}, cfg); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if n := len(rec.of(t, ref(9, 0)).attempts[0].steps); n != 2 {
		t.Fatalf("the stopped run recorded %d steps, want 2", n)
	}
	cfg.OnEvent = nil
	if _, err := runOne(t, ref(9, 0), cfg); err != nil {
		t.Fatal(err)
	}
	sameEpisodes(t, whole.memory, rec.memory)
	// A resumed episode that ends at once has no step that could carry the reward: it starts over.
	late := newMemory()
	id, _, err := late.Begin(t.Context(), ref(9, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range rec.of(t, ref(9, 0)).attempts[0].steps[:2] {
		if err := late.Step(t.Context(), id, s); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Policy, cfg.Recorder = stop(2), &keeping{memory: late}
	if _, err := runOne(t, ref(9, 0), cfg); err != nil {
		t.Fatal(err)
	}
	if k := late.of(t, ref(9, 0)); len(k.attempts) != 2 || k.outcome == nil || !strings.Contains(k.attempts[0].failure.Error(), "without a step") {
		t.Errorf("%d attempts, outcome %+v", len(k.attempts), k.outcome)
	}
}

func TestReplayComparesTheEndingToo(t *testing.T) {
	t.Parallel()
	env := &judged{ending: patched}
	cfg, rec := judgedConfig(t, env, Fixed(right, right))
	if _, err := runOne(t, ref(9, 0), cfg); err != nil {
		t.Fatal(err)
	}
	replay := func() Diff {
		e, err := env.NewEnv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d, err := Replay(t.Context(), e, ref(9, 0).Task, rec.of(t, ref(9, 0)).attempts[0].steps)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := replay(); !d.Equal() {
		t.Error(d)
	}
	env.ending.Reward = 0
	if d := replay(); d.Field != "reward" {
		t.Errorf("another reward: %v", d)
	}
}

func TestFormatsMayConverse(t *testing.T) {
	t.Parallel()
	cfg, rec := quick(t, &corridor{}, Fixed(right, right))
	f := DefaultFormats()
	g := f["generic"]
	g.Conversation = true
	f["corridor"] = g
	cfg.Formats = f
	if _, err := runOne(t, ref(9, 0), cfg); err != nil {
		t.Fatal(err)
	}
	steps := rec.of(t, ref(9, 0)).attempts[0].steps
	if n := len(steps[1].NextPrompt); n != 5 {
		t.Errorf("after two steps the conversation has %d messages, want 5", n)
	}
}

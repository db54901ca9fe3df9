package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

func runOne(t *testing.T, r harness.EpisodeRef, cfg Config) (harness.Outcome, error) {
	t.Helper()
	return RunEpisode(t.Context(), t.Context(), r, cfg)
}

func TestRunEpisodeRecordsEveryStep(t *testing.T) {
	t.Parallel()
	env := &corridor{}
	cfg, rec := quick(t, env, Fixed(
		"<think>a</think><action>LEFT</action>",
		"nonsense",
		right, right, // the second is never asked for
	))
	o, err := runOne(t, ref(1, 0), cfg)
	if err != nil {
		t.Fatal(err)
	}
	kept := rec.of(t, ref(1, 0))
	steps := kept.attempts[0].steps
	// The generic format keeps case, so LEFT is no command; neither is the nonsense. The third wins.
	want := harness.Outcome{Stop: harness.StopWon, Won: true, Reward: 10.5, Score: 1, Steps: 3, Invalid: 1}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&want, kept.outcome); diff != "" {
		t.Error(diff)
	}
	if len(steps) != 3 {
		t.Fatalf("%d steps recorded", len(steps))
	}
	for i, s := range steps {
		if i > 0 && !cmp.Equal(s.Prompt, steps[i-1].NextPrompt) {
			t.Errorf("step %d: its prompt is not the one that the step before announced", i)
		}
		if s.PolicyTime <= 0 || s.EnvTime <= 0 || len(s.NextPrompt) != 1 || s.Anchor != "You are at 0." {
			t.Errorf("step %d: %+v", i, s)
		}
	}
	s := steps[0]
	if s.Action != "LEFT" || !s.Valid || s.Response[s.Spans[0].Start:s.Spans[0].End] != "LEFT" || s.Feedback != "Nothing happens." || s.Index != 0 {
		t.Errorf("first step: %+v", s)
	}
	if s := steps[1]; s.Action != "" || s.Valid || s.Spans != nil || s.Response != "nonsense" {
		t.Errorf("second step: %+v", s)
	}
	if env.opened != 1 || env.closed != 1 {
		t.Errorf("%d environments opened, %d closed", env.opened, env.closed)
	}
}

// Every response is recorded byte for byte, and its step goes on.
func TestOddResponsesAreInvalidActions(t *testing.T) {
	t.Parallel()
	odd := []string{"", strings.Repeat("x", 10<<20), "\xff\xfe<action>right", "<think>a</think><act", "<think>a</think><action>r\xffght</action>"}
	cfg, rec := quick(t, &corridor{}, Fixed(odd...))
	o, err := runOne(t, ref(9, 0), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if o.Steps != len(odd) || o.Invalid != len(odd) || o.Stop != harness.StopFinished {
		t.Errorf("outcome %+v", o)
	}
	for i, s := range rec.of(t, ref(9, 0)).attempts[0].steps {
		if s.Response != odd[i] || s.Valid {
			t.Errorf("step %d: response of %d bytes, valid %v", i, len(s.Response), s.Valid)
		}
	}
}

// A first prompt that does not fit is no outcome: nothing was played that a reward could be for.
func TestFirstPromptThatNeverFitsFails(t *testing.T) {
	t.Parallel()
	full := PolicyFunc(func(context.Context, Turn) (Answer, error) {
		return Answer{}, harness.FailFinal(harness.FailServer, "generate", fmt.Errorf("3000 tokens: %w", llm.ErrContextLength))
	})
	cfg, rec := quick(t, &corridor{}, full)
	var failures []*harness.Failure
	cfg.OnEvent = func(e Event) {
		if e.Kind == EventFailed {
			failures = append(failures, e.Failure)
		}
	}
	if o, err := runOne(t, ref(9, 0), cfg); err == nil {
		t.Fatalf("outcome %+v", o)
	}
	if n := len(rec.of(t, ref(9, 0)).attempts); n != 1 || len(failures) != 1 {
		t.Fatalf("%d attempts, failures %v", n, failures)
	}
	f := failures[0]
	if f.Kind != harness.FailAgent || !errors.Is(f, llm.ErrContextLength) || !strings.Contains(errext.Hint(f), "--templates compact") {
		t.Errorf("failure %v (hint %q)", f, errext.Hint(f))
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	forever := PolicyFunc(func(context.Context, Turn) (Answer, error) {
		return Answer{Response: "<think>a</think><action>wait</action>", Tokens: &harness.Tokens{IDs: []int32{1, 2, 3}}}, nil
	})
	texts := PolicyFunc(func(context.Context, Turn) (Answer, error) {
		return Answer{Response: "x", Usage: llm.Usage{CompletionTokens: 4}}, nil
	})
	full := PolicyFunc(func(_ context.Context, turn Turn) (Answer, error) {
		if turn.Step == 2 {
			return Answer{}, harness.FailFinal(harness.FailServer, "generate", fmt.Errorf("3000 tokens: %w", llm.ErrContextLength))
		}
		return Answer{Response: "x"}, nil
	})
	for _, c := range []struct {
		name   string
		policy Policy
		edit   func(*Config, *corridor)
		stop   harness.StopReason
		steps  int
	}{
		{"the format's limit", forever, func(*Config, *corridor) {}, harness.StopMaxSteps, 30},
		{"the configured limit", forever, func(c *Config, _ *corridor) { c.MaxSteps = 4 }, harness.StopMaxSteps, 4},
		{"tokens", forever, func(c *Config, _ *corridor) { c.Budget.Tokens = 7 }, harness.StopBudget, 3},
		{"tokens by usage", texts, func(c *Config, _ *corridor) { c.Budget.Tokens = 8 }, harness.StopBudget, 2},
		{"context", full, func(*Config, *corridor) {}, harness.StopContext, 2},
		{"done unsolved", forever, func(_ *Config, e *corridor) {
			e.change = func(_, step int, tr *harness.Transition) { tr.Done = step == 1 }
		}, harness.StopDone, 2},
		{"finished at once", Fixed(), func(*Config, *corridor) {}, harness.StopFinished, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := &corridor{}
			cfg, rec := quick(t, env, c.policy)
			c.edit(&cfg, env)
			o, err := runOne(t, ref(9, 0), cfg)
			if err != nil || o.Stop != c.stop || o.Steps != c.steps || o.Won {
				t.Errorf("outcome %+v, %v, want %s after %d steps", o, err, c.stop, c.steps)
			}
			if n := len(rec.of(t, ref(9, 0)).attempts[0].steps); n != c.steps {
				t.Errorf("%d steps recorded", n)
			}
		})
	}
}

func TestTimeBudget(t *testing.T) {
	t.Parallel()
	waits := Fixed(strings.Split(strings.Repeat("x\n", 100), "\n")...)
	t.Run("between steps", func(t *testing.T) {
		t.Parallel()
		cfg, _ := quick(t, &corridor{}, waits)
		cfg.Budget.Time = 40e6 // 40 looks at the clock
		o, err := runOne(t, ref(9, 0), cfg)
		if err != nil || o.Stop != harness.StopBudget || o.Steps < 1 || o.Steps > 20 {
			t.Errorf("outcome %+v, %v", o, err)
		}
	})
	t.Run("in flight", func(t *testing.T) {
		t.Parallel()
		blocked := PolicyFunc(func(ctx context.Context, turn Turn) (Answer, error) {
			if turn.Step == 1 {
				<-ctx.Done() // until the budget ends it
				return Answer{}, ctx.Err()
			}
			return Answer{Response: "x"}, nil
		})
		cfg, rec := quick(t, &corridor{}, blocked)
		cfg.Budget.Time = 20e6
		o, err := runOne(t, ref(9, 0), cfg)
		if err != nil || o.Stop != harness.StopBudget || o.Steps != 1 {
			t.Errorf("outcome %+v, %v", o, err)
		}
		if k := rec.of(t, ref(9, 0)); k.failed != nil || len(k.attempts) != 1 {
			t.Errorf("kept %+v", k)
		}
	})
}

func TestEnvironmentFailuresStartOver(t *testing.T) {
	t.Parallel()
	broken := errors.New("the engine hung")
	for name, edit := range map[string]func(*corridor){
		"opening": func(e *corridor) { e.onEnv = until(3, broken) },
		"reset":   func(e *corridor) { e.onReset = until(3, broken) },
		"step": func(e *corridor) {
			e.onStep = func(_ context.Context, n, step int) error { return failAt(n < 3 && step == 1, broken) }
		},
		"panic":           func(e *corridor) { e.onReset = func(n int) error { return mustNot(n < 3) } },
		"infinite reward": func(e *corridor) { e.change = spoil(func(tr *harness.Transition) { tr.Reward /= tr.Score }) },
		"bad score":       func(e *corridor) { e.change = spoil(func(tr *harness.Transition) { tr.Score = 1.5 }) },
		"own type":        func(e *corridor) { e.onReset = until(3, harness.Fail(harness.FailEnv, "load", broken)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := &corridor{}
			edit(env)
			cfg, rec := quick(t, env, mustExpert(t, 0))
			o, err := runOne(t, ref(2, 0), cfg)
			if err != nil || !o.Won || o.Steps != 2 {
				t.Fatalf("outcome %+v, %v", o, err)
			}
			k := rec.of(t, ref(2, 0))
			if len(k.attempts) != 3 || k.failed != nil {
				t.Fatalf("%d attempts, failed %v", len(k.attempts), k.failed)
			}
			for _, a := range k.attempts[:2] {
				if a.failure == nil || a.failure.Kind != harness.FailEnv || a.open {
					t.Errorf("attempt %d: %v", a.id, a.failure)
				}
			}
			if env.closed != env.opened && name != "opening" {
				t.Errorf("%d environments opened, %d closed", env.opened, env.closed)
			}
		})
	}
}

func until(n int, err error) func(int) error {
	return func(i int) error { return failAt(i < n, err) }
}

func failAt(now bool, err error) error {
	if now {
		return err
	}
	return nil
}

func mustNot(now bool) error {
	if now {
		panic("index out of range")
	}
	return nil
}

func spoil(f func(*harness.Transition)) func(n, step int, tr *harness.Transition) {
	return func(n, _ int, tr *harness.Transition) {
		if n < 3 {
			tr.Score = 0
			f(tr)
		}
	}
}

func TestAttemptsRunOut(t *testing.T) {
	t.Parallel()
	broken := errors.New("the engine hung")
	cfg, rec := quick(t, &corridor{onReset: until(99, broken)}, mustExpert(t, 0))
	_, err := runOne(t, ref(2, 0), cfg)
	if !errors.Is(err, broken) || harness.KindOf(err) != harness.FailEnv {
		t.Errorf("error %v", err)
	}
	k := rec.of(t, ref(2, 0))
	if len(k.attempts) != 3 || k.failed == nil || k.outcome != nil {
		t.Errorf("%d attempts, failed %v, outcome %v", len(k.attempts), k.failed, k.outcome)
	}
}

func TestServerFailuresRepeatTheCall(t *testing.T) {
	t.Parallel()
	down := harness.Fail(harness.FailServer, "generate", errors.New("503"))
	calls := 0
	var draws []uint64
	flaky := PolicyFunc(func(_ context.Context, turn Turn) (Answer, error) {
		calls++
		draws = append(draws, turn.Rand.Uint64())
		if calls < 4 {
			return Answer{}, down
		}
		return Answer{Response: right}, nil
	})
	cfg, rec := quick(t, &corridor{}, flaky)
	var events []EventKind
	cfg.OnEvent = func(e Event) { events = append(events, e.Kind) }
	o, err := runOne(t, ref(1, 0), cfg)
	if err != nil || !o.Won {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	if diff := cmp.Diff([]string{"1.0.1 model_server", "1.0.2 model_server", "1.0.3 model_server"}, rec.calls); diff != "" {
		t.Error(diff)
	}
	if draws[0] != draws[3] {
		t.Error("a repeated call drew other random numbers")
	}
	want := []EventKind{EventStarted, EventCall, EventCall, EventCall, EventStep, EventFinished}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
}

func TestServerFailuresEndAttemptsThenTheEpisode(t *testing.T) {
	t.Parallel()
	calls := 0
	down := PolicyFunc(func(context.Context, Turn) (Answer, error) {
		calls++
		return Answer{}, harness.Fail(harness.FailServer, "generate", errors.New("503"))
	})
	cfg, rec := quick(t, &corridor{}, down)
	retry := DefaultRetries()[harness.FailServer]
	_, err := runOne(t, ref(1, 0), cfg)
	if harness.KindOf(err) != harness.FailServer || calls != retry.Attempts*retry.Calls || len(rec.calls) != retry.Attempts*(retry.Calls-1) {
		t.Errorf("error %v after %d calls, %d noted", err, calls, len(rec.calls))
	}
	if k := rec.of(t, ref(1, 0)); len(k.attempts) != 2 || k.failed == nil || k.outcome != nil {
		t.Errorf("kept %+v", k)
	}
}

func TestFinalFailures(t *testing.T) {
	t.Parallel()
	fails := func(err error) Policy {
		return PolicyFunc(func(context.Context, Turn) (Answer, error) { return Answer{}, err })
	}
	for _, c := range []struct {
		name   string
		policy Policy
		edit   func(*Config)
		kind   harness.FailureKind
		text   string
		hint   string
	}{
		{"server refuses", fails(harness.FailFinal(harness.FailServer, "generate", errors.New("404"))), nil, harness.FailServer, "404", ""},
		{"agent", fails(harness.Fail(harness.FailAgent, "x", errors.New("bad"))), nil, harness.FailAgent, "bad", ""},
		{"budget", fails(harness.Fail(harness.FailBudget, "x", errors.New("no money"))), nil, harness.FailBudget, "no money", ""},
		{"untyped", fails(errors.New("oops")), nil, harness.FailHarness, "oops", ""},
		{"panic", PolicyFunc(func(context.Context, Turn) (Answer, error) { panic("bug") }), nil, harness.FailHarness, "panic: bug\n", ""},
		{"no template", Random(), func(c *Config) {
			c.Formats = Formats{genericFormat: func() Format { f := plainFormat; f.First = "agent_none"; return f }()}
		}, harness.FailAgent, `no prompt template "agent_none"`, ""},
		{"too long", Fixed("12345"), func(c *Config) { c.MaxResponseBytes = 4 }, harness.FailBudget, "5 bytes", "limit the response tokens, or raise the bound"},
		{"wrong columns", PolicyFunc(func(context.Context, Turn) (Answer, error) {
			return Answer{Response: right, Tokens: &harness.Tokens{IDs: []int32{1}, Logprobs: []float32{1, 2}}}, nil
		}), nil, harness.FailHarness, "logprobs has 2 values for 1 ids", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, rec := quick(t, &corridor{}, c.policy)
			if c.edit != nil {
				c.edit(&cfg)
			}
			_, err := runOne(t, ref(1, 0), cfg)
			if err == nil || harness.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) || errext.Hint(err) != c.hint {
				t.Errorf("error %v (hint %q)", err, errext.Hint(err))
			}
			if k := rec.of(t, ref(1, 0)); len(k.attempts) != 1 || k.failed == nil || k.failed.Kind != c.kind || k.outcome != nil {
				t.Errorf("kept %+v", k)
			}
		})
	}
}

func TestPanickingExpertIsTheEnvironments(t *testing.T) {
	t.Parallel()
	g := guardedAdvisor{advisorFunc(func() (string, error) { panic("no plan") })}
	_, err := g.Advise(t.Context())
	if harness.KindOf(err) != harness.FailEnv || !strings.Contains(err.Error(), "no plan") || !strings.Contains(err.Error(), "goroutine") {
		t.Errorf("error %v", err)
	}
}

type advisorFunc func() (string, error)

func (f advisorFunc) Advise(context.Context) (string, error) { return f() }

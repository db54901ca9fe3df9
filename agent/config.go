package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/templatefile"
)

// Defaults of Config.
const (
	DefaultWorkers          = 8
	DefaultMaxResponseBytes = 16 << 20
	NoHistory               = -1
)

// Config says how episodes run. Suites, Policy and Recorder are required; the zero value of every
// other field is usable.
type Config struct {
	RunSeed  int64                    // all randomness derives from it, the task and the sample
	Suites   map[string]harness.Suite // by the environment name that tasks carry
	Policy   Policy
	Recorder Recorder

	Templates *Templates // nil = DefaultTemplates
	Formats   Formats    // nil = DefaultFormats
	Workers   int        // episodes that run at the same time; 0 = DefaultWorkers
	MaxSteps  int        // steps per episode; 0 = the environment's own default
	History   int        // past steps that a prompt shows; 0 = DefaultHistory, NoHistory = none

	// Conversation keeps an episode in one chat that grows by the response and the next observation, in
	// place of prompts with a window of the history; History then has no effect. A policy with a
	// renderer continues it in token space.
	Conversation bool

	// MaxResponseBytes bounds a response. What is within it is recorded byte for byte, however odd; a
	// longer one is a budget failure of the episode, since a cut response would be an invented one.
	// 0 = DefaultMaxResponseBytes.
	MaxResponseBytes int
	Budget           Budget
	Retry            Retries // zero = DefaultRetries

	// OnEvent is told what happens, one event at a time; nil = nobody. It must not block.
	OnEvent func(Event)
	Log     *slog.Logger // nil = silent
	// Now is the clock that step times and the time budget are measured with; nil = times are 0.
	Now func() time.Time
	// Sleep waits between tries and returns ctx's error when that ends first; nil = a real timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Budget bounds one episode. An episode that reaches a bound ends with StopBudget and keeps what it has.
type Budget struct {
	// Tokens is the number of response tokens after which no further step is taken; 0 = no bound. It
	// counts what policies report: the ids, else the server's usage. Of the steps before a resumption
	// only the ids are known.
	Tokens int
	// Time is the wall-clock time of an episode: the time of its steps and, while it runs, of the step in
	// flight, which is given up when the time is over. 0 = no bound. It needs Config.Now, and makes
	// results depend on the machine.
	Time time.Duration
}

// Retry is how one kind of failure is retried, with waits that grow from Wait to MaxWait.
type Retry struct {
	Attempts int // attempts of an episode in one process, at least 1
	Calls    int // tries of the same call within an attempt, at least 1; model servers only
	Wait     time.Duration
	MaxWait  time.Duration
}

// Retries maps the kinds of failure to how they are retried. A kind that is not listed, and a failure
// that is not retryable, ends its episode at once.
type Retries map[harness.FailureKind]Retry

// DefaultRetries starts over in a fresh environment where one broke, and repeats calls to a model
// server for some minutes (a model that is loaded again takes as long) before it gives an attempt up. Other kinds are final: the same try would
// fail the same way.
func DefaultRetries() Retries {
	return Retries{
		harness.FailEnv:    {Attempts: 3, Calls: 1, Wait: 100 * time.Millisecond, MaxWait: 10 * time.Second},
		harness.FailServer: {Attempts: 2, Calls: 8, Wait: time.Second, MaxWait: time.Minute},
	}
}

// attempts is how many attempts a failure's kind gets.
func (r Retries) attempts(f *harness.Failure) int {
	if !f.Retryable {
		return 1
	}
	return max(1, r[f.Kind].Attempts)
}

// Validate reports the first value that cannot work.
func (c Config) Validate() error {
	switch {
	case len(c.Suites) == 0:
		return errors.New("agent config: no environment suites")
	case c.Policy == nil:
		return errors.New("agent config: no policy")
	case c.Recorder == nil:
		return errors.New("agent config: no recorder")
	case c.Workers < 0 || c.MaxSteps < 0 || c.MaxResponseBytes < 0:
		return fmt.Errorf("agent config: workers %d, maximum steps %d or response bytes %d is negative", c.Workers, c.MaxSteps, c.MaxResponseBytes)
	case c.History < NoHistory:
		return fmt.Errorf("agent config: history of %d steps", c.History)
	case c.Budget.Tokens < 0 || c.Budget.Time < 0:
		return fmt.Errorf("agent config: budget of %d tokens or %v is negative", c.Budget.Tokens, c.Budget.Time)
	case c.Budget.Time > 0 && c.Now == nil:
		return errors.New("agent config: a time budget needs a clock")
	}
	for kind, r := range c.Retry {
		if r.Attempts < 1 || r.Calls < 1 || r.Wait < 0 || r.MaxWait < r.Wait {
			return fmt.Errorf("agent config: retry of %s failures: attempts %d and calls %d must be at least 1, waits %v ≤ %v and not negative",
				kind, r.Attempts, r.Calls, r.Wait, r.MaxWait)
		}
	}
	return nil
}

// withDefaults fills the zero fields.
func (c Config) withDefaults() Config {
	if c.Templates == nil {
		c.Templates = DefaultTemplates()
	}
	if c.Formats == nil {
		c.Formats = DefaultFormats()
	}
	if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	if c.History == 0 {
		c.History = DefaultHistory
	}
	if c.MaxResponseBytes == 0 {
		c.MaxResponseBytes = DefaultMaxResponseBytes
	}
	if c.Retry == nil {
		c.Retry = DefaultRetries()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return c
}

// suite returns the suite of a task's environment.
func (c Config) suite(t harness.Task) (harness.Suite, error) {
	if s := c.Suites[t.Env]; s != nil {
		return s, nil
	}
	known := slices.Sorted(maps.Keys(c.Suites))
	return nil, errext.WithHint(fmt.Errorf("task %s: no suite for environment %q", t.Key(), t.Env),
		fmt.Sprintf("the nearest of %q is %q", known, templatefile.Nearest(t.Env, known)))
}

// now reads the clock; the zero time without one.
func (c Config) now() time.Time {
	if c.Now == nil {
		return time.Time{}
	}
	return c.Now()
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

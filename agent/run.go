package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// ErrStopped is returned by Run and RunEpisode when they were told to stop before all was done. What
// was recorded stays, and a later run over the same episodes goes on from there.
var ErrStopped = errors.New("stopped before all episodes ended")

// Stats counts what a call of Run did.
type Stats struct {
	Episodes int                         // asked for
	Done     int                         // ended with an outcome
	Won      int                         // of these, solved
	Failed   int                         // failed for good, without reward
	Unused   int                         // places of trees that were given up
	Left     int                         // not ended, since the run was stopped
	Attempts int                         // begun or resumed
	Resumed  int                         // of these, with steps from an earlier process
	Steps    int                         // recorded in this call
	Tokens   int                         // response tokens in this call, as far as policies report them
	Failures map[harness.FailureKind]int // attempts that failed, by kind
	Stops    map[harness.StopReason]int  // episodes that ended, by reason
}

// Run runs every episode of refs, each at its own pace, at most Config.Workers at a time and in the
// order given, and returns when the last one has ended. Results depend on the run seed, the task and the
// sample alone: 1 worker and 64 give the same episodes.
//
// When soft ends, no further episode or attempt begins and the running ones go on to their end. When
// hard ends, all stop at once and their attempts stay open in the ledger. Either way the error is
// ErrStopped if anything was left. An episode that fails is counted and is no error of the run; an
// error of the recorder is, and stops the run as hard does.
func Run(soft, hard context.Context, refs []harness.EpisodeRef, cfg Config) (Stats, error) {
	cfg = cfg.withDefaults()
	c := newCounter(len(refs), cfg.OnEvent)
	if err := cfg.Validate(); err != nil {
		return c.stats, err
	}
	for _, ref := range refs {
		if err := ref.Task.Validate(); err != nil {
			return c.stats, err
		}
		if _, err := cfg.suite(ref.Task); err != nil {
			return c.stats, err
		}
	}
	g, ctx := errgroup.WithContext(hard)
	g.SetLimit(cfg.Workers)
	told := 0
	for i, ref := range refs {
		// Of every episode, so that those that begin at once leave the others what was prepared for them. As many
		// as there are workers may begin next; none does after a stop.
		next := i + 1
		if i >= cfg.Workers {
			next = min(i+cfg.Workers, len(refs))
		}
		for ; told < next && soft.Err() == nil && ctx.Err() == nil; told++ {
			cfg.prepare(refs[told].Task)
		}
		g.Go(func() error { // blocks while all workers are busy
			return newEpisode(ref, cfg, c).run(soft, ctx)
		})
	}
	err := g.Wait()
	if err == nil && c.stats.Left > 0 {
		err = errext.WithHint(ErrStopped, "resume the run to finish the rest")
	}
	return c.stats, err
}

// prepare tells a suite that wants to know of a task that comes next.
func (c Config) prepare(task harness.Task) {
	if p, ok := c.Suites[task.Env].(harness.Preparer); ok {
		p.Prepare(task)
	}
}

// RunEpisode runs one episode to its end and returns its outcome, or the *harness.Failure that ended
// it, or ErrStopped, or the recorder's error. See Run.
func RunEpisode(soft, hard context.Context, ref harness.EpisodeRef, cfg Config) (harness.Outcome, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return harness.Outcome{}, err
	}
	if _, err := cfg.suite(ref.Task); err != nil {
		return harness.Outcome{}, err
	}
	var outcome *harness.Outcome
	var failure *harness.Failure
	told := cfg.OnEvent
	c := newCounter(1, func(e Event) {
		if e.Kind == EventFinished {
			outcome = e.Outcome
		}
		if e.Kind == EventFailed {
			failure = e.Failure
		}
		if told != nil {
			told(e)
		}
	})
	err := newEpisode(ref, cfg, c).run(soft, hard)
	switch {
	case err != nil:
		return harness.Outcome{}, err
	case failure != nil:
		return harness.Outcome{}, fmt.Errorf("episode %s: %w", ref, failure)
	case outcome == nil:
		return harness.Outcome{}, ErrStopped
	}
	return *outcome, nil
}

// counter keeps the Stats of a run and passes events on, one at a time.
type counter struct {
	mu    sync.Mutex
	stats Stats
	told  func(Event)
}

func newCounter(episodes int, told func(Event)) *counter {
	return &counter{told: told, stats: Stats{
		Episodes: episodes,
		Failures: map[harness.FailureKind]int{},
		Stops:    map[harness.StopReason]int{},
	}}
}

func (c *counter) event(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.stats
	switch e.Kind {
	case EventStarted:
		s.Attempts++
		if e.Steps > 0 {
			s.Resumed++
		}
	case EventStep:
		s.Steps++
	case EventAttempt:
		s.Failures[e.Failure.Kind]++
	case EventFinished:
		s.Done++
		s.Stops[e.Outcome.Stop]++
		if e.Outcome.Won {
			s.Won++
		}
	case EventFailed:
		s.Failed++
		s.Failures[e.Failure.Kind]++
	case EventUnused:
		s.Unused++
	case EventLeft:
		s.Left++
	case EventCall:
	}
	if c.told != nil {
		c.told(e)
	}
}

// step is event for EventStep, with the step's response tokens.
func (c *counter) step(e Event, tokens int) {
	c.mu.Lock()
	c.stats.Tokens += tokens
	c.mu.Unlock()
	c.event(e)
}

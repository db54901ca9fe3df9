package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// closeTimeout bounds the calls that close an attempt in the ledger: they are made even when the run
// is being stopped, since the episode has ended by then.
const closeTimeout = 30 * time.Second

// Keys of log attributes.
const (
	logEpisode = "episode"
	logAttempt = "attempt"
	logTurn    = "turn"
	logError   = "error"
)

// episode drives one episode through its attempts.
type episode struct {
	ref     harness.EpisodeRef
	cfg     Config
	counter *counter
	log     *slog.Logger
	branch  *branch // nil unless it is of a tree
}

func newEpisode(ref harness.EpisodeRef, cfg Config, c *counter) *episode {
	return &episode{ref: ref, cfg: cfg, counter: c, log: cfg.Log.With(slog.String(logEpisode, ref.String()))}
}

// recorderError marks an error of the recorder: it ends the run, for what cannot be written down is
// not worth running.
type recorderError struct{ error }

func (e recorderError) Unwrap() error { return e.error }

// run is begin → play → finish, fail, or leave:
//
//	begin ─► play ─► outcome ───────────────────► Finish
//	  ▲        ├──► failure, tries left ─► Fail ─► wait ─► begin
//	  │        ├──► failure, final ──────► Fail (final)
//	  └─ soft  └──► hard stop ───────────► nothing: the attempt stays open
//
// Its error is the recorder's; all else is in the events.
func (e *episode) run(soft, hard context.Context) error {
	failed := make(map[harness.FailureKind]int)
	waits := make(map[harness.FailureKind]*backoff.ExponentialBackOff)
	for {
		if soft.Err() != nil || hard.Err() != nil {
			return e.leave(0)
		}
		id, recorded, err := e.begin(hard)
		if err != nil {
			return e.recorder(hard, 0, "begin", err)
		}
		e.counter.event(Event{Kind: EventStarted, Episode: e.ref, Attempt: id, Steps: len(recorded)})
		a := &attempt{episode: e, id: id, format: e.cfg.Formats.For(e.ref.Task.Env)}
		stop, err := a.play(hard, recorded)
		if err == nil {
			return e.finish(hard, a, stop)
		}
		if r := (recorderError{}); errors.As(err, &r) {
			return e.recorder(hard, id, "record", r.error)
		}
		if hard.Err() != nil {
			return e.leave(id)
		}
		f := asFailure(err)
		failed[f.Kind]++
		final := failed[f.Kind] >= e.cfg.Retry.attempts(f)
		if err := e.fail(hard, a, f, final); err != nil || final {
			return err
		}
		if waits[f.Kind] == nil {
			waits[f.Kind] = e.cfg.Retry[f.Kind].backOff()
		}
		if e.wait(soft, hard, waits[f.Kind].NextBackOff()) != nil {
			return e.leave(0)
		}
	}
}

// wait sleeps until the next attempt is due, or either kind of stop.
func (e *episode) wait(soft, hard context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancel(hard)
	defer cancel()
	defer context.AfterFunc(soft, cancel)()
	return e.cfg.Sleep(ctx, d)
}

func (e *episode) finish(hard context.Context, a *attempt, stop harness.StopReason) error {
	o := a.outcome(stop)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(hard), closeTimeout)
	defer cancel()
	if err := e.cfg.Recorder.Finish(ctx, a.id, o); err != nil {
		return fmt.Errorf("episode %s: record outcome: %w", e.ref, err)
	}
	e.log.Info("episode ended", slog.Int64(logAttempt, a.id), slog.Any("outcome", o))
	if e.branch != nil {
		e.branch.done = true
	}
	e.counter.event(Event{Kind: EventFinished, Episode: e.ref, Attempt: a.id, Steps: o.Steps, Outcome: &o})
	return nil
}

func (e *episode) fail(hard context.Context, a *attempt, f *harness.Failure, final bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(hard), closeTimeout)
	defer cancel()
	if err := e.cfg.Recorder.Fail(ctx, a.id, f, final); err != nil {
		return fmt.Errorf("episode %s: record failure (%w): %w", e.ref, f, err)
	}
	kind := EventAttempt
	if final {
		kind = EventFailed
		if e.branch != nil {
			e.branch.failed = f.Kind
		}
	}
	e.log.Warn("attempt failed", slog.Int64(logAttempt, a.id), slog.Bool("final", final), slog.Any(logError, f))
	e.counter.event(Event{Kind: kind, Episode: e.ref, Attempt: a.id, Steps: a.steps, Failure: f})
	return nil
}

// recorder ends the run with the recorder's error, or leaves the episode where the error only says
// that the run was stopped.
func (e *episode) recorder(hard context.Context, attempt int64, op string, err error) error {
	if hard.Err() != nil {
		return e.leave(attempt)
	}
	return fmt.Errorf("episode %s: %s: %w", e.ref, op, err)
}

func (e *episode) leave(attempt int64) error {
	e.counter.event(Event{Kind: EventLeft, Episode: e.ref, Attempt: attempt})
	return nil
}

// backOff is the sequence of waits: doubling, with a random share of up to a half either way so that
// many episodes do not come back at the same moment.
func (r Retry) backOff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = r.Wait, r.MaxWait, 2
	b.Reset()
	return b
}

// asFailure returns the Failure in err's chain, with the remedy that stands before it; what nobody
// typed is ours.
func asFailure(err error) *harness.Failure {
	f := (*harness.Failure)(nil)
	if !errors.As(err, &f) {
		return &harness.Failure{Kind: harness.FailHarness, Op: "run the episode", Err: err}
	}
	out := *f
	if hint := errext.Hint(err); hint != "" {
		out.Err = errext.WithHint(f.Err, hint)
	}
	return &out
}

package agent

import (
	"context"

	"github.com/hindsightrl/harness"
)

// Recorder is where episodes are written down as they happen. It is safe for concurrent use by
// different attempts; one attempt is driven by one goroutine.
type Recorder interface {
	// Begin opens an attempt of the episode. If an earlier process left one running, Begin reopens
	// it and returns the steps it already holds, in order, so that the episode can go on from there;
	// otherwise recorded is empty and the attempt is a new one.
	Begin(ctx context.Context, ep harness.EpisodeRef) (attempt int64, recorded []harness.Step, err error)
	// Step appends a step. It returns once the attempt's previous step is durable, so that at most
	// one step is in flight.
	Step(ctx context.Context, attempt int64, s harness.Step) error
	// Finish closes the attempt and its episode with an outcome; it returns once all of it is durable.
	Finish(ctx context.Context, attempt int64, o harness.Outcome) error
	// Fail closes the attempt with a typed failure and no reward. final marks the episode as failed;
	// otherwise another Begin follows. It returns once durable.
	Fail(ctx context.Context, attempt int64, f *harness.Failure, final bool) error
}

// CallRecorder is what a Recorder may be besides: it keeps the calls to a model server that failed and
// were repeated within an attempt, so that a flaky server shows in the ledger.
type CallRecorder interface {
	// CallFailed notes that try number try (from 1) of a step's call failed and is repeated.
	CallFailed(ctx context.Context, attempt int64, step, try int, f *harness.Failure) error
}

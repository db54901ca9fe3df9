package store

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness"
)

// EventCall is a call to a model server that failed and was repeated within its attempt.
const EventCall EventKind = "call"

// CallFailed appends to the run's log that try number try (from 1) of a step's call failed and is
// repeated: a flaky server shows in the ledger although no attempt failed. It returns once the entry is
// durable. It implements agent.CallRecorder.
func (r *Recorder) CallFailed(ctx context.Context, attempt int64, step, try int, f *harness.Failure) error {
	op := fmt.Sprintf("log call %d of step %d of attempt %d", try, step, attempt)
	a, err := r.s.attempt(attempt)
	if err != nil {
		return failure(op, err)
	}
	now := r.s.now()
	message := fmt.Sprintf("attempt %d, step %d, try %d: %v", a.number, step, try, f)
	return failure(op, a.do(ctx, r.s.w, func(c *conn) error {
		return insertEvent(c, r.runID, a.episode, now, EventCall, message)
	}))
}

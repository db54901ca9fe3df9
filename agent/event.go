package agent

import "github.com/hindsightrl/harness"

// EventKind says what an Event reports.
type EventKind string

// The kinds of event.
const (
	EventStarted  EventKind = "started"  // an attempt began; Steps of it were already recorded when it is resumed
	EventStep     EventKind = "step"     // a step was recorded
	EventCall     EventKind = "call"     // a call to a model server failed and is repeated
	EventAttempt  EventKind = "attempt"  // an attempt failed and another follows
	EventFinished EventKind = "finished" // the episode ended with an Outcome
	EventFailed   EventKind = "failed"   // the episode failed for good
	EventUnused   EventKind = "unused"   // a tree ended without the episode: its place was given up
	EventLeft     EventKind = "left"     // the run was stopped before the episode ended; a later run goes on
)

// Event is something that happened to an episode, for progress bars and logs.
type Event struct {
	Kind    EventKind
	Episode harness.EpisodeRef
	Attempt int64            // ledger id; 0 where none was begun
	Steps   int              // steps of the attempt so far
	Outcome *harness.Outcome // EventFinished
	Failure *harness.Failure // EventCall, EventAttempt, EventFailed
}

package store

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// EventKind names what happened to a run or to one of its episodes.
type EventKind string

// The events that the ledger writes by itself. Other packages may add kinds of their own.
const (
	EventCreated     EventKind = "created"
	EventStarted     EventKind = "started"
	EventResumed     EventKind = "resumed"     // after an interruption, or after the process was killed
	EventInterrupted EventKind = "interrupted" // stopped on purpose
	EventDone        EventKind = "done"
	EventReopened    EventKind = "reopened" // an episode goes on from its recorded steps
	EventRetried     EventKind = "retried"  // an attempt failed, another follows
	EventFailed      EventKind = "failed"   // an episode has no attempt left
	EventRequeued    EventKind = "requeued" // failed episodes are pending again
)

// Event is an entry of a run's log.
type Event struct {
	ID        int64     `json:"id"`
	RunID     int64     `json:"run"`
	EpisodeID int64     `json:"episode,omitempty"` // 0: the run as a whole
	At        time.Time `json:"at"`                // UTC, millisecond
	Kind      EventKind `json:"kind"`
	Message   string    `json:"message,omitempty"`
}

// AddEvent appends to the log of e.RunID; ID and At are set by the store.
func (s *Store) AddEvent(ctx context.Context, e Event) error {
	var episode any
	if e.EpisodeID != 0 {
		episode = e.EpisodeID
	}
	now := s.now()
	err := s.write(ctx, func(c *conn) error { return insertEvent(c, e.RunID, episode, now, e.Kind, e.Message) })
	if err != nil {
		return fmt.Errorf("log %s of run %d: %w", e.Kind, e.RunID, err)
	}
	return nil
}

func insertEvent(c *conn, run int64, episode any, now int64, kind EventKind, message string) error {
	_, err := c.exec("INSERT INTO events (run_id, episode_id, at_ms, kind, message) VALUES (?, ?, ?, ?, ?)",
		run, episode, now, string(kind), textValue(message))
	return err
}

// Events streams a run's log in the order in which it was written.
func (s *Store) Events(ctx context.Context, runID int64) iter.Seq2[Event, error] {
	return query(ctx, s.db, "read events", "SELECT id, run_id, coalesce(episode_id, 0), at_ms, kind, message FROM events WHERE run_id = ? ORDER BY id",
		[]any{runID}, func(scan func(...any) error) (Event, error) {
			var (
				e       Event
				at      int64
				message any
			)
			if err := scan(&e.ID, &e.RunID, &e.EpisodeID, &at, &e.Kind, &message); err != nil {
				return e, err
			}
			e.At = fromMS(at)
			var err error
			e.Message, err = textOf(message)
			return e, err
		})
}

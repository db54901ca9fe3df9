package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Feedback is a text about a step that came after the step itself: a judge's verdict, a peer's
// solution. What the environment said at once is in the step.
type Feedback struct {
	Attempt int64     `json:"attempt"`
	Step    int       `json:"step"`   // index of the step in the attempt
	Source  string    `json:"source"` // what wrote it; at most one text per step and source
	Text    string    `json:"text"`
	At      time.Time `json:"at"` // UTC, millisecond; set by the store
}

// AddFeedback writes texts about recorded steps, all of them or none. A text of the same step and
// source is replaced. ErrNotFound for a step that is not recorded.
func (s *Store) AddFeedback(ctx context.Context, texts ...Feedback) error {
	for _, f := range texts {
		if err := plain("feedback source", f.Source); err != nil {
			return fmt.Errorf("add feedback: %w", err)
		}
		if f.Source == "" {
			return errors.New("add feedback: no source named")
		}
	}
	now := s.now()
	err := s.write(ctx, func(c *conn) error {
		for _, f := range texts {
			step, err := c.value("SELECT id FROM steps WHERE attempt_id = ? AND idx = ?", f.Attempt, int64(f.Step))
			if err != nil {
				return err
			}
			if step == nil {
				return fmt.Errorf("step %d of attempt %d: %w", f.Step, f.Attempt, ErrNotFound)
			}
			_, err = c.exec(`INSERT INTO feedback (step_id, source, text, created_ms) VALUES (?, ?, ?, ?)
				ON CONFLICT (step_id, source) DO UPDATE SET text = excluded.text, created_ms = excluded.created_ms`,
				step, f.Source, textValue(f.Text), now)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add feedback: %w", err)
	}
	return nil
}

// Feedback streams the texts about an attempt's steps, by step and then by source.
func (s *Store) Feedback(ctx context.Context, attempt int64) iter.Seq2[Feedback, error] {
	text := `SELECT s.attempt_id, s.idx, f.source, f.text, f.created_ms FROM feedback f JOIN steps s ON s.id = f.step_id
		WHERE s.attempt_id = ? ORDER BY s.idx, f.source`
	return query(ctx, s.db, fmt.Sprintf("read feedback of attempt %d", attempt), text, []any{attempt},
		func(scan func(...any) error) (Feedback, error) {
			var (
				f  Feedback
				at int64
				v  any
			)
			if err := scan(&f.Attempt, &f.Step, &f.Source, &v, &at); err != nil {
				return f, err
			}
			f.At = fromMS(at)
			var err error
			f.Text, err = textOf(v)
			return f, err
		})
}

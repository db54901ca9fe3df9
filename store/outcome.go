package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/almost"
)

// rewardTolerance allows for sums of step rewards in another order; rewards are of the order of 1.
const rewardTolerance = 1e-9

// attempt finds an attempt that Begin opened in this process.
func (s *Store) attempt(id int64) (*attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.live[id]; ok {
		return a, nil
	}
	return nil, fmt.Errorf("attempt %d is not open: %w", id, ErrNotFound)
}

func (s *Store) forget(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, id)
}

// writeStep runs on the writer's goroutine.
func writeStep(c *conn, a *attempt, row, tokens []driver.Value, meta *harness.TokenMeta) error {
	if a.broken != nil {
		return a.broken
	}
	id, err := c.exec(insertStep, row...)
	if err != nil || tokens == nil {
		return err
	}
	m, err := c.metaID(meta)
	if err != nil {
		return err
	}
	tokens[0], tokens[4] = id, m
	_, err = c.exec(insertTokens, tokens...)
	return err
}

// Finish closes the attempt and its episode with an outcome, which must agree with the recorded
// steps: their number, the invalid ones, the sum of rewards, the last score. It returns once all of
// it is durable.
func (r *Recorder) Finish(ctx context.Context, attempt int64, o harness.Outcome) error {
	op := fmt.Sprintf("finish attempt %d", attempt)
	a, err := r.s.attempt(attempt)
	if err != nil {
		return failure(op, err)
	}
	if err := a.agrees(o); err != nil {
		return failure(op, err)
	}
	now := r.s.now()
	err = a.do(ctx, r.s.w, func(c *conn) error {
		if err := a.closable(c); err != nil {
			return err
		}
		n, err := c.value("SELECT count(*) FROM steps WHERE attempt_id = ?", a.id)
		if err != nil {
			return err
		}
		if n != int64(o.Steps) {
			return fmt.Errorf("the outcome counts %d steps, the ledger holds %v", o.Steps, n)
		}
		if _, err := c.exec("UPDATE attempts SET state = 'done', finished_ms = ? WHERE id = ?", now, a.id); err != nil {
			return err
		}
		_, err = c.exec(`UPDATE episodes SET status = 'done', attempt_id = ?, stop = ?, won = ?, reward = ?, score = ?, steps = ?, invalid = ?
			WHERE id = ?`, a.id, string(o.Stop), o.Won, o.Reward, o.Score, int64(o.Steps), int64(o.Invalid), a.episode)
		return err
	})
	if err != nil {
		return failure(op, err)
	}
	r.s.forget(a.id)
	return nil
}

// agrees reports the first number of an outcome that the recorded steps contradict.
func (a *attempt) agrees(o harness.Outcome) error {
	switch {
	case o.Stop == "":
		return errors.New("the outcome has no stop reason")
	case plain("stop reason", string(o.Stop)) != nil:
		return plain("stop reason", string(o.Stop))
	case o.Steps != a.carry.index:
		return fmt.Errorf("the outcome counts %d steps, the ledger holds %d", o.Steps, a.carry.index)
	case o.Invalid != a.invalid:
		return fmt.Errorf("the outcome counts %d invalid steps, the ledger holds %d", o.Invalid, a.invalid)
	case !almost.Equal(o.Reward, a.reward, rewardTolerance, rewardTolerance):
		return fmt.Errorf("the outcome's reward is %v, the steps' rewards add up to %v", o.Reward, a.reward)
	case o.Score != a.score:
		return fmt.Errorf("the outcome's score is %v, the last step's is %v", o.Score, a.score)
	case o.Stop == harness.StopWon && !o.Won:
		return errors.New("the episode stopped because it was won, and the outcome says that it was not")
	}
	return nil
}

// closable reports an attempt that cannot end with an outcome.
func (a *attempt) closable(c *conn) error {
	if a.broken != nil {
		return a.broken
	}
	state, err := c.value("SELECT state FROM attempts WHERE id = ?", a.id)
	if err != nil {
		return err
	}
	if state != "running" {
		return fmt.Errorf("the attempt is %v already", state)
	}
	return nil
}

// Fail closes the attempt with a typed failure and no reward. final marks the episode as failed;
// otherwise another Begin follows, which opens the next attempt. It returns once durable. The steps
// of a failed attempt stay in the ledger.
func (r *Recorder) Fail(ctx context.Context, attempt int64, f *harness.Failure, final bool) error {
	op := fmt.Sprintf("fail attempt %d", attempt)
	a, err := r.s.attempt(attempt)
	if err != nil {
		return failure(op, err)
	}
	if f == nil {
		return failure(op, errors.New("no failure given"))
	}
	message := "unknown cause"
	if f.Err != nil {
		message = f.Err.Error()
	}
	if err := plain("failure kind", string(f.Kind)); err != nil || f.Kind == "" {
		return failure(op, errors.Join(errors.New("the failure has no kind that can be stored"), err))
	}
	now := r.s.now()
	err = a.do(ctx, r.s.w, func(c *conn) error {
		return closeFailed(c, r.runID, a, f, message, final, now)
	})
	if err != nil {
		return failure(op, err)
	}
	r.s.forget(a.id)
	return nil
}

func closeFailed(c *conn, run int64, a *attempt, f *harness.Failure, message string, final bool, now int64) error {
	kind, what, msg := string(f.Kind), textValue(f.Op), textValue(message)
	_, err := c.exec(`UPDATE attempts SET state = 'failed', finished_ms = ?, failure_kind = ?, failure_op = ?, failure_message = ?
		WHERE id = ? AND state = 'running'`, now, kind, what, msg, a.id)
	if err != nil {
		return err
	}
	event := EventRetried
	if final {
		event = EventFailed
		_, err := c.exec(`UPDATE episodes SET status = 'failed', attempt_id = ?, failure_kind = ?, failure_op = ?, failure_message = ?
			WHERE id = ?`, a.id, kind, what, msg, a.episode)
		if err != nil {
			return err
		}
	}
	return insertEvent(c, run, a.episode, now, event, fmt.Sprintf("attempt %d: %v", a.number, (&harness.Failure{Kind: f.Kind, Op: f.Op, Err: errors.New(message)}).Error()))
}

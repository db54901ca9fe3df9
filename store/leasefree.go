package store

import (
	"context"
	"fmt"
)

// EventDropped logs that a feed gave a group up.
const EventDropped EventKind = "dropped"

// Free lists the finished groups that the feed has neither given away nor up, in order. With a credit pass
// only those that the pass does not have whole; 0 lists all.
func (f *Feed) Free(ctx context.Context, credit int64) ([]int, error) {
	text := "SELECT idx FROM (" + freeGroups + " ORDER BY g.idx)"
	args := []any{f.spec.RunID, f.id}
	if credit != 0 {
		text = "SELECT idx FROM (" + freeGroups + " AND " + uncredited + " ORDER BY g.idx)"
		args = append(args, credit)
	}
	return collect(query(ctx, f.s.db, fmt.Sprintf("list the free groups of feed %q", f.spec.Name), text, args, scanOne[int]))
}

// Done is the number of a group's episodes that are done and have a step to hand over.
func (f *Feed) Done(ctx context.Context, group int) (n int, err error) {
	const text = `SELECT count(*) FROM groups g JOIN episodes e ON e.group_id = g.id AND e.status = 'done'
		JOIN steps s ON s.attempt_id = e.attempt_id AND s.idx = 0 WHERE g.run_id = ? AND g.idx = ?`
	if err := f.s.db.QueryRowContext(ctx, text, f.spec.RunID, group).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the episodes of group %d: %w", group, classify(err))
	}
	return n, nil
}

// Drop gives a finished group up: no trainer of this feed gets it. It reports whether it did: a group that
// somebody has, or that was given up before, stays as it is.
func (f *Feed) Drop(ctx context.Context, group int, reason string) (dropped bool, err error) {
	if err := plain("reason", reason); err != nil {
		return false, fmt.Errorf("drop group %d: %w", group, err)
	}
	now := f.s.now()
	err = f.s.write(ctx, func(c *conn) error {
		dropped = false
		free, err := c.rows("SELECT id FROM ("+freeGroups+") WHERE idx = ?3", f.spec.RunID, f.id, int64(group))
		if err != nil || len(free) == 0 {
			return err
		}
		if _, err := c.exec("INSERT INTO feed_dropped (feed_id, group_id, reason, dropped_ms) VALUES (?, ?, ?, ?)", f.id, free[0][0], reason, now); err != nil {
			return err
		}
		dropped = true
		return insertEvent(c, f.spec.RunID, nil, now, EventDropped, fmt.Sprintf("group %d from feed %s: %s", group, f.spec.Name, reason))
	})
	if err != nil {
		return false, fmt.Errorf("drop group %d: %w", group, err)
	}
	return dropped, nil
}

// GrowCreditPass adds the rows of whole groups to the pass of p's key, which it makes where it is absent, and
// sets the pass's report to p's. All of it happens or nothing. Rows that the pass has already stay as they
// are, and nothing changes where it has all of them.
func (s *Store) GrowCreditPass(ctx context.Context, p CreditPass, rows []Credit) (CreditPass, error) {
	if err := checkCreditPass(p, rows); err != nil {
		return CreditPass{}, fmt.Errorf("grow credit pass: %w", err)
	}
	now := s.now()
	err := s.write(ctx, func(c *conn) error {
		id, err := c.value("SELECT id FROM credit_passes WHERE key = ?", p.Key)
		if err != nil {
			return err
		}
		if id == nil {
			return insertCredits(c, p, rows, now)
		}
		return growCredits(c, id.(int64), p, rows)
	})
	if err != nil {
		return CreditPass{}, fmt.Errorf("grow credit pass: %w", err)
	}
	return s.CreditPassByKey(ctx, p.Key)
}

func growCredits(c *conn, pass int64, p CreditPass, rows []Credit) error {
	run, err := c.value("SELECT run_id FROM credit_passes WHERE id = ?", pass)
	if err != nil {
		return err
	}
	if run != p.RunID {
		return fmt.Errorf("pass %d is of run %v, not of run %d", pass, run, p.RunID)
	}
	var fresh []Credit
	for i := range rows {
		found, err := c.value("SELECT 1 FROM credits WHERE pass_id = ? AND step_id = ?", pass, rows[i].Step)
		if err != nil {
			return err
		}
		if found == nil {
			fresh = append(fresh, rows[i])
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := insertCreditRows(c, pass, fresh); err != nil {
		return err
	}
	_, err = c.exec("UPDATE credit_passes SET n = n + ?, report = ? WHERE id = ?", int64(len(fresh)), string(p.Report), pass)
	return err
}

// NewestCreditPass is the pass over a run that a feed with harness.PassNewest uses now. ErrNotFound where
// the run has none.
func (s *Store) NewestCreditPass(ctx context.Context, runID int64) (CreditPass, error) {
	p, err := scanCreditPass(s.db.QueryRowContext(ctx, selectCreditPass+"WHERE run_id = ? ORDER BY id DESC LIMIT 1", runID).Scan)
	if err != nil {
		return p, fmt.Errorf("read the newest credit pass of run %d: %w", runID, missing(err, listPasses))
	}
	return p, nil
}

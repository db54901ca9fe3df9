package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// EventRound logs that a run took its panel once more.
const EventRound EventKind = "round"

// AddRound makes the groups of a run's round, all episodes pending, where they are not there yet, and
// reports whether it did. Rounds follow one another: round 0 is there from the beginning, and round n+1
// comes after round n. A run that is done goes on: see SetRunState.
func (s *Store) AddRound(ctx context.Context, runID int64, round int) (added bool, err error) {
	now := s.now()
	err = s.write(ctx, func(c *conn) error {
		added = false
		r, err := c.row(`SELECT r.panel_id, r.group_size, coalesce(max(g.round), -1), count(g.id) FROM runs r LEFT JOIN groups g ON g.run_id = r.id
			WHERE r.id = ? GROUP BY r.id`, runID)
		switch {
		case err != nil:
			return err
		case r == nil:
			return ErrNotFound
		}
		newest := r[2].(int64)
		if int64(round) <= newest {
			return nil
		}
		if int64(round) != newest+1 {
			return fmt.Errorf("the run has %d rounds", newest+1)
		}
		if err := insertRound(c, runID, r[0].(int64), int64(round), r[3].(int64), int(r[1].(int64))); err != nil {
			return err
		}
		added = true
		return insertEvent(c, runID, nil, now, EventRound, fmt.Sprint(round))
	})
	if err != nil {
		return false, fmt.Errorf("add round %d to run %d: %w", round, runID, err)
	}
	return added, nil
}

// insertRound makes one group per task of the panel, numbered from first.
func insertRound(c *conn, run, panel, round, first int64, size int) error {
	tasks, err := c.rows("SELECT id FROM tasks WHERE panel_id = ? ORDER BY idx", panel)
	if err != nil {
		return err
	}
	if len(tasks) == 0 {
		return errors.New("its panel has no tasks")
	}
	for i, t := range tasks {
		group, err := c.exec("INSERT INTO groups (run_id, idx, task_id, round) VALUES (?, ?, ?, ?)", run, first+int64(i), t[0], round)
		if err != nil {
			return err
		}
		for k := range size {
			if _, err := c.exec("INSERT INTO episodes (run_id, group_id, sample) VALUES (?, ?, ?)", run, group, int64(k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rounds is how many rounds a run has so far. ErrNotFound if there is no such run.
func (s *Store) Rounds(ctx context.Context, runID int64) (int, error) {
	var newest sql.NullInt64
	err := s.db.QueryRowContext(ctx, "SELECT max(round) FROM groups WHERE run_id = ?", runID).Scan(&newest)
	if err != nil {
		return 0, fmt.Errorf("count the rounds of run %d: %w", runID, classify(err))
	}
	if !newest.Valid {
		return 0, fmt.Errorf("count the rounds of run %d: %w", runID, ErrNotFound)
	}
	return int(newest.Int64) + 1, nil
}

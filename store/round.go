package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
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

// FirstOpenRound is the first round of a run with an episode that is not closed, or the round after the last
// where there is none.
func (s *Store) FirstOpenRound(ctx context.Context, runID int64) (int, error) {
	var first sql.NullInt64
	const text = `SELECT min(g.round) FROM episodes e JOIN groups g ON g.id = e.group_id WHERE e.run_id = ? AND e.status IN ('pending', 'running')`
	if err := s.db.QueryRowContext(ctx, text, runID).Scan(&first); err != nil {
		return 0, fmt.Errorf("find the open round of run %d: %w", runID, classify(err))
	}
	if first.Valid {
		return int(first.Int64), nil
	}
	return s.Rounds(ctx, runID)
}

// PendingRound is Pending for one round.
func (s *Store) PendingRound(ctx context.Context, runID int64, round int) ([]harness.EpisodeRef, error) {
	text := selectEpisode + "WHERE g.run_id = ? AND g.round = ? AND e.status IN ('pending', 'running') ORDER BY e.id"
	var refs []harness.EpisodeRef
	for e, err := range query(ctx, s.db, fmt.Sprintf("read round %d of run %d", round, runID), text, []any{runID, round}, scanEpisode) {
		if err != nil {
			return nil, err
		}
		refs = append(refs, e.EpisodeRef)
	}
	return refs, nil
}

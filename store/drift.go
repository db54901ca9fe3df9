package store

import (
	"context"
	"fmt"
)

// Drifts counts the steps of a run's counting attempts by how their prompt relates to the tokens of
// the turns before (harness.TokenMeta.Drift). Steps outside conversations are not counted.
func (s *Store) Drifts(ctx context.Context, runID int64) (map[string]int, error) {
	type row struct {
		drift string
		n     int
	}
	text := `SELECT m.drift, count(*) FROM token_meta m JOIN tokens t ON t.meta_id = m.id JOIN steps s ON s.id = t.step_id
		JOIN episodes e ON e.attempt_id = s.attempt_id WHERE e.run_id = ? AND e.status = 'done' GROUP BY m.drift`
	counts := map[string]int{}
	for r, err := range query(ctx, s.db, fmt.Sprintf("count drifts of run %d", runID), text, []any{runID},
		func(scan func(...any) error) (r row, err error) {
			var drift any
			if err = scan(&drift, &r.n); err == nil {
				r.drift, err = textOf(drift)
			}
			return r, err
		}) {
		if err != nil {
			return nil, err
		}
		if r.drift != "" {
			counts[r.drift] += r.n
		}
	}
	return counts, nil
}

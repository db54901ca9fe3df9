package store

import (
	"context"

	"github.com/hindsightrl/harness"
)

// Stops counts a run's done episodes by why they ended.
func (s *Store) Stops(ctx context.Context, runID int64) (map[harness.StopReason]int, error) {
	type row struct {
		stop string
		n    int
	}
	text := "SELECT stop, count(*) FROM episodes WHERE run_id = ? AND status = 'done' GROUP BY stop"
	out := map[harness.StopReason]int{}
	for r, err := range query(ctx, s.db, "count stops", text, []any{runID}, func(scan func(...any) error) (r row, err error) {
		err = scan(&r.stop, &r.n)
		return r, err
	}) {
		if err != nil {
			return nil, err
		}
		out[harness.StopReason(r.stop)] = r.n
	}
	return out, nil
}

package store

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness"
)

// FinishedGroups lists what a feed of this spec would hand over now if nobody had taken anything: a lease
// that nobody holds and that is not written down. It needs no write access.
func (s *Store) FinishedGroups(ctx context.Context, spec harness.FeedSpec) (harness.Lease, error) {
	var l harness.Lease
	err := s.snapshot(ctx, func(q querier) error {
		f := &Feed{s: s, spec: spec}
		credit, score, err := f.passes(func(sql string, args ...any) (v any, err error) {
			err = q.QueryRowContext(ctx, sql, args...).Scan(&v)
			return v, err
		})
		if err != nil || spec.Credit == harness.PassNewest && credit == nil {
			return err
		}
		l.Credit, _ = credit.(int64)
		l.Score, _ = score.(int64)
		text := `SELECT r.idx, count(*), coalesce(sum(t.n), 0), coalesce(sum(t.n_prompt), 0) FROM (` + readyGroups + `) r
			JOIN episodes e ON e.group_id = r.id AND e.status = 'done' JOIN steps s ON s.attempt_id = e.attempt_id
			LEFT JOIN tokens t ON t.step_id = coalesce(s.shared_id, s.id) GROUP BY r.id ORDER BY r.idx`
		l.Groups, err = collect(query(ctx, q, "list groups", text, []any{spec.RunID, 0, credit, -1}, func(scan func(...any) error) (g harness.FeedGroup, err error) {
			err = scan(&g.Index, &g.Rows, &g.Tokens, &g.PromptTokens)
			return g, err
		}))
		return err
	})
	if err != nil {
		return l, fmt.Errorf("list the finished groups of run %d: %w", spec.RunID, classify(err))
	}
	return l, nil
}

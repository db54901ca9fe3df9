package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"iter"

	"github.com/hindsightrl/harness/internal/errext"
)

// write hands run to the writer and waits until it is durable. A read-only store refuses.
func (s *Store) write(ctx context.Context, run func(*conn) error) error {
	if s.w == nil {
		return errext.WithHint(ErrReadOnly, "open the ledger for writing")
	}
	return s.w.do(ctx, run)
}

func (s *Store) now() int64 {
	if s.cfg.Now == nil { // read only: write refuses later
		return 0
	}
	return s.cfg.Now().UnixMilli()
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// snapshot runs f inside one read transaction, so that all it reads is of one moment.
func (s *Store) snapshot(ctx context.Context, f func(querier) error) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return classify(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	return f(tx)
}

// query streams the rows of a statement. The rows hold a read transaction, so a consumer should not
// dawdle while a run writes: the write-ahead log cannot be reused meanwhile.
func query[T any](ctx context.Context, q querier, op, text string, args []any, scan func(func(...any) error) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		rows, err := q.QueryContext(ctx, text, args...)
		if err != nil {
			yield(zero, fmt.Errorf("%s: %w", op, classify(err)))
			return
		}
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows.Scan)
			if err != nil {
				yield(zero, fmt.Errorf("%s: %w", op, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(zero, fmt.Errorf("%s: %w", op, classify(err)))
		}
	}
}

// collect gathers a stream that is known to be short.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// values converts arguments of database/sql to those of the writer's connection.
func values(args []any) []driver.Value {
	out := make([]driver.Value, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}

// cell is a scanned value as it came: database/sql would copy a BLOB once more, which the driver has
// copied out of SQLite for this row alone.
type cell struct{ v any }

// Scan keeps src.
func (c *cell) Scan(src any) error {
	c.v = src
	return nil
}

package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Steps streams the steps of an attempt in order, each exactly as it was recorded, those that a leaf shares
// with its ancestors among them, and marked. A damaged row ends the stream with an error, because later
// rows build on it.
func (s *Store) Steps(ctx context.Context, attempt int64) iter.Seq2[harness.Step, error] {
	return func(yield func(harness.Step, error) bool) {
		steps(ctx, s.db, attempt, &carry{})(yield) // a fresh carry for each time the stream is read
	}
}

// steps reads an attempt from its first row; c must be empty and holds afterwards what the last step left.
func steps(ctx context.Context, q querier, attempt int64, c *carry) iter.Seq2[harness.Step, error] {
	const plain = "SELECT " + stepColumns + ", " + tokenColumns + ` FROM steps c LEFT JOIN tokens t ON t.step_id = c.id
		LEFT JOIN token_meta m ON m.id = t.meta_id WHERE c.attempt_id = ? ORDER BY c.idx`
	const leaf = "SELECT " + stepColumns + ", " + tokenColumns + leafTables + " ORDER BY s.idx"
	return func(yield func(harness.Step, error) bool) {
		text := plain
		fork, err := forkOf(ctx, q, attempt)
		if err != nil {
			yield(harness.Step{}, err)
			return
		}
		if fork != nil {
			text = leaf
		}
		query(ctx, q, fmt.Sprintf("read steps of attempt %d", attempt), text, []any{attempt},
			func(scan func(...any) error) (harness.Step, error) {
				st, err := scanStep(scan, c)
				markShared(&st, fork)
				return st, err
			})(yield)
	}
}

// leafTables are the tables of steps that an attempt may share, s being the attempt's row and c the one that
// holds its content.
const leafTables = ` FROM steps s JOIN steps c ON c.id = coalesce(s.shared_id, s.id)
	LEFT JOIN tokens t ON t.step_id = c.id LEFT JOIN token_meta m ON m.id = t.meta_id WHERE s.attempt_id = ?`

func scanStep(scan func(...any) error, c *carry) (harness.Step, error) {
	var (
		row    stepRow
		tokens tokenRow
	)
	if err := scan(append(row.targets(), tokens.targets()...)...); err != nil {
		return harness.Step{}, err
	}
	st, err := decodeStep(&row, c)
	if err != nil {
		return st, fmt.Errorf("step %d: %w", row.idx, err)
	}
	if st.Tokens, err = decodeTokens(&tokens, c); err != nil {
		return st, fmt.Errorf("step %d: %w", row.idx, err)
	}
	return st, nil
}

// decidingAttempt is the attempt that closed an episode, or the latest while it is open; 0 if there
// is none.
func decidingAttempt(ctx context.Context, q querier, episode int64) (attempt int64, err error) {
	err = q.QueryRowContext(ctx, `SELECT coalesce(e.attempt_id,
		(SELECT a.id FROM attempts a WHERE a.episode_id = e.id ORDER BY a.number DESC LIMIT 1), 0) FROM episodes e WHERE e.id = ?`, episode).Scan(&attempt)
	return attempt, missing(err, "list the episodes of the run to see their ids")
}

// EpisodeSteps reads the steps of an episode's deciding attempt: the one that closed it, or the
// latest while it is open. An episode without an attempt has none.
func (s *Store) EpisodeSteps(ctx context.Context, episode int64) ([]harness.Step, error) {
	attempt, err := decidingAttempt(ctx, s.db, episode)
	if err != nil {
		return nil, fmt.Errorf("read steps of episode %d: %w", episode, err)
	}
	if attempt == 0 {
		return nil, nil
	}
	all, err := collect(s.Steps(ctx, attempt))
	if errors.Is(err, errBlob) {
		err = errext.WithHint(err, "run `harness db check` to see what is damaged")
	}
	if err != nil {
		return nil, fmt.Errorf("read steps of episode %d: %w", episode, err)
	}
	return all, nil
}

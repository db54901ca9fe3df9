package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Steps streams the steps of an attempt in order, each exactly as it was recorded. A damaged row
// ends the stream with an error, because later rows build on it.
func (s *Store) Steps(ctx context.Context, attempt int64) iter.Seq2[harness.Step, error] {
	return func(yield func(harness.Step, error) bool) {
		s.steps(ctx, attempt, &carry{})(yield) // a fresh carry for each time the stream is read
	}
}

// steps reads an attempt from its first row; c must be empty and holds afterwards what the last step left.
func (s *Store) steps(ctx context.Context, attempt int64, c *carry) iter.Seq2[harness.Step, error] {
	text := "SELECT " + stepColumns + ", " + tokenColumns + ` FROM steps s LEFT JOIN tokens t ON t.step_id = s.id
		LEFT JOIN token_meta m ON m.id = t.meta_id WHERE s.attempt_id = ? ORDER BY s.idx`
	return query(ctx, s, fmt.Sprintf("read steps of attempt %d", attempt), text, []any{attempt},
		func(scan func(...any) error) (harness.Step, error) { return scanStep(scan, c) })
}

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

// EpisodeSteps reads the steps of an episode's deciding attempt: the one that closed it, or the
// latest while it is open. An episode without an attempt has none.
func (s *Store) EpisodeSteps(ctx context.Context, episode int64) ([]harness.Step, error) {
	var attempt int64
	err := s.db.QueryRowContext(ctx, `SELECT coalesce(e.attempt_id,
		(SELECT a.id FROM attempts a WHERE a.episode_id = e.id ORDER BY a.number DESC LIMIT 1), 0) FROM episodes e WHERE e.id = ?`, episode).Scan(&attempt)
	if err != nil {
		return nil, fmt.Errorf("read steps of episode %d: %w", episode, missing(err, "list the episodes of the run to see their ids"))
	}
	if attempt == 0 {
		return nil, nil
	}
	steps, err := collect(s.Steps(ctx, attempt))
	if err != nil {
		return nil, fmt.Errorf("read steps of episode %d: %w", episode, errext.WithHint(err, "run `harness db check` to see what is damaged"))
	}
	return steps, nil
}

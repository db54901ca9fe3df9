package store

import (
	"context"
	"fmt"
	"os"

	"github.com/hindsightrl/harness/internal/errext"
)

// scorerSuffix names the lock file of the process that scores. Scores and recordings are written to
// different tables, and SQLite itself makes their transactions take turns, so one process may score
// a run while another is still collecting it.
const scorerSuffix = "-scorer"

// OpenScores opens an existing ledger for a teacher pass: scores, log-probabilities and judges' texts may be
// written, also while another process records. Runs and episodes must not be written through it. Only
// one process at a time can score: a second one gets ErrWriterActive. Other errors are those of Open.
func OpenScores(ctx context.Context, path string, cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, errext.WithHint(fmt.Errorf("open ledger %q: %w", path, ErrNoLedger), "check the path; a run creates its ledger when it starts")
	}
	s, err := openAs(ctx, path, cfg.withDefaults(), scorerSuffix)
	if err != nil {
		return nil, fmt.Errorf("open ledger %q for scores: %w", path, err)
	}
	return s, nil
}

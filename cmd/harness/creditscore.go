package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/store"
)

// scoreSource is the scoring pass that a token stage reads; the zero value is none.
type scoreSource struct {
	key string
}

func scoreFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "score", "", "the scoring pass whose teacher log-probabilities SERL and RLSD weigh by")
}

// findScores looks a scoring pass over the run up; the empty name means none.
func findScores(_ context.Context, db *store.Store, run store.Run, name string) (scoreSource, error) {
	if name == "" {
		return scoreSource{}, nil
	}
	return scoreSource{}, fmt.Errorf("scoring pass %q of run %s: %w (%s)", name, run.Name, store.ErrNotFound, db.Path())
}

// read returns the scores by step.
func (s scoreSource) read(context.Context, *store.Store) (map[int64]*creditrun.Score, error) {
	return nil, nil
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// scoreSource is the scoring pass that a token stage reads; the zero value is none.
type scoreSource struct {
	pass harness.ScorePass
	key  string // of the pass and of the groups that it holds; "" = none
}

func scoreFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "score", "", "the scoring pass that SERL and RLSD weigh by: its number, the beginning of its key, or its mode")
}

// findScores looks a scoring pass over the run up; the empty name means none. A pass that is not
// complete would leave weights out without a word, so it is refused.
func findScores(ctx context.Context, db *store.Store, run store.Run, name string) (scoreSource, error) {
	if name == "" {
		return scoreSource{}, nil
	}
	pass, err := db.FindScorePass(ctx, run.ID, name)
	if err != nil {
		return scoreSource{}, fmt.Errorf("run %s: %w", run.Name, err)
	}
	if pass.State != "done" {
		return scoreSource{}, errext.WithHint(fmt.Errorf("score pass %d of run %s is not complete", pass.ID, run.Name),
			"let harness score finish it; the same command goes on where it stopped")
	}
	groups, err := db.ScoredGroups(ctx, pass.ID)
	if err != nil {
		return scoreSource{}, err
	}
	h := sha256.New()
	fmt.Fprintln(h, pass.Key)
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintln(h, g, groups[g])
	}
	return scoreSource{pass, hex.EncodeToString(h.Sum(nil))}, nil
}

// read returns the scores by step. Steps that the pass could not score have none.
func (s scoreSource) read(ctx context.Context, db *store.Store) (map[int64]*creditrun.Score, error) {
	if s.key == "" {
		return nil, nil
	}
	all, err := db.CreditScores(ctx, s.pass.ID)
	if err != nil {
		return nil, err
	}
	out := make(map[int64]*creditrun.Score, len(all))
	for i := range all {
		r := &all[i]
		out[r.Step] = &creditrun.Score{Student: r.Student, Teacher: r.Teacher, Action: r.Action}
	}
	return out, nil
}

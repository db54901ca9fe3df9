package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// judgeFlags say who judges trajectories, for the judged modes.
type judgeFlags struct {
	spec string
}

func (j *judgeFlags) flags(cmd *cobra.Command) {}

func (j *judgeFlags) run(ctx context.Context, g *globals, db *store.Store, opt *teacher.Options, quiet bool) error {
	return nil
}

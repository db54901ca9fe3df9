package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// parseModeName turns a mode's alias into its name.
func parseModeName(name string) (string, error) {
	m, err := teacher.ParseMode(name)
	return string(m), err
}

func newScoreList(g *globals) *cobra.Command {
	var (
		path, runName string
		asJSON        bool
	)
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the teacher passes of a run",
		Example: "  harness score list --run nightly",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readLedger(cmd.Context(), path, func(db *store.Store) error {
				run, err := runNamed(cmd.Context(), db, runName)
				if err != nil {
					return err
				}
				passes, err := db.ScorePasses(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				if asJSON {
					if passes == nil {
						passes = []harness.ScorePass{}
					}
					return writeJSON(g.stdout, passes)
				}
				if len(passes) == 0 {
					return noPasses(run.Name)
				}
				fmt.Fprintf(g.stdout, "run %s\n", printable(run.Name))
				return printPasses(g, passes)
			})
		},
	}
	ledgerFlag(cmd, &path)
	cmd.Flags().StringVar(&runName, "run", "", "the run (default: the last one of the ledger)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printPasses(g *globals, passes []harness.ScorePass) error {
	t := table{columns: []column{
		{title: "pass", right: true}, {title: "key"}, {title: "mode"}, {title: "teacher"}, {title: "update", right: true}, {title: "state"}, {title: "updated"},
	}}
	for _, p := range passes {
		t.add(strconv.FormatInt(p.ID, 10), p.Key[:min(len(p.Key), 10)], p.Mode, p.Teacher, updateOf(p.PolicyVersion), p.State, p.Updated.Local().Format(time.DateTime))
	}
	return t.write(g.stdout)
}

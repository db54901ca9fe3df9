package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/credit/creditverify"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/internal/errext"
)

func newVerifyALFWorld(g *globals) *cobra.Command {
	var data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "alfworld FILE…",
		Short: "Replay transcripts of the original Python environment in the native engine",
		Long: `Each FILE is JSON lines, plain or gzipped: a line {game, assets} opens a game, then one line per step.
A case is one episode of one game; its first difference is printed.`,
		Example: "  harness verify alfworld played-2.1.2.jsonl.gz --data $ALFWORLD_DATA",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if data == "" {
				return usageError(cmd, errext.WithHint(errors.New("verify alfworld needs the games of the transcripts: --data is not given"), "harness verify alfworld FILE… --data $ALFWORLD_DATA"))
			}
			games, err := alfworld.OpenLibrary(cmd.Context(), data)
			if err != nil {
				return err
			}
			notes := map[string]int{}
			check := func(name string, r io.Reader, report func(string)) (int, int, error) {
				return alfworld.Verify(cmd.Context(), r, games, func(c alfworld.Case) {
					if c.Note != "" {
						notes[c.Note]++
					}
					if c.Err != nil {
						report(fmt.Sprintf("%s: %s (%s), episode %s: %v", filepath.Base(name), c.Game, c.Assets, c.Episode, c.Err))
					}
				})
			}
			return runVerify(g, args, asJSON, check, func() { printNotes(g, notes) })
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "folder that holds json_2.1.1, a .tar.xz of it, or a folder of games-*.tar.xz")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newVerifyCredit(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "credit FILE…",
		Short:   "Recompute reference vectors of advantages, weights and entropy factors",
		Example: "  harness verify credit group_advantages.json gigpo_hgpo.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return runVerify(g, args, asJSON, creditverify.Verify)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printNotes prints what was remarkable in how many cases.
func printNotes(g *globals, notes map[string]int) {
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		fmt.Fprintf(g.stderr, "note: %s: %s\n", plural(notes[note], "case"), note)
	}
}

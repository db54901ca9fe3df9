package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// completeNames makes the shell complete the names of runs, wherever a command of this tree takes one,
// and those of a teacher's modes.
func completeNames(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		completeNames(sub)
	}
	if cmd.Flags().Lookup("db") == nil {
		return
	}
	if cmd.Flags().Lookup("run") != nil {
		complete(cmd, "run", completeRun)
	}
	if cmd.Flags().Lookup("resume") != nil {
		complete(cmd, "resume", completeRun)
	}
	if cmd.Flags().Lookup("mode") != nil {
		complete(cmd, "mode", completeModes)
	}
}

func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag is there, and nobody else completes it
	}
}

// completeRun lists the runs of the ledger that is named so far; a baseline's, before any other run, may be another.
func completeRun(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	if cmd.PreRunE != nil { // the environment or a file may name it (configurable)
		if err := cmd.PreRunE(cmd, args); err != nil {
			cobra.CompDebugln(err.Error(), false)
			return nil, cobra.ShellCompDirectiveError
		}
	}
	ledger := cmd.Flag("db").Value.String()
	if f := cmd.Flag("baseline-db"); f != nil && len(args) == 0 {
		ledger = cmp.Or(f.Value.String(), ledger)
	}
	err := readLedger(cmd.Context(), ledger, func(db *store.Store) error {
		runs, err := db.Runs(cmd.Context())
		for _, r := range runs {
			names = append(names, cobra.CompletionWithDesc(r.Name, r.PanelName+", "+r.Policy))
		}
		return err
	})
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeModes completes the last of a list of modes, with one that the list does not have yet.
func completeModes(_ *cobra.Command, _ []string, typed string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	given := strings.Split(before, ",")
	for _, m := range teacher.Modes() {
		if !slices.Contains(given, string(m)) {
			names = append(names, before+string(m))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

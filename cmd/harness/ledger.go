package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/templatefile"
	"github.com/hindsightrl/harness/store"
)

// defaultDB is the ledger that commands use when none is named.
const defaultDB = "hindsight.db"

// ledgerFlag adds --db to a command.
func ledgerFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "db", defaultDB, "the ledger: one SQLite file")
}

// readLedger opens the ledger for reading, hands it to f and closes it.
func readLedger(ctx context.Context, path string, f func(*store.Store) error) error {
	if path == "" {
		return errext.WithCode(errors.New("--db is empty: name a ledger's file"), exitUsage)
	}
	db, err := store.OpenReadOnly(ctx, path)
	switch {
	case errors.Is(err, store.ErrOutdated):
		return errext.WithHint(err, "harness db migrate --db "+shellWord(path)+"   # brings the tables up to date and keeps every row")
	case err != nil:
		return errext.WithHint(err, hintOr(err, "harness rollout --db "+shellWord(path)))
	}
	defer db.Close()
	return f(db)
}

// runNamed reads the run of this name, the last one for "". An unknown name is answered with those that there are.
func runNamed(ctx context.Context, db *store.Store, name string) (store.Run, error) {
	run, err := db.RunByName(ctx, name)
	if !errors.Is(err, store.ErrNotFound) {
		return run, err
	}
	runs, listErr := db.Runs(ctx)
	if listErr != nil || len(runs) == 0 {
		return run, errext.WithHint(err, "the ledger has no run yet: harness rollout")
	}
	names := make([]string, len(runs))
	for i, r := range runs {
		names[i] = r.Name
	}
	hint := "its runs are "
	if near := templatefile.Misspelt(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s? its runs are ", shellWord(near))
	}
	if tail := names[max(0, len(names)-maxNamesInHint):]; len(tail) < len(names) {
		return run, errext.WithHint(err, fmt.Sprintf("%s%s and %d more: harness runs", hint, shellLine(tail), len(names)-len(tail)))
	}
	return run, errext.WithHint(err, hint+shellLine(names))
}

// maxNamesInHint is how many names of runs a hint lists.
const maxNamesInHint = 8

// noStep is the error of a step that an episode of n steps does not have.
func noStep(episode int64, step, n int) error {
	err := fmt.Errorf("episode %d has no step %d", episode, step)
	if n == 0 {
		return errext.WithHint(err, "it has none")
	}
	return errext.WithHint(err, fmt.Sprintf("its steps are 0 to %d", n-1))
}

// hintOr is the hint that err carries, or fallback.
func hintOr(err error, fallback string) string {
	if h := errext.Hint(err); h != "" {
		return h
	}
	return fallback
}

// episodeArg reads an episode id from the command line: "17" or "E17".
func episodeArg(cmd *cobra.Command, arg string) (int64, error) {
	digits := arg
	if len(digits) > 1 && (digits[0] == 'E' || digits[0] == 'e') {
		digits = digits[1:]
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || id < 1 {
		return 0, usageError(cmd, fmt.Errorf("episode %q: want a number as `harness runs NAME` lists them", arg))
	}
	return id, nil
}

// onEpisode makes a command's RunE of what it does with the one episode that it takes as argument. The
// path is read when the command runs, after its flags.
func onEpisode(path *string, run func(ctx context.Context, db *store.Store, id int64) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := episodeArg(cmd, args[0])
		if err != nil {
			return err
		}
		return readLedger(cmd.Context(), *path, func(db *store.Store) error { return run(cmd.Context(), db, id) })
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
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
	if err != nil {
		return errext.WithHint(err, hintOr(err, "harness rollout --db "+path))
	}
	defer db.Close()
	return f(db)
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

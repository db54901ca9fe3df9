package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

func newDB(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "db",
		Short:   "Look after a ledger",
		GroupID: "prove",
	}
	cmd.AddCommand(newDBCheck(g), newDBMigrate(g))
	return cmd
}

func newDBCheck(g *globals) *cobra.Command {
	var path string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Verify every invariant of a ledger",
		Example: "  harness db check --db nightly.db",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readLedger(cmd.Context(), path, func(db *store.Store) error {
				found, err := db.Check(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					if found == nil {
						found = []store.Violation{}
					}
					err = writeJSON(g.stdout, found)
				} else {
					for _, v := range found {
						fmt.Fprintln(g.stdout, v)
					}
					fmt.Fprintf(g.stdout, "%s: %s\n", path, plural(len(found), "violation"))
				}
				if len(found) > 0 {
					err = errors.Join(err, errext.WithCode(fmt.Errorf("ledger %q breaks %s", path, plural(len(found), "invariant")), exitBelow))
				}
				return err
			})
		},
	}
	ledgerFlag(cmd, &path)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newDBMigrate(g *globals) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Bring a ledger of an older version up to date; what it holds stays",
		Example: "  harness db migrate --db nightly.db",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Stat(path); err != nil {
				return errext.WithHint(fmt.Errorf("migrate ledger: %w", err), "name an existing ledger with --db")
			}
			db, err := store.Open(cmd.Context(), path, store.Config{Now: g.now})
			if err != nil {
				return err
			}
			if err := db.Close(); err != nil {
				return err
			}
			fmt.Fprintf(g.stdout, "%s is up to date\n", path)
			return nil
		},
	}
	ledgerFlag(cmd, &path)
	return cmd
}

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
	cmd.AddCommand(newDBCheck(g), newDBSeal(g), newDBCopy(g), newDBMigrate(g))
	return cmd
}

func newDBCheck(g *globals) *cobra.Command {
	var path, seal string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Verify every invariant of a ledger, and that it is as it was sealed",
		Long: `check verifies a ledger's structure and every invariant that its rows must keep (docs/formats.md lists
them). Where harness db seal has left a seal, it also compares all that was sealed with its digests.`,
		Example: "  harness db check --db nightly.db",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readLedger(cmd.Context(), path, func(db *store.Store) error {
				found, err := db.Check(cmd.Context())
				if err != nil {
					return err
				}
				sealed, said, err := checkSeal(cmd.Context(), db, path, seal)
				if err != nil {
					return err
				}
				found = append(found, sealed...)
				if asJSON {
					if found == nil {
						found = []store.Violation{}
					}
					err = writeJSON(g.stdout, found)
				} else {
					for _, v := range found {
						fmt.Fprintln(g.stdout, v)
					}
					fmt.Fprintln(g.stdout, said)
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
	cmd.Flags().StringVar(&seal, "seal", "", "seal to compare with (default: the ledger's name and .seal, where that is there)")
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

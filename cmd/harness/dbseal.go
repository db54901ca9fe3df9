package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// sealSuffix names the seal of a ledger, beside it.
const sealSuffix = ".seal"

func newDBSeal(g *globals) *cobra.Command {
	var path, out string
	cmd := &cobra.Command{
		Use:   "seal",
		Short: "Note digests of what a ledger holds, so that damage shows later",
		Long: `seal writes SHA-256 digests of every closed attempt, credit pass and scored group of a ledger to a file
beside it. db check compares the ledger with them: it then finds any changed bit, also one that leaves a
value which still reads well, such as another letter of a text or another log-probability.

Seal a ledger after a run, before it is copied or laid by. A file that is there already is completed;
where the ledger is not what it says, nothing is written. It may run while a run writes.`,
		Example: `  harness db seal --db nightly.db
  harness db check --db nightly.db`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				out = path + sealSuffix
			}
			return readLedger(cmd.Context(), path, func(db *store.Store) error { return sealLedger(cmd.Context(), g, db, path, out) })
		},
	}
	ledgerFlag(cmd, &path)
	cmd.Flags().StringVar(&out, "out", "", "file to write or complete (default: the ledger's name and .seal)")
	return cmd
}

func sealLedger(ctx context.Context, g *globals, db *store.Store, path, out string) error {
	earlier, err := readSeal(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fresh, found, err := db.Seal(ctx, earlier)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		for _, v := range found {
			fmt.Fprintln(g.stdout, v)
		}
		return errext.WithHint(errext.WithCode(fmt.Errorf("ledger %q is not as it was sealed in %s: nothing was written", path, out), exitBelow),
			"harness db check --db "+path+" says what else is damaged; a sound copy of the ledger is what helps")
	}
	err = writeWhole(out, func(f *os.File) error {
		_, err := fresh.WriteTo(f)
		return errors.Join(err, f.Sync())
	})
	if err != nil {
		return fmt.Errorf("write seal %s: %w", out, err)
	}
	fmt.Fprintf(g.stdout, "%s: %s\n", out, coverage(fresh, fresh))
	return nil
}

// readSeal reads a seal's file.
func readSeal(path string) (*store.Seal, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := store.ReadSeal(f)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("%s: %w", path, err), "take the file from a copy, or remove it and seal anew: harness db seal")
	}
	return s, nil
}

// checkSeal compares a ledger with its seal. Without a name it is the file beside the ledger, where there
// is one; said is a line about what is covered.
func checkSeal(ctx context.Context, db *store.Store, path, name string) (found []store.Violation, said string, err error) {
	file := name
	if name == "" {
		file = path + sealSuffix
	}
	earlier, err := readSeal(file)
	if name == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, "no seal: a changed bit that still reads well does not show (harness db seal)", nil
	}
	if err != nil {
		return nil, "", err
	}
	fresh, found, err := db.Seal(ctx, earlier)
	if err != nil {
		return nil, "", err
	}
	return found, "sealed: " + coverage(fresh, earlier), nil
}

func coverage(fresh, earlier *store.Seal) string {
	a, c, s := fresh.Cover(earlier)
	return fmt.Sprintf("%d of %s, %d of %s, %d of %s", a.Sealed, plural(a.All, "closed attempt"), c.Sealed, pluralOf(c.All, "credit pass", "credit passes"), s.Sealed, plural(s.All, "scored group"))
}

// pluralOf is plural for a word that takes more than an s.
func pluralOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

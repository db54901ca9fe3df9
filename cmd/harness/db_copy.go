package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/store"
)

func newDBCopy(g *globals) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "copy FILE",
		Short: "Copy a ledger into one whole file, also while a run writes to it",
		Long: `copy writes the ledger as it stands at this moment into a new file: to keep it, to work on it elsewhere, to take
it to another machine. Use it in place of cp: what a run wrote last lies in a log beside the ledger, and a copy of
the file alone lacks it. An existing file is never replaced.`,
		Example: `  harness db copy --db nightly.db /mnt/backup/nightly.db
  harness db copy saturday.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if path == "" || args[0] == "" {
				return usageError(cmd, fmt.Errorf("copy %q to %q: name two files", path, args[0]))
			}
			if err := store.Copy(cmd.Context(), path, args[0]); err != nil {
				return err
			}
			info, err := os.Stat(args[0])
			if err != nil {
				return fmt.Errorf("look at the copy: %w", err)
			}
			fmt.Fprintf(g.stdout, "%s: %.1f MB, a copy of %s\n", printable(args[0]), float64(info.Size())/1e6, printable(path))
			fmt.Fprintf(g.stderr, "look inside:  harness runs --db %s;  harness db check --db %s\n", shellWord(args[0]), shellWord(args[0]))
			return nil
		},
	}
	ledgerFlag(cmd, &path)
	return cmd
}

package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/envs/swebench"
)

func newVerifySWEBench(g *globals) *cobra.Command {
	var data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "swebench FILE…",
		Short: "Grade recorded test logs and compare with the official verdicts",
		Long: `Each FILE is JSON lines, plain or gzipped: one line per log with what the official graders said of it.
The logs lie in the .tar.xz of the same name beside it. A case is one log, graded under the semantics of
releases 5.0.2 and 4.1.0; its first difference is printed.`,
		Example: "  harness verify swebench logs-v4.jsonl.gz --data $SWEBENCH_DATA",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := swebench.OpenDataset(data)
			if err != nil {
				return err
			}
			config := swebench.VerifyConfig{Data: rows}
			check := func(name string, r io.Reader, report func(string)) (int, int, error) {
				return swebench.Verify(cmd.Context(), name, r, config, func(line string) {
					report(fmt.Sprintf("%s: %s", filepath.Base(name), line))
				})
			}
			return runVerify(g, args, asJSON, check)
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "folder of dataset rows (.parquet, .jsonl, .json), or one such file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	if err := cmd.MarkFlagRequired("data"); err != nil {
		panic(err) // the flag is declared above
	}
	return cmd
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/credit/creditverify"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/teacher/serlverify"
)

func newVerifySERL(g *globals) *cobra.Command {
	var (
		templates string
		asJSON    bool
	)
	cmd := &cobra.Command{
		Use:   "serl FILE…",
		Short: "Recompute reference vectors of teacher contexts, action spans, projections and token weights",
		Long: `Each FILE is a JSON array of cases, plain or gzipped; its kind is told from its fields. Contexts are written
with --templates, which must hold the strings of the implementation that made the vectors.`,
		Example: "  harness verify serl teacher_contexts.json action_spans.json --templates templates.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := readTeacherTemplates(templates)
			if err != nil {
				return errext.WithCode(err, exitUsage)
			}
			files := withoutFile(args, templates) // a glob of the vectors' folder takes their templates in
			if len(files) == 0 {
				return hintUsage(fmt.Errorf("%s holds templates, not cases", templates), "name the files of cases too")
			}
			return runVerify(g, files, asJSON, func(name string, r io.Reader, report func(string)) (int, int, error) {
				data, err := io.ReadAll(r)
				if err != nil {
					return 0, 0, err
				}
				passed, failed, err := serlverify.Verify(name, bytes.NewReader(data), t, report)
				if errors.Is(err, serlverify.ErrUnknownKind) {
					return creditverify.Verify(name, bytes.NewReader(data), report)
				}
				return passed, failed, err
			})
		},
	}
	cmd.Flags().StringVar(&templates, "templates", "", "file of the strings that the vectors were made with (default: this project's own, for vectors made with them)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// withoutFile leaves out of paths those that are the file at path.
func withoutFile(paths []string, path string) []string {
	other, err := os.Stat(path)
	if err != nil {
		return paths
	}
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		info, err := os.Stat(p)
		return err == nil && os.SameFile(info, other)
	})
}

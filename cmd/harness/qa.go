package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/qa"
	questions "github.com/hindsightrl/harness/envs/qa/embedded"
	"github.com/hindsightrl/harness/internal/answer"
)

// qaFlags are what questions have to choose.
type qaFlags struct {
	exact     bool
	tolerance float64
}

func (f *qaFlags) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.exact, "exact-answers", false, "qa: an answer is right where its text is the reference's; by default 1/2 is 0.5, and 5 cm is 5")
	fl.Float64Var(&f.tolerance, "answer-tolerance", answer.DefaultTolerance, "qa: how far a number with a decimal point, a root or π may be off, relative to the larger one")
}

// open opens questions from a file or folder, or the embedded ones.
func (f *qaFlags) open(ctx context.Context, data string) (*qa.Suite, error) {
	cfg := qa.DefaultConfig()
	cfg.Rules = answer.Rules{Exact: f.exact, Tolerance: f.tolerance}
	if data == "" {
		return questions.Suite(ctx, cfg)
	}
	return qa.New(ctx, data, cfg)
}

// panel is the questions of a split, or all of them.
func (f *qaFlags) panel(ctx context.Context, suite harness.Suite, data, split string) (harness.Panel, error) {
	tasks, err := suite.Tasks(ctx, split)
	if err != nil {
		return harness.Panel{}, err
	}
	name := qa.Name
	if split != "" {
		name += "-" + split
	}
	if data == "" {
		name = "embedded-" + name
	}
	return harness.Panel{Name: name, Tasks: slices.Clone(tasks)}, nil
}

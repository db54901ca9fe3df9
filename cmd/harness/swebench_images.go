package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newSWEBenchImages(_ stops, _ *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "images",
		Short:   "Build the images of the embedded instances",
		Example: "  harness swebench images",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("the embedded images cannot be built yet")
		},
	}
}

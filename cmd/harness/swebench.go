package main

import "github.com/spf13/cobra"

func newSWEBench(st stops, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "swebench",
		Short: "Evaluate patches of SWE-bench, build its embedded images",
		Long: `swebench holds what repairing repositories in containers needs beside a rollout.

Episodes are collected with: harness rollout --env swebench`,
		GroupID: "run",
	}
	cmd.AddCommand(newSWEBenchImages(st, g), newSWEBenchEval(st, g))
	return cmd
}

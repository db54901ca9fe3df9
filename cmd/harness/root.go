package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/internal/errext"
)

// run executes one command line and returns the exit code.
func run(st stops, g *globals, args []string) int {
	root := newRoot(st, g)
	root.SetArgs(args)
	err := root.ExecuteContext(st.soft) // commands that can end gracefully take st themselves
	return finish(g, err, st.soft.Err() != nil)
}

// finish prints a command's error, unless the command has, and returns the exit code.
func finish(g *globals, err error, stopped bool) int {
	if err == nil {
		return exitOK
	}
	if !errors.As(err, new(reported)) {
		printError(g, err)
	}
	if stopped && errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	return errext.Code(err, exitFailed)
}

// reported marks an error that its command has told the user already, so that run adds nothing.
type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// printError prints an error and its remedy. Both may quote a server, a file or a ledger: their control
// characters do not reach the terminal.
func printError(g *globals, err error) {
	fmt.Fprintf(g.stderr, "harness: %s\n", printable(err.Error()))
	if hint := errext.Hint(err); hint != "" {
		fmt.Fprintf(g.stderr, "hint: %s\n", printable(hint))
	}
}

// newRoot builds the command tree. Each subcommand lives in a file of its own name.
func newRoot(st stops, g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "harness",
		Short: "Collect agent rollouts, score them in hindsight, feed trainers",
		Long: `harness drives language-model agents through multi-turn environments, records every token and
every piece of feedback in one SQLite file, and turns what was learned afterwards into per-token
credit for a trainer.

Start with:  harness rollout`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       codeVersion(),
	}
	root.SetIn(g.stdin)
	root.SetOut(g.stdout)
	root.SetErr(g.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(cmd, err)
	})
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Collect:"},
		&cobra.Group{ID: "look", Title: "Look at what was collected:"},
		&cobra.Group{ID: "feed", Title: "Feed a trainer:"},
		&cobra.Group{ID: "prove", Title: "Check and convince:"},
	)
	root.AddCommand(
		newRollout(st, g), newPanel(g), newEnv(st, g), newModel(st, g),
		newRuns(g), newCompare(g), newShow(g), newReplay(g), newVote(g), newScore(st, g), newCredit(g), newExplain(g),
		newSWEBench(st, g),
		newServe(st, g), newTrainFeed(st, g), newExport(st, g), newImport(st, g),
		newDB(g), newVerify(g), newDoctor(g), newAnalyse(g), newConfig(g),
	)
	forbidStrayArgs(root)
	completeNames(root)
	return root
}

// usageError marks err as the user's and names the help to read, unless err knows a better remedy.
func usageError(cmd *cobra.Command, err error) error {
	return errext.WithCode(errext.WithHint(err, hintOr(err, cmd.CommandPath()+" --help")), exitUsage)
}

// forbidStrayArgs makes wrong arguments usage errors with a hint, and unknown subcommands errors
// that offer the nearest name.
func forbidStrayArgs(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = 2
	for _, sub := range cmd.Commands() {
		forbidStrayArgs(sub)
	}
	if cmd.HasSubCommands() && cmd.Run == nil && cmd.RunE == nil {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return errext.WithCode(errext.WithHint(err, "did you mean: "+cmd.CommandPath()+" "+strings.Join(near, ", ")), exitUsage)
			}
			return usageError(cmd, err)
		}
		return
	}
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil {
			check = cobra.NoArgs
		}
		if err := check(cmd, args); err != nil {
			return usageError(cmd, err)
		}
		return nil
	}
}

package main

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/store"
)

type showCommand struct {
	g       *globals
	db      string
	asJSON  bool
	prompts bool
	tokens  bool
	tree    bool
	step    int
	attempt int
}

func newShow(g *globals) *cobra.Command {
	c := &showCommand{g: g}
	cmd := &cobra.Command{
		Use:   "show EPISODE",
		Short: "Print an episode as a readable transcript",
		Example: `  harness show 17
  harness show 17 --step 3 --prompts
  harness show 17 --step 3 --tokens
  harness show 17 --tree
  harness show 17 --json`,
		GroupID: "look",
		Args:    cobra.ExactArgs(1),
		RunE:    onEpisode(&c.db, c.run),
	}
	ledgerFlag(cmd, &c.db)
	cmd.Flags().BoolVar(&c.asJSON, "json", false, "print JSON: every field, byte for byte")
	cmd.Flags().BoolVar(&c.prompts, "prompts", false, "print each step's prompt too")
	cmd.Flags().BoolVar(&c.tokens, "tokens", false, "print each response token: id, log-probability, entropy, and whether it is part of the action")
	cmd.Flags().BoolVar(&c.tree, "tree", false, "draw the tree that the episode belongs to: where it forks, how uncertain the policy was there, how each leaf ended")
	cmd.Flags().IntVar(&c.step, "step", -1, "only this step (0-based)")
	cmd.Flags().IntVar(&c.attempt, "attempt", 0, "a certain attempt (1-based; default: the one that counts)")
	return cmd
}

// transcript is what --json prints.
type transcript struct {
	store.Episode
	Attempts []store.Attempt `json:"attempts"`
	Steps    []harness.Step  `json:"steps"`
}

func (c *showCommand) run(ctx context.Context, db *store.Store, id int64) error {
	if c.tree {
		d, err := drawTree(ctx, db, id)
		switch {
		case err != nil:
			return err
		case c.asJSON:
			return writeJSON(c.g.stdout, d)
		}
		return d.write(c.g.stdout)
	}
	t, err := c.read(ctx, db, id)
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, t)
	}
	c.head(t)
	for _, s := range t.Steps {
		if err := c.print(s); err != nil {
			return err
		}
	}
	c.tail(t)
	return nil
}

func (c *showCommand) read(ctx context.Context, db *store.Store, id int64) (transcript, error) {
	ep, err := db.Episode(ctx, id)
	if err != nil {
		return transcript{}, err
	}
	t := transcript{Episode: ep}
	if t.Attempts, err = db.Attempts(ctx, id); err != nil {
		return t, err
	}
	attempt, err := pickAttempt(t, c.attempt)
	if err != nil {
		return t, err
	}
	for s, err := range db.Steps(ctx, attempt) {
		if err != nil {
			return t, err
		}
		if c.step < 0 || s.Index == c.step {
			t.Steps = append(t.Steps, s)
		}
	}
	if c.step >= 0 && len(t.Steps) == 0 {
		return t, noStep(id, c.step, attemptSteps(t, attempt))
	}
	return t, nil
}

// attemptSteps is how many steps the attempt of this ledger id has.
func attemptSteps(t transcript, id int64) int {
	for _, a := range t.Attempts {
		if a.ID == id {
			return a.Steps
		}
	}
	return 0
}

// pickAttempt returns the ledger id of the numbered attempt; 0 means the one that closed the episode,
// or else the last.
func pickAttempt(t transcript, number int) (int64, error) {
	if number == 0 && t.Attempt != 0 {
		return t.Attempt, nil
	}
	if number == 0 && len(t.Attempts) > 0 {
		return t.Attempts[len(t.Attempts)-1].ID, nil
	}
	for _, a := range t.Attempts {
		if a.Number == number {
			return a.ID, nil
		}
	}
	if len(t.Attempts) == 0 {
		return 0, fmt.Errorf("episode %d has not begun", t.ID)
	}
	return 0, fmt.Errorf("episode %d has no attempt %d, only %d", t.ID, number, len(t.Attempts))
}

func (c *showCommand) head(t transcript) {
	fmt.Fprintf(c.g.stdout, "episode %d   group %d, sample %d   %s\n", t.ID, t.Group, t.Sample, t.Task.Type)
	fmt.Fprintf(c.g.stdout, "task    %s\n", t.Task.Key())
	if f := t.Fork; f != nil {
		fmt.Fprintf(c.g.stdout, "leaf    of episode %d, from step %d, token %d on\n", f.Parent, f.Step, f.Token)
	}
}

func (c *showCommand) print(s harness.Step) error {
	w := c.g.stdout
	mark := ""
	if !s.Valid {
		mark = "   (invalid response)"
	}
	switch {
	case s.Shared:
		mark += "   (shared)"
	case s.SharedTokens > 0:
		mark += fmt.Sprintf("   (its first %s shared)", plural(s.SharedTokens, "token"))
	}
	fmt.Fprintf(w, "\n── step %d%s\n", s.Index, mark)
	if c.prompts {
		for _, m := range s.Prompt {
			fmt.Fprintf(w, "%s:\n%s\n", m.Role, indent(m.Content))
		}
	} else if s.Index == 0 || c.step >= 0 {
		fmt.Fprintf(w, "%s\n", indent(s.Anchor))
	}
	fmt.Fprintf(w, "response:\n%s\n", indent(s.Response))
	if c.tokens {
		if err := c.tokenTable(s); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "> %s\n", printable(s.Action))
	fmt.Fprintf(w, "%s\n", indent(s.Next.Text))
	if s.Privileged != "" {
		fmt.Fprintf(w, "  [only the environment knows: %s]\n", printable(s.Privileged))
	}
	if s.Reward != 0 {
		fmt.Fprintf(w, "  [reward %g]\n", s.Reward)
	}
	return nil
}

func (c *showCommand) tail(t transcript) {
	w := c.g.stdout
	fmt.Fprintln(w)
	switch {
	case t.Outcome != nil:
		fmt.Fprintf(w, "%s after %s: reward %g, score %g", t.Outcome.Stop, plural(t.Outcome.Steps, "step"), t.Outcome.Reward, t.Outcome.Score)
		if t.Outcome.Invalid > 0 {
			fmt.Fprintf(w, ", %s", plural(t.Outcome.Invalid, "invalid response"))
		}
		fmt.Fprintln(w)
	case t.Failure != nil:
		fmt.Fprintf(w, "failed (%s) while trying to %s: %s\n", t.Failure.Kind, t.Failure.Op, printable(t.Failure.Message))
	default:
		fmt.Fprintf(w, "%s\n", t.Status)
	}
	if len(t.Attempts) > 1 {
		for _, a := range t.Attempts {
			why := ""
			if a.Failure != nil {
				why = ": " + string(a.Failure.Kind) + ": " + firstLine(a.Failure.Message)
			}
			fmt.Fprintf(w, "attempt %d: %s, %s%s\n", a.Number, a.State, plural(a.Steps, "step"), why)
		}
	}
}

// printable keeps characters of outside text that would steer the terminal from reaching it: controls,
// and those that turn the direction of writing, which make a line read as what it is not.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			return r
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(printable(s), "\n", "\n  ")
}

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// scoreResult is what --json prints.
type scoreResult struct {
	Run     string           `json:"run"`
	Teacher teacher.Identity `json:"teacher"`
	teacher.Report
}

func scoredRows(r teacher.Report) int {
	n := 0
	for _, p := range r.Passes {
		n += p.Counts.Rows[harness.ScoreDone]
	}
	return n
}

func (c *scoreCommand) print(run store.Run, who teacher.Identity, r teacher.Report) error {
	if c.asJSON {
		return writeJSON(c.g.stdout, scoreResult{run.Name, who, r})
	}
	w := c.g.stdout
	t := table{columns: []column{
		{title: "mode"},
		{title: "pass", right: true},
		{title: "scored", right: true},
		{title: "no context", right: true},
		{title: "too long", right: true},
		{title: "no tokens", right: true},
		{title: "other", right: true},
		{title: "shortened", right: true},
		{title: "tokens", right: true},
		{title: "of actions", right: true},
	}}
	for _, p := range r.Passes {
		rows, other := p.Counts.Rows, 0
		for status, n := range rows {
			switch status {
			case harness.ScoreDone, harness.ScoreNoContext, harness.ScoreTooLong, harness.ScoreNoTokens:
			default:
				other += n
			}
		}
		name, pass := p.Pass.Mode, strconv.FormatInt(p.Pass.ID, 10)
		if p.Privileged {
			name += " (privileged)"
		}
		if c.dryRun {
			pass = "-"
		}
		t.add(name, pass, strconv.Itoa(rows[harness.ScoreDone]), strconv.Itoa(rows[harness.ScoreNoContext]), strconv.Itoa(rows[harness.ScoreTooLong]),
			strconv.Itoa(rows[harness.ScoreNoTokens]), strconv.Itoa(other), strconv.Itoa(p.Counts.Shortened), strconv.Itoa(p.Counts.Tokens), percent(p.Counts.Marked, p.Counts.Tokens))
	}
	if err := t.write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nteacher %s, run %s\n", who, run.Name)
	if len(r.Passes) > 0 && len(r.Passes[0].Counts.Rows) == 0 {
		fmt.Fprintln(w, "the run has no finished episode: there is nothing to score")
	}
	if r.FailedEpisodes+r.OpenEpisodes > 0 {
		fmt.Fprintf(w, "left out: %s that failed, %d that are not finished\n", plural(r.FailedEpisodes, "episode"), r.OpenEpisodes)
	}
	for _, line := range uncovered(r) {
		fmt.Fprintln(w, line)
	}
	switch {
	case c.dryRun:
		c.printPrice(r)
	case r.UpToDate:
		fmt.Fprintln(w, "up to date: nothing was asked")
	default:
		fmt.Fprintf(w, "%s asked, %d known already, %d response tokens scored\n", plural(r.Calls, "question"), r.Cached, r.Scored)
		if len(r.Passes) > 1 {
			defer fmt.Fprintf(c.g.stderr, "side by side:  %s\n", shellLine([]string{"harness", "score", "table", "--run", run.Name, "--db", c.db}))
		}
		if r.Check != nil {
			fmt.Fprintf(w, "self-check: with an empty context %s differ by at most %.3g nats (tolerance %g)\n", plural(r.Check.Tokens, "token"), r.Check.MaxDelta, r.Check.Tolerance)
		}
	}
	return nil
}

// uncovered says why modes have no context anywhere, or no tokens, where that is known.
func uncovered(r teacher.Report) []string {
	var success, feedback, tokens []string
	for _, p := range r.Passes {
		rows, n := p.Counts.Rows, 0
		for _, k := range rows {
			n += k
		}
		mode := teacher.Mode(p.Pass.Mode)
		switch {
		case n == 0:
		case rows[harness.ScoreNoTokens] == n:
			tokens = append(tokens, p.Pass.Mode)
		case rows[harness.ScoreNoContext] != n:
		case mode.NeedsSuccess():
			success = append(success, p.Pass.Mode)
		case mode.Source() == teacher.ImmediateFeedback:
			feedback = append(feedback, p.Pass.Mode)
		}
	}
	var out []string
	add := func(names []string, why string) {
		if len(names) > 0 {
			out = append(out, fmt.Sprintf("no delta anywhere in %s: %s", strings.Join(names, ", "), why))
		}
	}
	add(tokens, "the policy gave text alone, and only tokens can be scored")
	add(feedback, "no step has immediate feedback (shops answer with the next page alone, which is next_observation)")
	add(success, "no step has all of the parts; a successful trajectory of another episode of the same group is one of them")
	return out
}

// printPrice foretells what the pass would ask.
func (c *scoreCommand) printPrice(r teacher.Report) {
	w := c.g.stdout
	fmt.Fprintf(w, "dry run: %s to ask, %d known already\n", plural(r.Missing, "question"), r.Cached)
	fmt.Fprintf(w, "tokens to send: %d of prompts, %d of responses\n", r.PromptTokens, r.AnswerTokens)
	if c.price > 0 {
		fmt.Fprintf(w, "price: %.2f (at %g for a million tokens)\n", c.price*float64(r.PromptTokens+r.AnswerTokens)/1e6, c.price)
	}
}

// showContext prints a context of a dry run, the first few of each mode.
func (c *scoreCommand) showContext(s teacher.Shown, shown map[teacher.Mode]int) {
	if shown[s.Mode] >= c.show {
		return
	}
	shown[s.Mode]++
	w := c.g.stdout
	fmt.Fprintf(w, "── %s, episode %d, step %d: %d tokens of prompt (%d without the context), %d of response\n", s.Mode, s.Episode.ID, s.Step, s.Tokens, s.Student, s.Answer)
	if s.Context.Left != (teacher.LeftOut{}) {
		l := s.Context.Left
		fmt.Fprintf(w, "   left out to fit: %d future steps, %d steps of the successful trajectory, %d candidates, %d characters\n", l.FutureSteps, l.SuccessSteps, l.Candidates, l.Characters)
	}
	for _, m := range s.Context.Messages {
		fmt.Fprintf(w, "%s:\n%s\n", m.Role, indent(m.Content))
	}
	fmt.Fprintln(w)
}

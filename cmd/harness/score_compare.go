package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
	"github.com/hindsightrl/harness/teacher"
)

// scoreCompare says where two passes agree.
type scoreCompare struct {
	g       *globals
	db      string
	runName string
	clip    float64
	plot    string
	asJSON  bool
}

func newScoreCompare(g *globals) *cobra.Command {
	c := &scoreCompare{g: g}
	cmd := &cobra.Command{
		Use:   "compare MODE MODE",
		Short: "Compare two modes over a run: agreement in sign, rank correlation, coverage, clipping",
		Long: `compare pairs the steps of two teacher passes and says, for all of them, for each environment and for
solved and unsolved episodes: how many steps each mode covers, how often the deltas of action tokens agree
in sign, their rank correlation, which share of weights is clipped, and how large deltas are on action
tokens and on the others. --plot writes the action tokens' deltas of one mode against the other's as SVG.`,
		Example: `  harness score compare immediate_feedback anchor_immediate_feedback
  harness score compare 3 12 --plot deltas.svg`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.clip < 0 || c.clip >= 1 {
				return usageError(cmd, fmt.Errorf("--clip %v: want 0 or more, and less than 1", c.clip))
			}
			return readLedger(cmd.Context(), c.db, func(db *store.Store) error { return c.run(cmd.Context(), db, args) })
		},
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.runName, "run", "", "the run (default: the last one of the ledger)")
	f.Float64Var(&c.clip, "clip", credit.DefaultSERL().Clip, "weights stay in [1−c, 1+c]")
	f.StringVar(&c.plot, "plot", "", "SVG file to write")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

// comparedModes is what --json prints.
type comparedModes struct {
	Run  string               `json:"run"`
	A    harness.ScorePass    `json:"a"`
	B    harness.ScorePass    `json:"b"`
	Clip float64              `json:"clip"`
	Sets []teacher.Comparison `json:"sets"`
}

func (c *scoreCompare) run(ctx context.Context, db *store.Store, names []string) error {
	run, err := runNamed(ctx, db, c.runName)
	if err != nil {
		return err
	}
	out := comparedModes{Run: run.Name, Clip: c.clip}
	if out.A, err = pickPass(ctx, db, run, names[0]); err != nil {
		return err
	}
	if out.B, err = pickPass(ctx, db, run, names[1]); err != nil {
		return err
	}
	pairs, err := pairScores(ctx, db, run.ID, out.A.ID, out.B.ID)
	if err != nil {
		return err
	}
	if len(pairs) == 0 {
		return errext.WithHint(fmt.Errorf("passes %d and %d hold no steps", out.A.ID, out.B.ID), shellLine([]string{"harness", "score", "--run", run.Name}))
	}
	out.Sets = teacher.Compare(pairs, c.clip)
	if c.plot != "" {
		if err := plotDeltas(c.plot, passName(out.A), passName(out.B), pairs); err != nil {
			return err
		}
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, out)
	}
	return c.print(out)
}

func passName(p harness.ScorePass) string { return fmt.Sprintf("%s (pass %d)", p.Mode, p.ID) }

// pairScores reads two passes and pairs their rows by step.
func pairScores(ctx context.Context, db *store.Store, run, a, b int64) ([]teacher.Paired, error) {
	episodes := map[int64]store.Episode{}
	for e, err := range db.Episodes(ctx, run, store.Filter{}) {
		if err != nil {
			return nil, err
		}
		episodes[e.ID] = e
	}
	byStep := map[int64]*harness.StepScore{}
	for s, err := range db.Scores(ctx, b, store.ScoreFilter{}) {
		if err != nil {
			return nil, err
		}
		byStep[s.StepID] = &s
	}
	pair := func(s *harness.StepScore) teacher.Paired {
		e := episodes[s.Episode]
		return teacher.Paired{Env: e.Task.Env, Won: e.Outcome != nil && e.Outcome.Won}
	}
	var out []teacher.Paired
	for s, err := range db.Scores(ctx, a, store.ScoreFilter{}) {
		if err != nil {
			return nil, err
		}
		p := pair(&s)
		p.A, p.B = &s, byStep[s.StepID]
		delete(byStep, s.StepID)
		out = append(out, p)
	}
	for _, s := range byStep { // steps that only the second pass holds
		p := pair(s)
		p.B = s
		out = append(out, p)
	}
	return out, nil
}

func (c *scoreCompare) print(r comparedModes) error {
	w := c.g.stdout
	fmt.Fprintf(w, "run %s\nA  %s\nB  %s\n\n", r.Run, passName(r.A), passName(r.B))
	t := table{columns: []column{
		{title: "set"},
		{title: "steps", right: true},
		{title: "A covers", right: true},
		{title: "B covers", right: true},
		{title: "both", right: true},
		{title: "tokens", right: true},
		{title: "same sign", right: true},
		{title: "Spearman", right: true},
		{title: "A clipped", right: true},
		{title: "B clipped", right: true},
		{title: "A action", right: true},
		{title: "A other", right: true},
		{title: "B action", right: true},
		{title: "B other", right: true},
	}}
	share := func(v float64, n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.FormatFloat(100*v, 'f', 1, 64) + "%"
	}
	for _, s := range r.Sets {
		rho := "-"
		if s.Defined {
			rho = strconv.FormatFloat(s.Spearman, 'f', 3, 64)
		}
		t.add(s.Name, strconv.Itoa(s.Steps), percent(s.A.Scored, s.Steps), percent(s.B.Scored, s.Steps), percent(s.Both, s.Steps), strconv.Itoa(s.Tokens),
			share(s.SameSign, s.Tokens), rho, share(s.A.Clipped, s.A.ActionTok), share(s.B.Clipped, s.B.ActionTok),
			meanOf(s.A.ActionAbs, s.A.ActionTok), meanOf(s.A.ReasonAbs, s.A.ReasonTok), meanOf(s.B.ActionAbs, s.B.ActionTok), meanOf(s.B.ReasonAbs, s.B.ReasonTok))
	}
	if err := t.write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\naction, other: mean |delta| in nats on tokens of the action and on the rest; clipped: share of action weights at 1±%g\n", r.Clip)
	if c.plot != "" {
		fmt.Fprintf(w, "plot: %s\n", c.plot)
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

type explainCommand struct {
	g      *globals
	db     string
	pass   string
	step   int
	spell  spellFlags
	asJSON bool
}

func newExplain(g *globals) *cobra.Command {
	c := &explainCommand{g: g}
	cmd := &cobra.Command{
		Use:   "explain EPISODE",
		Short: "Print the arithmetic from an episode's reward to the advantage of each token",
		Long: `explain computes the numbers of a credit pass again, by the plain formulas, and prints every step of
the way so that it can be checked by hand: the group and its rewards, the base advantage, the
response's entropy and factor, and for each token its weight before and after the clip. It compares
the result with the stored rows and fails where they differ.`,
		Example: `  harness explain 17 --step 3
  harness explain 17 --pass 2`,
		GroupID: "look",
		Args:    cobra.ExactArgs(1),
		RunE:    onEpisode(&c.db, c.run),
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.pass, "pass", "", "the credit pass: its number or the beginning of its key (default: the last over the episode's run)")
	f.IntVar(&c.step, "step", -1, "only this step (0-based)")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	c.spell.flags(cmd)
	return cmd
}

// explained is a step's explanation as --json prints it.
type explained struct {
	Episode int64  `json:"episode"`
	Index   int    `json:"step"`
	Action  string `json:"action"`
	creditrun.Explanation
	Stored store.Credit `json:"stored"`
	Texts  []string     `json:"texts"` // of the tokens; the ids where nothing can spell them
	Logps  []float32    `json:"logps"` // of the tokens as they were sampled, nats; null where the policy gave none
}

func (c *explainCommand) run(ctx context.Context, db *store.Store, id int64) error {
	pass, ep, err := c.find(ctx, db, id)
	if err != nil {
		return err
	}
	all, err := c.explain(ctx, db, pass, ep)
	if err != nil {
		return err
	}
	if c.asJSON {
		if err := writeJSON(c.g.stdout, all); err != nil {
			return err
		}
	} else {
		c.head(pass, ep, all[0].Members)
		for i := range all {
			if err := c.print(pass, &all[i]); err != nil {
				return err
			}
		}
	}
	for i := range all {
		if d := all[i].Differs(rowOf(&all[i].Stored)); d != "" {
			return errext.WithCode(errext.WithHint(fmt.Errorf("episode %d, step %d: %s", id, all[i].Index, d),
				"the pass was computed by other code, or the ledger was changed: harness db check"), exitBelow)
		}
	}
	if !c.asJSON {
		fmt.Fprintf(c.g.stdout, "\nThe arithmetic agrees with pass %d in every number.\n", pass.ID)
	}
	return nil
}

func (c *explainCommand) find(ctx context.Context, db *store.Store, id int64) (p savedPass, ep store.Episode, err error) {
	if ep, err = db.Episode(ctx, id); err != nil {
		return p, ep, err
	}
	var pass store.CreditPass
	if c.pass != "" {
		pass, err = db.FindCreditPass(ctx, c.pass)
	} else {
		pass, err = lastPass(ctx, db, ep.RunID)
	}
	if err != nil {
		return p, ep, err
	}
	p, err = decodePass(pass)
	switch {
	case err != nil:
		return p, ep, err
	case pass.RunID != ep.RunID:
		return p, ep, fmt.Errorf("pass %d is over another run than episode %d's", pass.ID, id)
	case ep.Outcome == nil:
		return p, ep, fmt.Errorf("episode %d is %s: only finished episodes get credit", id, ep.Status)
	}
	return p, ep, nil
}

// lastPass is the pass over a run that was computed last.
func lastPass(ctx context.Context, db *store.Store, runID int64) (store.CreditPass, error) {
	passes, err := db.CreditPasses(ctx, runID)
	if err != nil {
		return store.CreditPass{}, err
	}
	if len(passes) == 0 {
		run, err := db.Run(ctx, runID)
		if err != nil {
			return store.CreditPass{}, err
		}
		return store.CreditPass{}, errext.WithHint(fmt.Errorf("run %s has no credit pass", run.Name), "harness credit --run "+run.Name+" --db "+db.Path())
	}
	return passes[len(passes)-1], nil
}

// explain computes the explanations of the episode's steps, or of the one that was asked for.
func (c *explainCommand) explain(ctx context.Context, db *store.Store, p savedPass, ep store.Episode) ([]explained, error) {
	run, err := db.Run(ctx, p.RunID)
	if err != nil {
		return nil, err
	}
	steps, rows, err := passSteps(ctx, db, run, p)
	if err != nil {
		return nil, err
	}
	recorded, err := db.EpisodeSteps(ctx, ep.ID)
	if err != nil {
		return nil, err
	}
	texts, closeTexts, err := c.spell.open(ctx, c.g, run.Policy)
	if err != nil {
		return nil, err
	}
	defer closeTexts() //nolint:errcheck // a model that was only read
	var out []explained
	for i := range steps {
		if steps[i].Episode != ep.ID || c.step >= 0 && steps[i].Index != c.step {
			continue
		}
		e, err := creditrun.Explain(steps, p.cfg, i)
		if err != nil {
			return nil, err
		}
		st := &recorded[steps[i].Index]
		pieces, err := texts(ctx, st)
		if err != nil {
			return nil, fmt.Errorf("episode %d, step %d: %w", ep.ID, st.Index, err)
		}
		x := explained{Episode: ep.ID, Index: st.Index, Action: st.Action, Explanation: *e, Stored: rows[steps[i].ID], Texts: pieces}
		if st.Tokens != nil {
			x.Logps = st.Tokens.Logprobs
		}
		out = append(out, x)
	}
	if len(out) == 0 && c.step >= 0 {
		return nil, fmt.Errorf("episode %d has no step %d", ep.ID, c.step)
	}
	if reason := p.filteredReason(ep.Group); len(out) == 0 && reason != "" {
		return nil, fmt.Errorf("episode %d is not in pass %d: %s", ep.ID, p.ID, reason)
	}
	if len(out) == 0 {
		return nil, errext.WithHint(fmt.Errorf("episode %d is not in pass %d: it finished later", ep.ID, p.ID), "harness credit --run "+run.Name)
	}
	return out, nil
}

// passSteps reads the steps that a pass was computed from, and its rows by step.
func passSteps(ctx context.Context, db *store.Store, run store.Run, p savedPass) ([]creditrun.Step, map[int64]store.Credit, error) {
	credits, err := db.Credits(ctx, p.ID, 0)
	if err != nil {
		return nil, nil, err
	}
	rows := make(map[int64]store.Credit, len(credits))
	for _, r := range credits {
		rows[r.Step] = r
	}
	scores, err := findScores(ctx, db, run, p.Scores)
	if err != nil {
		return nil, nil, err
	}
	all, err := creditSteps(ctx, db, run, scores, p.cfg)
	if err != nil {
		return nil, nil, err
	}
	steps := all[:0]
	for i := range all {
		if _, ok := rows[all[i].ID]; ok { // episodes that finished after the pass are not in it
			steps = append(steps, all[i])
		}
	}
	return steps, rows, nil
}

func rowOf(r *store.Credit) creditrun.Row {
	return creditrun.Row{Step: r.Step, Base: r.Base, Factor: r.Factor, Tokens: r.Tokens}
}

func (c *explainCommand) head(p savedPass, ep store.Episode, members []creditrun.Member) {
	w := c.g.stdout
	fmt.Fprintf(w, "episode %d   group %d, sample %d   %s\n", ep.ID, ep.Group, ep.Sample, ep.Task.Key())
	fmt.Fprintf(w, "pass %d      %s over %s, response %s, token %s\n", p.ID, p.cfg.Estimator.Name, p.cfg.Estimator.Scope, p.cfg.Response, p.cfg.Token)
	if from := p.cfg.Reward.Name(); from != string(creditrun.RewardEnvironment) {
		fmt.Fprintf(w, "rewards     %s, in place of the environment's\n", from)
	}
	t := table{columns: []column{{title: "group member", right: true}, {title: "sample", right: true}, {title: "reward", right: true}, {title: "rows", right: true}, {title: "invalid", right: true}}}
	for _, m := range members {
		t.add(strconv.FormatInt(m.Episode, 10), strconv.Itoa(m.Sample), strconv.FormatFloat(m.Return, 'g', -1, 64), strconv.Itoa(m.Rows), strconv.Itoa(m.Invalid))
	}
	t.write(w) //nolint:errcheck // the next write meets the same error
}

func (c *explainCommand) print(p savedPass, e *explained) error {
	w := c.g.stdout
	fmt.Fprintf(w, "\n── step %d   > %s\n", e.Index, printable(e.Action))
	writeLines(w, append(slices.Clone(e.Base), e.Response...))
	if len(e.Tokens) == 0 {
		fmt.Fprintf(w, "  the policy gave no tokens: A = %g is the row's advantage\n", e.BaseAdvantage())
		return nil
	}
	a := e.BaseAdvantage() * e.Factor()
	if len(e.Response) > 0 {
		fmt.Fprintf(w, "  A·factor = %.8g·%.8g = %.8g\n", e.BaseAdvantage(), e.Factor(), a)
	}
	if p.cfg.Token != credit.TokenNone {
		schedule := fmt.Sprintf("%g at every update", p.cfg.SERL.Lambda)
		if k := p.cfg.SERL.DecaySteps; k > 0 {
			schedule = fmt.Sprintf("%g·max(0, 1 − %d/%d) = %.6g", p.cfg.SERL.Lambda, p.cfg.Update, k, e.Lambda)
		}
		fmt.Fprintf(w, "  λ = %s;  weighted token: %.8g·(%.6g + %.6g·w)\n", schedule, a, 1-e.Lambda, e.Lambda)
	}
	return c.tokens(p, e)
}

// writeLines prints an arithmetic: names and values in columns, then the formulas.
func writeLines(w io.Writer, lines []creditrun.Line) {
	width, values := 0, make([]string, len(lines))
	for i, l := range lines {
		width = max(width, columns(l.Name))
		values[i] = strconv.FormatFloat(l.Value, 'g', 8, 64)
	}
	for i, l := range lines {
		fmt.Fprintf(w, "  %s%s = %-14s %s\n", l.Name, strings.Repeat(" ", width-columns(l.Name)), values[i], l.Formula)
	}
}

// columns is the width of a short text on a terminal: combining marks have none.
func columns(s string) int {
	n := 0
	for _, r := range s {
		if !unicode.Is(unicode.Mn, r) {
			n++
		}
	}
	return n
}

// tokens prints a row per token; the columns of a token stage only where one ran.
func (c *explainCommand) tokens(p savedPass, e *explained) error {
	weigh := p.cfg.Token != credit.TokenNone
	t := table{columns: []column{{title: "  token", right: true}, {title: "text"}, {title: "entropy", right: true}, {title: "logp", right: true}}}
	if weigh {
		for _, title := range []string{"student", "teacher", "Δ", "exp(±Δ)", "w"} {
			t.columns = append(t.columns, column{title: title, right: true})
		}
	}
	t.columns = append(t.columns, column{title: "advantage", right: true})
	for j, k := range e.Tokens {
		row := []string{strconv.Itoa(j), strconv.Quote(printable(e.Texts[j])), fixed(k.Entropy), "-"}
		if e.Logps != nil {
			row[3] = fixed(float64(e.Logps[j]))
		}
		switch {
		case weigh && k.Weighted:
			row = append(row, fixed(k.Student), fixed(k.Teacher), fixed(k.Delta), fixed(k.Raw), fixed(k.Weight))
		case weigh && e.Scored:
			row = append(row, fixed(k.Student), fixed(k.Teacher), fixed(k.Delta), "", "1")
		case weigh:
			row = append(row, "-", "-", "-", "", "1")
		}
		t.add(append(row, strconv.FormatFloat(k.Advantage, 'f', 6, 64))...)
	}
	return t.write(c.g.stdout)
}

func fixed(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'f', 4, 64), "-0.0000", "0.0000", 1)
}

// stepTexts spells the tokens of a step.
type stepTexts func(ctx context.Context, s *harness.Step) ([]string, error)

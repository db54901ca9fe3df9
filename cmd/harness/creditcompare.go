package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/store"
)

type creditCompare struct {
	g      *globals
	db     string
	out    string
	top    int
	asJSON bool
}

func newCreditCompare(g *globals) *cobra.Command {
	c := &creditCompare{g: g}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two credit passes over a run: weights, mass on action tokens, ranks, what changed most",
		Example: `  harness credit compare 1 2
  harness credit compare 1 2 --out plots`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return readLedger(cmd.Context(), c.db, func(db *store.Store) error { return c.run(cmd, db, args[0], args[1]) })
		},
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.out, "out", "", "folder for plots (SVG)")
	f.IntVar(&c.top, "top", 10, "how many of the most changed steps to list")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

// compared is what --json prints.
type compared struct {
	A store.CreditPass `json:"pass_a"`
	B store.CreditPass `json:"pass_b"`
	creditrun.Comparison
	OnlyA int `json:"only_a"` // steps that the other pass lacks
	OnlyB int `json:"only_b"`
}

func (c *creditCompare) run(cmd *cobra.Command, db *store.Store, nameA, nameB string) error {
	ctx := cmd.Context()
	if c.top < 0 {
		return usageError(cmd, fmt.Errorf("--top %d: want 0 or more", c.top))
	}
	a, err := db.FindCreditPass(ctx, nameA)
	if err != nil {
		return err
	}
	b, err := db.FindCreditPass(ctx, nameB)
	if err != nil {
		return err
	}
	if a.RunID != b.RunID {
		return fmt.Errorf("passes %d and %d are over different runs: they have no step in common", a.ID, b.ID)
	}
	pairs, onlyA, onlyB, err := creditPairs(ctx, db, a, b)
	if err != nil {
		return err
	}
	res := compared{a, b, creditrun.Compare(pairs), onlyA, onlyB}
	if c.out != "" {
		if err := os.MkdirAll(c.out, 0o755); err != nil {
			return fmt.Errorf("make the folder for plots: %w", err)
		}
		if err := plotComparison(c.g, c.out, pairs, &res); err != nil {
			return err
		}
	}
	res.Changed = res.Changed[:min(c.top, len(res.Changed))]
	if c.asJSON {
		return writeJSON(c.g.stdout, res)
	}
	return c.print(&res)
}

// creditPairs puts the rows of two passes side by side.
func creditPairs(ctx context.Context, db *store.Store, a, b store.CreditPass) (pairs []creditrun.Pair, onlyA, onlyB int, err error) {
	rowsA, err := db.Credits(ctx, a.ID, 0)
	if err != nil {
		return nil, 0, 0, err
	}
	rowsB, err := db.Credits(ctx, b.ID, 0)
	if err != nil {
		return nil, 0, 0, err
	}
	masks, err := actionMasks(ctx, db, a, b)
	if err != nil {
		return nil, 0, 0, err
	}
	byStep := make(map[int64]*store.Credit, len(rowsB))
	for i := range rowsB {
		byStep[rowsB[i].Step] = &rowsB[i]
	}
	for i := range rowsA {
		r := &rowsA[i]
		other, ok := byStep[r.Step]
		if !ok {
			onlyA++
			continue
		}
		pairs = append(pairs, creditrun.Pair{Episode: r.Episode, Index: r.Index, A: rowOf(r), B: rowOf(other), Action: masks[r.Step]})
	}
	return pairs, onlyA, len(rowsB) - len(pairs), nil
}

// actionMasks reads which tokens are the action from a scoring pass of either side; where neither has
// one, from any over the run.
func actionMasks(ctx context.Context, db *store.Store, a, b store.CreditPass) (map[int64][]bool, error) {
	passes, err := db.ScorePasses(ctx, a.RunID)
	if err != nil {
		return nil, err
	}
	var pick *harness.ScorePass
	for i := range passes {
		if p := &passes[i]; pick == nil || p.Key == a.Scores || p.Key == b.Scores {
			pick = p
		}
	}
	out := map[int64][]bool{}
	if pick == nil {
		return out, nil
	}
	for r, err := range db.Scores(ctx, pick.ID, store.ScoreFilter{}) {
		if err != nil {
			return nil, err
		}
		if r.Status == harness.ScoreDone {
			out[r.StepID] = r.ActionMask
		}
	}
	return out, nil
}

func (c *creditCompare) print(r *compared) error {
	w := c.g.stdout
	t := table{columns: []column{{title: ""}, {title: fmt.Sprintf("A: pass %d", r.A.ID), right: true}, {title: fmt.Sprintf("B: pass %d", r.B.ID), right: true}}}
	both := func(name string, f func(s *creditrun.Side) string) {
		t.add(name, f(&r.Comparison.A), f(&r.Comparison.B))
	}
	both("rows", func(s *creditrun.Side) string { return strconv.Itoa(s.Rows) })
	both("tokens", func(s *creditrun.Side) string { return strconv.Itoa(s.Tokens) })
	both("mean |advantage| of a token", func(s *creditrun.Side) string { return number(s.MeanAbs, s.Tokens) })
	both("weight: mean", func(s *creditrun.Side) string { return number(s.Weights.Mean, s.Weights.N) })
	both("weight: min", func(s *creditrun.Side) string { return number(s.Weights.Min, s.Weights.N) })
	for i, q := range creditrun.Quantiles {
		both(fmt.Sprintf("weight: %g%%", 100*q), func(s *creditrun.Side) string { return number(s.Quantiles[i], s.Weights.N) })
	}
	both("weight: max", func(s *creditrun.Side) string { return number(s.Weights.Max, s.Weights.N) })
	mass := func(v float64, s *creditrun.Side) string {
		if s.ActionShare == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f%%", 100*v)
	}
	both("action tokens", func(s *creditrun.Side) string { return mass(s.ActionShare, s) })
	both("mass on action tokens", func(s *creditrun.Side) string { return mass(s.ActionMass, s) })
	if err := t.write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "rank correlation: %.4f over rows", r.RankRows)
	if r.Comparison.A.Tokens > 0 {
		fmt.Fprintf(w, ", %.4f over tokens", r.RankTokens)
	}
	fmt.Fprintf(w, "; %s of opposite sign\n", plural(r.Flips, "row"))
	if r.OnlyA+r.OnlyB > 0 {
		fmt.Fprintf(w, "left out: %s only in A, %d only in B\n", plural(r.OnlyA, "step"), r.OnlyB)
	}
	if len(r.Changed) == 0 {
		return nil
	}
	fmt.Fprintln(w, "changed most:")
	changed := table{columns: []column{{title: "episode", right: true}, {title: "step", right: true}, {title: "mean A", right: true}, {title: "mean B", right: true}, {title: "mean |B − A|", right: true}, {title: "token", right: true}, {title: "by", right: true}}}
	for _, ch := range r.Changed {
		token, most := "", ""
		if ch.Token >= 0 {
			token, most = strconv.Itoa(ch.Token), number(ch.Most, 1)
		}
		changed.add(strconv.FormatInt(ch.Episode, 10), strconv.Itoa(ch.Index), number(ch.A, 1), number(ch.B, 1), number(ch.Mean, 1), token, most)
	}
	return changed.write(w)
}

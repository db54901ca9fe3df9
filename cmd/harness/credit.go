package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

type creditCommand struct {
	g      *globals
	db     string
	run    string
	score  string
	config string
	update int
	asJSON bool
}

func newCredit(g *globals) *cobra.Command {
	c := &creditCommand{g: g}
	cmd := &cobra.Command{
		Use:   "credit",
		Short: "Turn the rewards of a run into an advantage for every token",
		Long: `credit reads the finished episodes of a run, runs the estimator and the stages that a configuration
names, and stores one row for each step: a credit pass. Failed episodes never enter.

A pass is stored under a hash of what it read and how: the same command again finds it and computes
nothing. ` + "`harness credit config`" + ` prints a configuration with all keys and their defaults.`,
		Example: `  harness credit --run nightly
  harness credit --run nightly --config gigpo.yaml
  harness credit list
  harness credit compare 1 2 --out plots`,
		GroupID: "look",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.main(cmd) },
	}
	ledgerFlag(cmd, &c.db)
	f := cmd.Flags()
	f.StringVar(&c.run, "run", "", "the run (default: the last one of the ledger)")
	scoreFlag(cmd, &c.score)
	f.StringVar(&c.config, "config", "", "YAML file that names the stages (default: GRPO, and SERL's weights where --score is given)")
	f.IntVar(&c.update, "update", -1, "the trainer's update number, for λ's schedule (default: the configuration's)")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	cmd.AddCommand(newCreditConfig(g), newCreditList(g), newCreditCompare(g))
	return cmd
}

func (c *creditCommand) main(cmd *cobra.Command) error {
	ctx := cmd.Context()
	if cmd.Flags().Changed("update") && c.update < 0 {
		return usageError(cmd, fmt.Errorf("--update %d: want 0 or more", c.update))
	}
	pass, plan, err := c.find(ctx)
	if err != nil {
		return err
	}
	found := pass.ID != 0
	if !found {
		db, err := store.Open(ctx, c.db, store.Config{Now: c.g.now})
		if err != nil {
			return err
		}
		if plan, err = planCredit(ctx, db, c.run, c.config, c.score, c.update); err == nil {
			pass, err = plan.compute(ctx, db)
		}
		if err = errors.Join(err, db.Close()); err != nil {
			return err
		}
	}
	saved, err := decodePass(pass)
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, pass)
	}
	return c.print(saved, plan, found)
}

// find looks for the pass without writing, so that it also answers while another process writes. A
// ledger of an older schema has none.
func (c *creditCommand) find(ctx context.Context) (pass store.CreditPass, plan creditPlan, err error) {
	err = readLedger(ctx, c.db, func(db *store.Store) error {
		if plan, err = planCredit(ctx, db, c.run, c.config, c.score, c.update); err != nil {
			return err
		}
		pass, err = db.CreditPassByKey(ctx, plan.key)
		return err
	})
	if errors.Is(err, store.ErrOutdated) || plan.key != "" && errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return pass, plan, err
}

func (c *creditCommand) print(p savedPass, plan creditPlan, found bool) error {
	w, r := c.g.stdout, p.report
	fmt.Fprintf(w, "run %s: %s, %s, %s, %s\n", plan.run.Name, plural(r.Groups, "group"), plural(r.Episodes, "episode"), plural(r.Rows, "row"), plural(r.Tokens, "token"))
	if plan.failed+plan.open > 0 {
		fmt.Fprintf(w, "left out: %s that failed, %s that have not finished\n", plural(plan.failed, "episode"), plural(plan.open, "episode"))
	}
	for _, v := range r.Filtered {
		fmt.Fprintf(w, "left out: %s\n", creditrun.DropReason(v, p.cfg))
	}
	if err := writeStages(c.g, p); err != nil {
		return err
	}
	if err := writeTraining(c.g, p); err != nil {
		return err
	}
	for _, line := range remarks(p) {
		fmt.Fprintln(w, line)
	}
	state := "computed"
	if found {
		state = "found: the same inputs and configuration were computed before"
	}
	fmt.Fprintf(w, "pass %d, key %.12s, %s\n", p.ID, p.Key, state)
	return nil
}

func writeStages(g *globals, p savedPass) error {
	t := table{columns: []column{
		{title: "stage"},
		{title: "rows", right: true},
		{title: "tokens", right: true},
		{title: "mean", right: true},
		{title: "min", right: true},
		{title: "max", right: true},
		{title: "at a clip bound", right: true},
	}}
	for _, s := range p.report.Stages {
		tokens := ""
		if s.Tokens > 0 {
			tokens = strconv.Itoa(s.Tokens)
		}
		t.add(s.Name, strconv.Itoa(s.Rows), tokens, number(s.Stats.Mean, s.Stats.N), number(s.Stats.Min, s.Stats.N), number(s.Stats.Max, s.Stats.N), share(s))
	}
	return t.write(g.stdout)
}

// number prints a value of n with four decimals.
func number(v float64, n int) string {
	if n == 0 {
		return "-"
	}
	s := strconv.FormatFloat(v, 'f', 4, 64)
	if s == "-0.0000" {
		return s[1:]
	}
	return s
}

func share(s credit.Stage) string {
	if s.Stats.N == 0 || s.Name == "tokens" {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*s.ClipShare)
}

// remarks says in words what a reader of the numbers must know.
func remarks(p savedPass) []string {
	r := p.report
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.TextRows > 0 {
		add("%s without tokens (the policy gave none): these have a row advantage only, and no later stage", plural(r.TextRows, "row"))
	}
	if r.Rows > r.TextRows {
		if r.SignBroken == 0 {
			add("signs: every token's advantage has the sign of its row's")
		} else {
			add("signs: %s lost the sign of its row's advantage (too small for a float32)", plural(r.SignBroken, "token"))
		}
	}
	if r.Flat > 0 || r.Singles > 0 {
		add("groups: %d of equal scores (no signal), %d of a single number (they keep their raw score)", r.Flat, r.Singles)
	}
	if r.Anchors > 0 {
		add("anchors: %d, %s alone at theirs", r.Anchors, plural(r.LoneRows, "row"))
	}
	if p.cfg.Response != credit.ResponseNone && r.Rows > r.TextRows {
		add("entropies: %d by bounds only, of which %d leave it open whether the factor is above 1", r.Inexact, r.Undecided)
	}
	if p.cfg.Token != credit.TokenNone && r.Rows > r.TextRows {
		add("weights: λ %.6g at update %d, mean |Δ| %.4f nats, %.1f%% of the response tokens of %s with a context are weighted",
			r.SERL.Lambda, p.cfg.Update, r.SERL.DeltaAbsMean, 100*r.SERL.SelectedShare, plural(r.SERL.Rows, "row"))
	}
	return out
}

func newCreditConfig(g *globals) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Print a credit configuration with every key: the defaults, or what a file makes of them",
		Example: "  harness credit config > credit.yaml",
		RunE: func(*cobra.Command, []string) error {
			cfg, err := readCreditConfig(path, false)
			if err != nil {
				return errext.WithCode(err, exitUsage)
			}
			return writeCreditConfig(g.stdout, cfg)
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "file to complete")
	return cmd
}

func newCreditList(g *globals) *cobra.Command {
	var path, run string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the credit passes of a ledger",
		Example: "  harness credit list --run nightly",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readLedger(cmd.Context(), path, func(db *store.Store) error {
				return listCredit(cmd.Context(), g, db, run, asJSON)
			})
		},
	}
	ledgerFlag(cmd, &path)
	cmd.Flags().StringVar(&run, "run", "", "only the passes of this run")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func listCredit(ctx context.Context, g *globals, db *store.Store, name string, asJSON bool) error {
	var runID int64
	if name != "" {
		run, err := runNamed(ctx, db, name)
		if err != nil {
			return err
		}
		runID = run.ID
	}
	passes, err := db.CreditPasses(ctx, runID)
	if err != nil {
		return err
	}
	if asJSON {
		if passes == nil {
			passes = []store.CreditPass{}
		}
		return writeJSON(g.stdout, passes)
	}
	t := table{columns: []column{{title: "pass", right: true}, {title: "run"}, {title: "created"}, {title: "reward"}, {title: "estimator"}, {title: "response"}, {title: "token"}, {title: "rows", right: true}, {title: "key"}}}
	for _, p := range passes {
		s, err := decodePass(p)
		if err != nil {
			return err
		}
		run, err := db.Run(ctx, p.RunID)
		if err != nil {
			return err
		}
		t.add(strconv.FormatInt(p.ID, 10), run.Name, p.Created.Local().Format(time.DateTime), s.cfg.Reward.Name(), string(s.cfg.Estimator.Name),
			string(s.cfg.Response), string(s.cfg.Token), strconv.Itoa(p.Rows), p.Key[:min(12, len(p.Key))])
	}
	return t.write(g.stdout)
}

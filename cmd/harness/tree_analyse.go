package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/store"
)

// analyseTreesCommand compares trees with episodes drawn apart, at equal tokens and at equal leaves.
type analyseTreesCommand struct {
	g        *globals
	source   envSource
	policy   policyFlags
	sampler  samplerFlags
	tasks    int
	seeds    int
	seed     int64
	maxSteps int
	history  int
	workers  int
	format   string // of prompts
	returns  string // what episodes are compared by
	asJSON   bool
}

func newAnalyseTrees(g *globals) *cobra.Command {
	c := &analyseTreesCommand{g: g}
	cmd := &cobra.Command{
		Use:   "trees",
		Short: "Compare trees with episodes drawn apart: actions tried, success found, variance of the advantage",
		Long: `trees plays tasks twice, with trees of episodes and with episodes drawn apart, and compares what the
groups hold: at equal tokens (of the episodes drawn apart, the first whose response tokens come nearest to
what the trees of the task generated) and at equal leaves. Nothing is kept. docs/trees.md defines every
quantity.`,
		Example: `  harness analyse trees
  harness analyse trees --env webshop --forks 4 --fork-from any
  harness analyse trees --fork-at response --fork-measure mean --seeds 10`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.flags(cmd)
	c.policy.flags(cmd)
	c.sampler.flags(cmd)
	f := cmd.Flags()
	for name, value := range map[string]string{"sampler": treeName, "forks": "4"} {
		_ = f.Set(name, value) // flags of this command, with words that they take
		f.Lookup(name).DefValue, f.Lookup(name).Changed = value, false
	}
	f.IntVar(&c.tasks, "tasks", 0, "only the first N tasks; 0 = all")
	f.IntVar(&c.seeds, "seeds", 5, "how often the tasks are played")
	f.Int64Var(&c.seed, "seed", 0, "the first seed; the others follow it")
	f.IntVar(&c.maxSteps, "max-steps", 0, "steps per episode; 0 = the environment's own limit")
	f.IntVar(&c.history, "history", agent.DefaultHistory, "past steps that a prompt shows")
	f.StringVar(&c.format, "templates", "", "prompt templates, as for rollout")
	f.StringVar(&c.returns, "returns", returnsReward, "what episodes are compared by: reward, or score (the task's, in [0, 1]: a shop's reward may be all or nothing)")
	f.IntVar(&c.workers, "workers", 8, "episodes that run at the same time")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

func (c *analyseTreesCommand) run(cmd *cobra.Command) error {
	way, err := c.sampler.pick()
	switch {
	case err != nil:
	case c.sampler.name == parallelName:
		err = errors.New("--sampler parallel: there is nothing to compare it with")
	case c.returns != returnsReward && c.returns != returnsScore:
		err = fmt.Errorf("--returns %q: want %s or %s", c.returns, returnsReward, returnsScore)
	case c.seeds < 1 || c.tasks < 0 || c.maxSteps < 0 || c.history < 0 || c.workers < 1:
		err = errors.New("--seeds and --workers must be at least 1, --tasks, --max-steps and --history cannot be negative")
	default:
		err = c.policy.validate()
	}
	if err != nil {
		return usageError(cmd, err)
	}
	out, err := c.compare(cmd.Context(), way)
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, out)
	}
	return out.write(c.g.stdout)
}

// compare plays the tasks under every seed and measures.
func (c *analyseTreesCommand) compare(ctx context.Context, way groupSampler) (out treeComparison, err error) {
	suite, err := c.source.open(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, closeSuite(suite)) }()
	panel, err := c.source.panel(ctx, suite)
	if err != nil {
		return out, err
	}
	panel.Tasks = firstTasks(panel.Tasks, c.tasks)
	policy, err := c.policy.open(ctx, c.g)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, policy.close()) }()
	if err := way.check(ctx, policy.Policy, suitesOf(suite), panel.Tasks); err != nil {
		return out, insteadParallel(err)
	}
	templates, err := readTemplates(c.format)
	if err != nil {
		return out, err
	}
	dir, err := os.MkdirTemp("", "harness-trees-")
	if err != nil {
		return out, fmt.Errorf("make a folder for trees: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := store.Open(ctx, filepath.Join(dir, "trees.db"), store.Config{Now: c.g.now})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	leaves := way.size(0)
	out = treeComparison{Panel: panel.Name, Tasks: len(panel.Tasks), Seeds: c.seeds, Leaves: leaves, Policy: policy.name, Sampler: c.sampler.name, Returns: c.returns}
	cfg := agent.Config{
		Suites: suitesOf(suite), Policy: policy.Policy, Templates: templates, Workers: c.workers, MaxSteps: c.maxSteps,
		History: historyOf(c.history), Log: c.g.log, Now: c.g.now,
	}
	m := newTreeMeasure(c.returns)
	for n := range c.seeds {
		cfg.RunSeed = c.seed + int64(n)
		grown, err := c.play(ctx, db, fmt.Sprintf("trees-%d", n), panel, leaves, way, cfg)
		if err != nil {
			return out, err
		}
		// Sharing makes leaves cheap: never more of the episodes drawn apart are needed than leaves twice over.
		apart, err := c.play(ctx, db, fmt.Sprintf("apart-%d", n), panel, 2*leaves, parallelSampler{}, cfg)
		if err != nil {
			return out, err
		}
		for g := range panel.Tasks {
			if err := m.group(ctx, db, grown, apart, g, leaves); err != nil {
				return out, err
			}
		}
	}
	out.Ways = m.ways()
	return out, nil
}

// play makes a run of the panel in a ledger.
func (c *analyseTreesCommand) play(ctx context.Context, db *store.Store, name string, panel harness.Panel, size int, way groupSampler, cfg agent.Config) (int64, error) {
	run, err := db.CreateRun(ctx, store.RunSpec{Name: name, Panel: panel, GroupSize: size, Seed: cfg.RunSeed})
	if err != nil {
		return 0, err
	}
	refs, err := db.Pending(ctx, run.ID)
	if err != nil {
		return 0, err
	}
	cfg.Recorder = db.Recorder(run.ID)
	stats, err := way.run(ctx, ctx, refs, cfg)
	if err == nil && stats.Failed > 0 {
		err = fmt.Errorf("%s failed while %s was played", plural(stats.Failed, "episode"), name)
	}
	return run.ID, err
}

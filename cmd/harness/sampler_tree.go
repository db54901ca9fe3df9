package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/internal/errext"
)

const treeName = "tree"

// treeFlags are the flags of --sampler tree.
type treeFlags struct {
	at, measure, region, from string
	above                     float64
	budget                    int
}

func (s *treeFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&s.at, "fork-at", string(agent.ForkAtToken), "tree: fork before the most uncertain token of a step, or where its response begins: token, response")
	f.StringVar(&s.measure, "fork-measure", agent.MeasureMax, "tree: how uncertain a step is: the max or the mean entropy of its tokens")
	f.StringVar(&s.region, "fork-region", agent.RegionAction, "tree: the tokens that count: those of the action, or the whole response")
	f.StringVar(&s.from, "fork-from", string(agent.ForkFromRoot), "tree: what further episodes grow out of: root, or any finished one")
	f.Float64Var(&s.above, "fork-above", 0, "tree: leave steps alone that are not more uncertain, in nats")
	f.IntVar(&s.budget, "tree-tokens", 0, "tree: response tokens that one tree may generate; 0 = no bound")
}

// treeSampler grows the episodes of a group out of one another.
type treeSampler struct{ cfg agent.TreeConfig }

func newTreeSampler(s *samplerFlags) groupSampler {
	return treeSampler{agent.TreeConfig{
		Trees: s.trees, Forks: s.forks, Branches: s.branches, From: agent.ForkFrom(s.tree.from), Tokens: s.tree.budget,
		Choose: agent.Uncertain{
			At: agent.ForkAt(s.tree.at), Measure: s.tree.measure, Region: s.tree.region, Distance: s.distance, Above: s.tree.above,
		},
	}}
}

func (t treeSampler) size(int) int { return t.cfg.GroupSize() }

func (t treeSampler) validate() error { return t.cfg.Validate() }

func (t treeSampler) check(ctx context.Context, policy agent.Policy, suites map[string]harness.Suite, tasks []harness.Task) error {
	return agent.CheckTrees(ctx, policy, suites, tasks, t.cfg.Choose.Token())
}

func (t treeSampler) run(soft, hard context.Context, refs []harness.EpisodeRef, cfg agent.Config) (agent.Stats, error) {
	return agent.RunTrees(soft, hard, refs, cfg, t.cfg)
}

// sizeOf is the size of the run's groups. --group belongs to the parallel sampler.
func (s *samplerFlags) sizeOf(way groupSampler, flags *pflag.FlagSet, group int) (int, error) {
	n := way.size(group)
	if f := flags.Lookup("group"); n != group && originOf(f) == originFlag {
		err := fmt.Errorf("--group %d: the %s sampler makes groups of %d: trees × (1 + forks × branches)", group, s.name, n)
		return 0, errext.WithCode(errext.WithHint(err, "leave --group out, and set --trees, --forks and --branches"), exitUsage)
	}
	return n, nil
}

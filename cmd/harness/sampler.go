package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/internal/errext"
)

// groupSampler is a way in which the episodes of a group come about.
type groupSampler interface {
	// size is the number of places in a group, from what --group says.
	size(group int) int
	// validate refuses flags that it cannot work with.
	validate() error
	// check refuses a policy or an environment that it cannot work with, before anything runs. The remedy
	// is offered by whoever calls it.
	check(ctx context.Context, policy agent.Policy, suites map[string]harness.Suite, tasks []harness.Task) error
	// run plays the episodes that are left of a run. See agent.Run.
	run(soft, hard context.Context, refs []harness.EpisodeRef, cfg agent.Config) (agent.Stats, error)
}

// samplers are the ways by the name that --sampler gives them.
var samplers = map[string]func(*samplerFlags) groupSampler{
	parallelName: func(*samplerFlags) groupSampler { return parallelSampler{} },
	treeName:     newTreeSampler,
	etmrName:     newETMRSampler,
}

const parallelName = "parallel"

// samplerFlags are the flags that say how the episodes of a group come about. Those that belong to one
// sampler are bound by its own file.
type samplerFlags struct {
	name string

	// Of all samplers that grow trees; 0 = the sampler's own default.
	trees, forks, branches, distance int

	tree treeFlags
	etmr etmrFlags
}

func (s *samplerFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.name, "sampler", parallelName, "how the episodes of a group come about: "+strings.Join(samplerNames(), ", "))
	f.IntVar(&s.trees, "trees", 0, "trees per group, for samplers that grow them; 0 = the sampler's default")
	f.IntVar(&s.forks, "forks", 0, "forks per tree; 0 = the sampler's default")
	f.IntVar(&s.branches, "branches", 0, "further episodes per fork; 0 = the sampler's default")
	f.IntVar(&s.distance, "fork-distance", 0, "least distance between two forks: in steps (tree) or tokens (etmr); 0 = 1")
	s.tree.flags(f)
	s.etmr.flags(f)
}

func samplerNames() []string { return slices.Sorted(maps.Keys(samplers)) }

// pick returns the sampler that was asked for.
func (s *samplerFlags) pick() (groupSampler, error) {
	make, ok := samplers[s.name]
	if !ok {
		return nil, fmt.Errorf("--sampler %q: want one of %s", s.name, strings.Join(samplerNames(), ", "))
	}
	chosen := make(s)
	return chosen, chosen.validate()
}

// insteadParallel is the offer that goes with every refusal: the parallel sampler works everywhere.
func insteadParallel(err error) error {
	if err == nil {
		return nil
	}
	return errext.WithCode(errext.WithHint(err, strings.TrimPrefix(errext.Hint(err)+"; or use --sampler parallel, which needs none of this", "; or ")), exitUsage)
}

// parallelSampler draws every episode of a group by itself.
type parallelSampler struct{}

func (parallelSampler) size(group int) int { return group }

func (parallelSampler) validate() error { return nil }

func (parallelSampler) check(context.Context, agent.Policy, map[string]harness.Suite, []harness.Task) error {
	return nil
}

func (parallelSampler) run(soft, hard context.Context, refs []harness.EpisodeRef, cfg agent.Config) (agent.Stats, error) {
	return agent.Run(soft, hard, refs, cfg)
}

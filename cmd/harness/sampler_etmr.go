package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/qa"
	"github.com/hindsightrl/harness/internal/errext"
)

// etmrFlags are the flags of --sampler etmr alone.
type etmrFlags struct{ guard float64 }

func (s *etmrFlags) flags(f *pflag.FlagSet) {
	f.Float64Var(&s.guard, "temperature-guard", 0, "etmr: sample what follows a fork at no more than this temperature; 0 = at --temperature")
}

// etmrSampler forks the answers of questions at their most uncertain tokens: entropy-fork tree majority
// rollouts.
type etmrSampler struct {
	cfg    agent.TreeConfig
	choose agent.ETMR
	guard  float64
}

func newETMRSampler(s *samplerFlags) groupSampler {
	or := func(n, otherwise int) int {
		if n == 0 {
			return otherwise
		}
		return n
	}
	choose := agent.ETMR{Distance: s.distance}
	return etmrSampler{guard: s.etmr.guard, choose: choose, cfg: agent.TreeConfig{
		Trees: or(s.trees, agent.DefaultETMRTrees), Forks: or(s.forks, agent.DefaultETMRForks), Branches: or(s.branches, agent.DefaultETMRBranches),
		From: agent.ForkFromRoot, Choose: choose,
	}}
}

func (e etmrSampler) size(int) int { return e.cfg.GroupSize() }

func (e etmrSampler) validate() error {
	if !(e.guard >= 0) {
		return fmt.Errorf("--temperature-guard %v: want 0 (off) or more", e.guard)
	}
	if err := e.choose.Validate(); err != nil {
		return err
	}
	return e.cfg.Validate()
}

func (e etmrSampler) check(ctx context.Context, policy agent.Policy, suites map[string]harness.Suite, tasks []harness.Task) error {
	for _, t := range tasks {
		if t.Env != qa.Name {
			return errext.WithHint(fmt.Errorf("--sampler etmr forks single answers, and %s has many turns", t.Env), "for environments of many turns: --sampler tree")
		}
	}
	wrapped, err := agent.ETMRPolicy(policy, e.guard)
	if err != nil {
		return err
	}
	if err := agent.CheckTrees(ctx, wrapped, suites, tasks, true); err != nil {
		return errext.WithHint(fmt.Errorf("--sampler etmr: %w", err), "use refmodel, gguf:FILE, or a server that takes and gives token ids, as vLLM, SGLang and llama.cpp do")
	}
	return nil
}

func (e etmrSampler) run(soft, hard context.Context, refs []harness.EpisodeRef, cfg agent.Config) (agent.Stats, error) {
	var err error
	if cfg.Policy, err = agent.ETMRPolicy(cfg.Policy, e.guard); err != nil {
		return agent.Stats{}, err
	}
	return agent.RunTrees(soft, hard, refs, cfg, e.cfg)
}

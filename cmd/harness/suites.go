package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/envs/qa"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// environments names what --env takes, with a line of explanation each.
var environments = [][2]string{
	{alfworld.Name, "household tasks in text (ALFWorld), native engine"},
	{webshop.Name, "shopping for what an instruction asks (WebShop), native engine"},
	{swebench.Name, "repairs of software projects in Docker containers (SWE-bench)"},
	{qa.Name, "single-turn questions, from JSONL in the form of AIME, AMC, MATH and others"},
}

// envSource is the flags that name an environment and its data.
type envSource struct {
	env   string
	data  string
	split string
	shop  shopFlags
	qa    qaFlags

	browser  browserFlags
	original originalFlags
	repair   repairFlags
}

func (s *envSource) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.env, "env", alfworld.Name, "environment, as listed by: harness env list; all mixes households and shop")
	cmd.Flags().StringVar(&s.data, "data", "", "folder or .tar.xz with the environment's data, for ALFWorld the one that holds json_2.1.1, for WebShop the one that holds items_shuffle_1000.json, or a product file, for qa a JSONL file or a folder of them, for SWE-bench a .parquet, .jsonl or .json file of rows or a folder of them (default: the embedded games, shop or questions)")
	cmd.Flags().StringVar(&s.split, "split", "", "split of the data: train, valid_seen, valid_unseen, … (default: valid_seen, the split that papers report; of WebShop the first: val; of qa all)")
	s.shop.flags(cmd)
	s.qa.flags(cmd)
	s.browser.flags(cmd)
	s.original.flags(cmd, "original-image")
	s.repair.flags(cmd)
}

// envFlags are the names of the flags that choose or configure an environment.
var envFlags = []string{
	"env", "data", "split", "nouns", "variant", "goals", "observation", "ties", "shop-seed",
	"backend", "bridge", "original-image", "browser", "screenshots", "pages", "no-sandbox", "exact-answers", "answer-tolerance",
}

// untouched reports whether nobody chose anything about the environment.
func (s *envSource) untouched(cmd *cobra.Command) bool {
	return !slices.ContainsFunc(slices.Concat(envFlags, repairFlagNames), func(name string) bool { return cmd.Flags().Changed(name) })
}

// choose settles which environment a new run is of, where the command line names none: that of the panel's
// tasks, and without a panel what there is, unless something else about the environment was chosen.
func (s *envSource) choose(cmd *cobra.Command, panelPath string) error {
	if panelPath == "" {
		if s.untouched(cmd) {
			s.env = mixedName
		}
		return nil
	}
	panel, err := readPanel(panelPath)
	if err == nil {
		s.follow(cmd, panel)
	}
	return err
}

// follow makes the source that of a panel's tasks, where the command line names no environment. A panel of
// environments that no suite plays together leaves it alone: its first task says what is wrong.
func (s *envSource) follow(cmd *cobra.Command, panel harness.Panel) {
	if cmd.Flags().Changed("env") || len(panel.Tasks) == 0 {
		return
	}
	env := panel.Tasks[0].Env
	for _, t := range panel.Tasks {
		switch {
		case t.Env == env:
		case slices.Contains(mixedParts, t.Env) && (env == mixedName || slices.Contains(mixedParts, env)):
			env = mixedName
		default:
			return
		}
	}
	s.env = env
}

// as makes the source that of a stored run, as far as the command line chose nothing else.
func (s *envSource) as(cmd *cobra.Command, run store.Run) error {
	if !s.untouched(cmd) {
		return nil
	}
	var config map[string]string
	if err := json.Unmarshal(run.Config, &config); err != nil {
		return fmt.Errorf("run %q: read its configuration: %w", run.Name, err)
	}
	for _, name := range slices.Concat(envFlags, repairFlagNames) {
		if v, ok := config[name]; ok && cmd.Flags().Lookup(name) != nil {
			if err := cmd.Flags().Set(name, v); err != nil {
				return fmt.Errorf("run %q: its --%s: %w", run.Name, name, err)
			}
		}
	}
	return nil
}

// defaultSplit is what ALFWorld papers report first (eval_in_distribution).
const defaultSplit = "valid_seen"

// open opens the environment's suite on its data. closeSuite closes it.
func (s *envSource) open(ctx context.Context) (harness.Suite, error) {
	if err := errors.Join(s.browser.check(s.env), s.original.check(s.browser.backend)); err != nil {
		return nil, err
	}
	switch s.env {
	case mixedName:
		return s.openMixed(ctx)
	case alfworld.Name:
		games, err := s.openGames(ctx)
		if err != nil || s.browser.backend != backendContainer {
			return games, err
		}
		return s.original.open(ctx, games)
	case webshop.Name:
		shop, err := s.shop.open(ctx, s.data)
		if err != nil {
			return nil, err
		}
		if s.browser.backend == backendContainer {
			return s.original.open(ctx, shop)
		}
		return s.browser.over(shop)
	case swebench.Name:
		return s.repair.open(ctx, s.data)
	case qa.Name:
		return s.qa.open(ctx, s.data)
	}
	names := make([]string, len(environments))
	for i, e := range environments {
		names[i] = e[0]
	}
	err := fmt.Errorf("no environment %q", s.env)
	if near := nearest(s.env, names); near != "" {
		return nil, hintUsage(err, fmt.Sprintf("did you mean --env %s?", near))
	}
	return nil, hintUsage(err, "harness env list")
}

// openGames opens ALFWorld's games in the native engine.
func (s *envSource) openGames(ctx context.Context) (*alfworld.Suite, error) {
	if s.data == "" {
		return embedded.Suite(ctx)
	}
	return alfworld.New(ctx, s.data, alfworld.Config{})
}

// panel is the tasks of the chosen split.
func (s *envSource) panel(ctx context.Context, suite harness.Suite) (harness.Panel, error) {
	if m, ok := suite.(*mixedSuite); ok {
		return s.mixedPanel(ctx, m)
	}
	switch s.env {
	case webshop.Name:
		return s.shop.panel(ctx, suite, s.data, s.split)
	case swebench.Name:
		return s.repair.panel(ctx, suite, s.data, s.split)
	case qa.Name:
		return s.qa.panel(ctx, suite, s.data, s.split)
	}
	split := s.split
	if split == "" {
		split = defaultSplit
	}
	tasks, err := suite.Tasks(ctx, split)
	if err != nil {
		return harness.Panel{}, err
	}
	if len(tasks) == 0 {
		return harness.Panel{}, s.noTasks(ctx, suite, split)
	}
	name := s.env + "-" + split
	if s.data == "" {
		name = "embedded-" + name
	}
	return harness.Panel{Name: name, Tasks: slices.Clone(tasks)}, nil
}

// leftOut counts the trials of the chosen split that cannot be played; first tells about one of them.
func (s *envSource) leftOut(ctx context.Context, suite harness.Suite) (n int, first string, err error) {
	games, ok := suite.(*alfworld.Suite)
	if !ok {
		return 0, "", nil
	}
	skipped, err := games.Skipped(ctx, cmp.Or(s.split, defaultSplit))
	if err != nil || len(skipped) == 0 {
		return 0, "", err
	}
	return len(skipped), fmt.Sprintf("%s: %v", skipped[0].ID, skipped[0].Reason), nil
}

// noTasks says why a split has nothing to play, with the first reason where the suite gives reasons.
func (s *envSource) noTasks(ctx context.Context, suite harness.Suite, split string) error {
	err := fmt.Errorf("split %q of %s has no game that can be played", split, s.where())
	if games, ok := suite.(*alfworld.Suite); ok {
		skipped, listErr := games.Skipped(ctx, split)
		if listErr != nil {
			return listErr
		}
		if len(skipped) > 0 {
			err = fmt.Errorf("%w: %s left out, the first being %s: %w", err, plural(len(skipped), "trial"), skipped[0].ID, skipped[0].Reason)
		}
	}
	return errext.WithHint(err, "choose another --split, or check the download: each trial needs a traj_data.json and a solvable game.tw-pddl")
}

// where names the data in messages.
func (s *envSource) where() string {
	if s.data == "" {
		return "the embedded games"
	}
	return s.data
}

// runInfo is what a run records about the world it ran in.
func runInfo(suite harness.Suite, policy openPolicy) map[string]any {
	info := map[string]any{"environment": suite.Name(), "policy": policy.name}
	for k, v := range policy.info {
		info[k] = v
	}
	if s, ok := suite.(interface{ Info() map[string]string }); ok {
		for k, v := range s.Info() {
			info[suite.Name()+"_"+k] = v
		}
	}
	return info
}

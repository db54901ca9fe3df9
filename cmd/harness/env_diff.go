package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/envdiff"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/errext"
)

// envDiff compares a native environment with its original.
type envDiff struct {
	g        *globals
	source   envSource
	original originalFlags

	games   int
	workers int
	play    envdiff.Config
	asJSON  bool
}

func newEnvDiff(g *globals) *cobra.Command {
	c := &envDiff{g: g}
	cmd := &cobra.Command{
		Use:   "diff alfworld|webshop",
		Short: "Play the same actions in the native environment and in the original, and compare every byte",
		Long: `diff plays games in the native engine and in the original Python environment side by side: the expert's
actions, admissible ones, stale ones, and ones that are none. It compares observations, instructions,
admissible actions and their order, rewards, scores and ends, and reports the first difference of each
game. The exit code is 1 if there is one.

The original is a container of its own (docs/originals.md says how its image is built), or runs at an
address that --bridge names.`,
		Example: `  harness env diff alfworld
  harness env diff alfworld --data $ALFWORLD_DATA --split valid_unseen --games 100
  harness env diff webshop --data $WEBSHOP_DATA --nouns nouns.json --bridge ws://127.0.0.1:8766`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.source.env = args[0]
			if err := c.check(); err != nil {
				return usageError(cmd, err)
			}
			return c.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.source.data, "data", "", "folder or archive with the environment's data (default: the embedded games, the embedded shop)")
	f.StringVar(&c.source.split, "split", "", "split of the data (default: as for: harness rollout)")
	c.source.shop.flags(cmd)
	c.original.flags(cmd, "image")
	f.IntVar(&c.games, "games", 20, "games to play, spread over the types of tasks")
	f.IntVar(&c.play.Steps, "steps", 30, "actions of a game")
	f.Int64Var(&c.play.Seed, "seed", 1, "decides games and actions")
	f.Float64Var(&c.play.Expert, "expert", 0.5, "share of the actions that the expert chooses")
	f.IntVar(&c.workers, "workers", 2, "games at the same time")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

func (c *envDiff) check() error {
	switch {
	case c.source.env != alfworld.Name && c.source.env != webshop.Name:
		return errext.WithHint(fmt.Errorf("no original of environment %q", c.source.env), "harness env diff alfworld, or webshop")
	case c.games < 1 || c.workers < 1 || c.play.Steps < 1:
		return errors.New("--games, --workers and --steps must be at least 1")
	case !(c.play.Expert >= 0 && c.play.Expert <= 1):
		return fmt.Errorf("--expert %g is outside [0, 1]", c.play.Expert)
	}
	return c.original.check(backendContainer)
}

func (c *envDiff) run(ctx context.Context) (err error) {
	c.source.browser.backend = backendNative
	native, err := c.source.open(ctx)
	if err != nil {
		return err
	}
	panel, err := c.source.panel(ctx, native)
	if err != nil {
		return errors.Join(err, closeSuite(native))
	}
	original, err := c.original.open(ctx, native) // it closes the native one too
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSuite(original)) }()
	tasks := spread(panel.Tasks, c.games, c.play.Seed)
	c.play.Now = c.g.now
	if c.source.env == webshop.Name {
		c.play.Fill = fillSearch
	}
	fmt.Fprintf(c.g.stderr, "comparing %s of %s\n", plural(len(tasks), "game"), panel.Name)
	results, err := c.compare(ctx, native, original, tasks)
	if err != nil {
		return err
	}
	return c.report(results)
}

// spread chooses n tasks, of each type in turn, and of each type at random.
func spread(tasks []harness.Task, n int, seed int64) []harness.Task {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	byType := map[string][]harness.Task{}
	var types []string
	for _, t := range tasks {
		if byType[t.Type] == nil {
			types = append(types, t.Type)
		}
		byType[t.Type] = append(byType[t.Type], t)
	}
	for _, typ := range types {
		list := byType[typ]
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	var out []harness.Task
	for len(out) < min(n, len(tasks)) {
		for _, typ := range types {
			if list := byType[typ]; len(list) > 0 && len(out) < n {
				out, byType[typ] = append(out, list[0]), list[1:]
			}
		}
	}
	return out
}

// fillSearch puts one to three words into the blank of a search.
func fillSearch(entry string, word func() string) string {
	if entry != shop.SearchAction {
		return entry
	}
	words := []string{word(), word(), word()}
	return "search[" + strings.Join(words[:1+len(words[0])%len(words)], " ") + "]"
}

func (c *envDiff) compare(ctx context.Context, native, original harness.Suite, tasks []harness.Task) ([]envdiff.Result, error) {
	results := make([]envdiff.Result, len(tasks))
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(c.workers)
	for i, task := range tasks {
		eg.Go(func() (err error) {
			n, err := native.NewEnv(ctx)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, n.Close()) }()
			o, err := original.NewEnv(ctx)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, o.Close()) }()
			results[i], err = envdiff.Play(ctx, n, o, task, c.play)
			return err
		})
	}
	return results, eg.Wait()
}

// report prints the table and the first difference of each game.
func (c *envDiff) report(results []envdiff.Result) error {
	differ, steps := 0, 0
	t := table{columns: []column{
		{title: "game"}, {title: "steps", right: true}, {title: "won"}, {title: "native", right: true}, {title: "original", right: true}, {title: "answers"},
	}}
	for _, r := range results {
		verdict := "equal"
		if r.Difference != nil {
			differ++
			verdict = fmt.Sprintf("%s differs at step %d", r.Difference.What, r.Difference.Step)
		}
		steps += r.Steps
		t.add(r.Task.Key(), strconv.Itoa(r.Steps), yesNo(r.Won), r.Native.Round(10*time.Microsecond).String(), r.Original.Round(10*time.Millisecond).String(), verdict)
	}
	if c.asJSON {
		if err := writeJSON(c.g.stdout, map[string]any{"games": results, "steps": steps, "differ": differ}); err != nil {
			return err
		}
	} else {
		if err := t.write(c.g.stdout); err != nil {
			return err
		}
		for _, r := range results {
			if r.Difference != nil {
				fmt.Fprint(c.g.stdout, describe(r))
			}
		}
		fmt.Fprintf(c.g.stdout, "\n%s, %s: %d differ\n", plural(len(results), "game"), plural(steps, "step"), differ)
	}
	if differ > 0 {
		return errext.WithHint(fmt.Errorf("%s of %d answered differently", plural(differ, "game"), len(results)),
			"if the original has the versions of docker/*/requirements.txt, this is a bug of the native environment: report it with the lines above")
	}
	return nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// describe prints both texts, and from which byte on they differ.
func describe(r envdiff.Result) string {
	d := r.Difference
	n := 0
	for n < min(len(d.Native), len(d.Original)) && d.Native[n] == d.Original[n] {
		n++
	}
	when := "at the reset"
	if d.Step > 0 {
		when = fmt.Sprintf("after step %d, %q", d.Step, d.Action)
	}
	return fmt.Sprintf("\n%s %s: %s, from byte %d on\n  native   %q\n  original %q\n", r.Task.Key(), when, d.What, n, d.Native, d.Original)
}

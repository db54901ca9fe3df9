package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

type replayCommand struct {
	g      *globals
	db     string
	source envSource
	run    string
	asJSON bool
}

func newReplay(g *globals) *cobra.Command {
	c := &replayCommand{g: g}
	cmd := &cobra.Command{
		Use:   "replay [EPISODE…]",
		Short: "Run recorded actions again and compare every answer byte for byte",
		Example: `  harness replay 17 18
  harness replay --run nightly --data $ALFWORLD_DATA`,
		GroupID: "prove",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return c.main(cmd, args) },
	}
	ledgerFlag(cmd, &c.db)
	c.source.flags(cmd)
	cmd.Flags().StringVar(&c.run, "run", "", "replay all finished episodes of this run")
	cmd.Flags().BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

// replayed is one episode's result as --json prints it.
type replayed struct {
	Episode int64  `json:"episode"`
	Steps   int    `json:"steps"`
	Equal   bool   `json:"equal"`
	Diff    string `json:"first_difference,omitempty"`
}

func (c *replayCommand) main(cmd *cobra.Command, args []string) error {
	if (len(args) == 0) == (c.run == "") {
		return usageError(cmd, errors.New("name episodes, or one --run"))
	}
	ctx := cmd.Context()
	return readLedger(ctx, c.db, func(db *store.Store) (err error) {
		episodes, err := c.episodes(cmd, db, args)
		if err != nil {
			return err
		}
		suite, err := c.suite(cmd, db, episodes[0].RunID)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeSuite(suite)) }()
		results := make([]replayed, 0, len(episodes))
		differ, steps := 0, 0
		for _, ep := range episodes {
			r, err := replayEpisode(ctx, db, suite, ep)
			if err != nil {
				return err
			}
			results = append(results, r)
			steps += r.Steps
			if !r.Equal {
				differ++
				if !c.asJSON {
					fmt.Fprintf(c.g.stdout, "episode %d: %s\n", r.Episode, r.Diff)
				}
			}
		}
		if c.asJSON {
			if err := writeJSON(c.g.stdout, results); err != nil {
				return err
			}
		} else {
			fmt.Fprintf(c.g.stdout, "%s, %s: %d equal, %d differ\n", plural(len(results), "episode"), plural(steps, "step"), len(results)-differ, differ)
		}
		if differ > 0 {
			hint := "check that --data is what the run was made on: harness panel check"
			if c.source.env == swebench.Name {
				hint = "commands and tests print times and process ids, which no second run repeats; to judge the patches again: harness swebench eval --run RUN"
			}
			return errext.WithCode(errext.WithHint(fmt.Errorf("%d of %d episodes differ from the record", differ, len(results)), hint), exitBelow)
		}
		return nil
	})
}

// suite opens the environment that the run was made in, unless the command line names another.
func (c *replayCommand) suite(cmd *cobra.Command, db *store.Store, runID int64) (harness.Suite, error) {
	run, err := db.Run(cmd.Context(), runID)
	if err != nil {
		return nil, err
	}
	if err := c.source.as(cmd, run); err != nil {
		return nil, err
	}
	return c.source.open(cmd.Context())
}

func (c *replayCommand) episodes(cmd *cobra.Command, db *store.Store, args []string) ([]store.Episode, error) {
	ctx := cmd.Context()
	var episodes []store.Episode
	for _, arg := range args {
		id, err := episodeArg(cmd, arg)
		if err != nil {
			return nil, err
		}
		ep, err := db.Episode(ctx, id)
		if err != nil {
			return nil, err
		}
		if ep.Attempt == 0 {
			return nil, fmt.Errorf("episode %d is %s: only ended episodes can be replayed", id, ep.Status)
		}
		episodes = append(episodes, ep)
	}
	if c.run == "" {
		return episodes, nil
	}
	run, err := runNamed(ctx, db, c.run)
	if err != nil {
		return nil, err
	}
	for ep, err := range db.Episodes(ctx, run.ID, store.Filter{Status: []harness.Status{harness.StatusDone}}) {
		if err != nil {
			return nil, err
		}
		episodes = append(episodes, ep)
	}
	if len(episodes) == 0 {
		return nil, fmt.Errorf("run %q has no finished episode to replay", c.run)
	}
	return episodes, nil
}

func replayEpisode(ctx context.Context, db *store.Store, suite harness.Suite, ep store.Episode) (replayed, error) {
	var steps []harness.Step
	for s, err := range db.Steps(ctx, ep.Attempt) {
		if err != nil {
			return replayed{}, err
		}
		steps = append(steps, s)
	}
	env, err := suite.NewEnv(ctx)
	if err != nil {
		return replayed{}, err
	}
	diff, err := agent.Replay(ctx, env, ep.Task, steps)
	if err = errors.Join(err, env.Close()); err != nil {
		return replayed{}, fmt.Errorf("replay episode %d: %w", ep.ID, err)
	}
	r := replayed{Episode: ep.ID, Steps: len(steps), Equal: diff.Equal()}
	if !r.Equal {
		r.Diff = diff.String()
	}
	return r, nil
}

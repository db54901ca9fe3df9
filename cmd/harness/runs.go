package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/store"
)

type runsCommand struct {
	g         *globals
	db        string
	asJSON    bool
	failures  bool
	showSpans bool
	status    string
}

func newRuns(g *globals) *cobra.Command {
	c := &runsCommand{g: g}
	cmd := &cobra.Command{
		Use:   "runs [RUN]",
		Short: "List the runs of a ledger, or the episodes of one run",
		Example: `  harness runs
  harness runs nightly --status failed
  harness runs nightly --events
  harness runs nightly --spans`,
		GroupID:           "look",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return readLedger(cmd.Context(), c.db, func(db *store.Store) error {
				if len(args) == 0 && (c.failures || c.showSpans || c.status != "") {
					return usageError(cmd, errors.New("--events, --spans and --status are about one run: name it"))
				}
				if len(args) == 0 {
					return c.list(cmd.Context(), db)
				}
				return c.one(cmd, db, args[0])
			})
		},
	}
	ledgerFlag(cmd, &c.db)
	cmd.Flags().BoolVar(&c.asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&c.failures, "events", false, "print the run's log instead of its episodes")
	cmd.Flags().BoolVar(&c.showSpans, "spans", false, "print where the exact action spans and those of serl-compat differ")
	cmd.Flags().StringVar(&c.status, "status", "", "only episodes that are pending, running, done or failed")
	return cmd
}

func (c *runsCommand) list(ctx context.Context, db *store.Store) error {
	runs, err := db.Runs(ctx)
	if err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, runs)
	}
	if len(runs) == 0 {
		fmt.Fprintf(c.g.stdout, "no runs in %s; start one with: harness rollout\n", c.db)
		return nil
	}
	t := table{columns: []column{
		{title: "run"},
		{title: "state"},
		{title: "created"},
		{title: "panel"},
		{title: "policy"},
		{title: "episodes", right: true},
		{title: "done", right: true},
		{title: "failed", right: true},
		{title: "solved", right: true},
		{title: "score", right: true},
	}}
	for _, r := range runs {
		t.add(r.Name, string(r.State), r.Created.Local().Format(time.DateTime), r.PanelName, r.Policy,
			strconv.Itoa(r.Episodes), strconv.Itoa(r.Done), strconv.Itoa(r.Failed), percent(r.Won, r.Done), meanOf(r.MeanScore, r.Done))
	}
	return t.write(c.g.stdout)
}

func (c *runsCommand) one(cmd *cobra.Command, db *store.Store, name string) error {
	ctx := cmd.Context()
	run, err := runNamed(ctx, db, name)
	if err != nil {
		return err
	}
	if c.failures {
		return c.events(ctx, db, run)
	}
	if c.showSpans {
		return c.spans(ctx, db, run)
	}
	var filter store.Filter
	if c.status != "" {
		switch s := harness.Status(c.status); s {
		case harness.StatusPending, harness.StatusRunning, harness.StatusDone, harness.StatusFailed:
			filter.Status = []harness.Status{s}
		default:
			return usageError(cmd, fmt.Errorf("status %q: want pending, running, done or failed", c.status))
		}
	}
	episodes := []store.Episode{}
	for e, err := range db.Episodes(ctx, run.ID, filter) {
		if err != nil {
			return err
		}
		episodes = append(episodes, e)
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, struct {
			store.Run
			Episodes []store.Episode `json:"episodes"`
		}{run, episodes})
	}
	t := table{columns: []column{
		{title: "episode", right: true},
		{title: "group"},
		{title: "status"},
		{title: "stop"},
		{title: "steps", right: true},
		{title: "reward", right: true},
		{title: "task"},
	}}
	for _, e := range episodes {
		stop, steps, reward := "", "", ""
		if o := e.Outcome; o != nil {
			stop, steps, reward = string(o.Stop), strconv.Itoa(o.Steps), strconv.FormatFloat(o.Reward, 'g', -1, 64)
		}
		if f := e.Failure; f != nil {
			stop = string(f.Kind) + ": " + firstLine(f.Message)
		}
		t.add(strconv.FormatInt(e.ID, 10), fmt.Sprintf("%d.%d", e.Group, e.Sample), string(e.Status), stop, steps, reward, e.Task.Key())
	}
	return t.write(c.g.stdout)
}

func (c *runsCommand) events(ctx context.Context, db *store.Store, run store.Run) error {
	events := []store.Event{}
	for e, err := range db.Events(ctx, run.ID) {
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, events)
	}
	t := table{columns: []column{{title: "time"}, {title: "event"}, {title: "episode", right: true}, {title: "message"}}}
	for _, e := range events {
		id := ""
		if e.EpisodeID != 0 {
			id = strconv.FormatInt(e.EpisodeID, 10)
		}
		t.add(e.At.Local().Format(time.DateTime), string(e.Kind), id, firstLine(e.Message))
	}
	return t.write(c.g.stdout)
}

package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/store"
)

// runSummary is what `rollout --json` prints.
type runSummary struct {
	Run      store.Run            `json:"run"`
	Rows     []store.SummaryRow   `json:"rows"`
	Failures []store.FailureCount `json:"failures"`
	Drifts   map[string]int       `json:"drifts,omitempty"` // turns of conversations by drift
}

// summary prints a run by environment and task type. Failed episodes have a column of their own and
// count in no rate and no mean.
func (c *rolloutCommand) summary(ctx context.Context, db *store.Store, runID int64) error {
	var s runSummary
	var err error
	if s.Run, err = db.Run(ctx, runID); err != nil {
		return err
	}
	if s.Rows, err = db.Summary(ctx, runID); err != nil {
		return err
	}
	if s.Failures, err = db.Failures(ctx, runID); err != nil {
		return err
	}
	if s.Drifts, err = db.Drifts(ctx, runID); err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, s)
	}
	t := table{columns: []column{
		{title: "environment"},
		{title: "task type"},
		{title: "episodes", right: true},
		{title: "done", right: true},
		{title: "failed", right: true},
		{title: "solved", right: true},
		{title: "reward", right: true},
		{title: "score", right: true},
		{title: "steps", right: true},
		{title: "invalid", right: true},
	}}
	var total store.Counts
	for _, r := range s.Rows {
		addCounts(&t, r.Env, r.Type, r.Counts)
		total = sumCounts(total, r.Counts)
	}
	if len(s.Rows) > 1 {
		addCounts(&t, "all", "", total)
	}
	if err := t.write(c.g.stdout); err != nil {
		return err
	}
	for _, f := range s.Failures {
		fmt.Fprintf(c.g.stdout, "%s failures: %s, of which %d for good\n", f.Kind, plural(f.Attempts, "attempt"), f.Episodes)
	}
	if n := s.Drifts; len(n) > 0 {
		fmt.Fprintf(c.g.stdout, "conversation turns continued in token space: %d clean, %d realigned, %d forked\n",
			n[string(llm.DriftClean)], n[string(llm.DriftRealigned)], n[string(llm.DriftForked)])
	}
	fmt.Fprintf(c.g.stderr, "look inside:  harness runs %s --db %s;  harness show EPISODE --db %s\n", s.Run.Name, c.db, c.db)
	return nil
}

func addCounts(t *table, env, kind string, n store.Counts) {
	t.add(env, kind, strconv.Itoa(n.Episodes), strconv.Itoa(n.Done), strconv.Itoa(n.Failed), percent(n.Won, n.Done),
		meanOf(n.MeanReward, n.Done), meanOf(n.MeanScore, n.Done), stepsOf(n), shareOf(n))
}

func stepsOf(n store.Counts) string {
	if n.Done == 0 {
		return "-"
	}
	return strconv.FormatFloat(n.MeanSteps, 'f', 1, 64)
}

func shareOf(n store.Counts) string {
	if n.Steps == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*n.Invalid)
}

// sumCounts adds two rows up; the means are weighted by what they are means of.
func sumCounts(a, b store.Counts) store.Counts {
	s := store.Counts{
		Episodes: a.Episodes + b.Episodes, Pending: a.Pending + b.Pending, Running: a.Running + b.Running,
		Done: a.Done + b.Done, Failed: a.Failed + b.Failed, Won: a.Won + b.Won, Steps: a.Steps + b.Steps,
	}
	weigh := func(x, y float64, n, m int) float64 {
		if n+m == 0 {
			return 0
		}
		return (x*float64(n) + y*float64(m)) / float64(n+m)
	}
	s.MeanReward = weigh(a.MeanReward, b.MeanReward, a.Done, b.Done)
	s.MeanScore = weigh(a.MeanScore, b.MeanScore, a.Done, b.Done)
	s.MeanSteps = weigh(a.MeanSteps, b.MeanSteps, a.Done, b.Done)
	s.Invalid = weigh(a.Invalid, b.Invalid, a.Steps, b.Steps)
	return s
}

package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/store"
)

// runSummary is what `rollout --json` prints.
type runSummary struct {
	Run      store.Run                  `json:"run"`
	Rows     []store.SummaryRow         `json:"rows"`
	Failures []store.FailureCount       `json:"failures"`
	Stops    map[harness.StopReason]int `json:"stops"`            // done episodes by why they ended
	Drifts   map[string]int             `json:"drifts,omitempty"` // turns of conversations by drift
	Model    *llm.Stats                 `json:"model,omitempty"`  // calls of this process; absent where it made none
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
	if s.Stops, err = db.Stops(ctx, runID); err != nil {
		return err
	}
	if c.stats != nil {
		if m := c.stats(); m.Calls > 0 {
			s.Model = &m
		}
	}
	if c.asJSON {
		err = writeJSON(c.g.stdout, s)
	} else if err = c.outcomes(s); err == nil {
		c.remarks(s)
	}
	if err == nil {
		err = c.nothingDone(s)
	}
	return err
}

// nothingDone is the error of a run in which every episode failed: it collected nothing, and what is
// wrong is the same for all of them more often than not.
func (c *rolloutCommand) nothingDone(s runSummary) error {
	done, failed, open := 0, 0, 0
	for _, r := range s.Rows {
		done, failed, open = done+r.Done, failed+r.Failed, open+r.Pending+r.Running
	}
	if failed == 0 || done+open > 0 {
		return nil
	}
	err := fmt.Errorf("every episode of run %q failed", s.Run.Name)
	hint := fmt.Sprintf("harness runs %s --events --db %s", s.Run.Name, c.db)
	if c.failure != nil {
		err = fmt.Errorf("%w, the last with: %w", err, c.failure)
		if remedy := errext.Hint(c.failure); remedy != "" {
			hint = remedy
		}
	}
	return errext.WithHint(err, hint)
}

// outcomes prints the table.
func (c *rolloutCommand) outcomes(s runSummary) error {
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
	return t.write(c.g.stdout)
}

// remarks prints what the table does not show: failures, cut episodes and drift to stdout, and to
// stderr what belongs to this call alone.
func (c *rolloutCommand) remarks(s runSummary) {
	for _, f := range s.Failures {
		fmt.Fprintf(c.g.stdout, "%s failures: %s, of which %d for good\n", f.Kind, plural(f.Attempts, "attempt"), f.Episodes)
	}
	if n := s.Stops[harness.StopContext]; n > 0 {
		fmt.Fprintf(c.g.stdout, "%s ended early, because the next prompt did not fit the model's context\n", plural(n, "episode"))
	}
	if n := s.Drifts; len(n) > 0 {
		fmt.Fprintf(c.g.stdout, "conversation turns continued in token space: %d clean, %d realigned, %d forked\n",
			n[string(llm.DriftClean)], n[string(llm.DriftRealigned)], n[string(llm.DriftForked)])
	}
	if m := s.Model; m != nil {
		fmt.Fprintf(c.g.stderr, "model: %s, %d failed, %d requests sent again; latency median %s, 95%% %s, slowest %s; up to %d at once, %.0f tokens/s\n",
			plural(int(m.Calls), "call"), m.Failures, m.Retries, short(m.P50), short(m.P95), short(m.Max), m.MaxInFlight, m.TokensPerSecond())
		if m.CachedTokens > 0 {
			fmt.Fprintf(c.g.stderr, "prefix cache: %s of the prompts' %d were not computed again\n", plural(int(m.CachedTokens), "token"), m.PromptTokens)
		}
	}
	if n := failedForGood(s); n > 0 {
		fmt.Fprintf(c.g.stderr, "try %s again:  harness rollout --db %s --resume %s --retry-failed\n", plural(n, "failed episode"), shellWord(c.db), shellWord(s.Run.Name))
	}
	if len(s.Failures) > 0 {
		fmt.Fprintf(c.g.stderr, "what failed:  harness runs %s --events --db %s\n", shellWord(s.Run.Name), shellWord(c.db))
	}
	fmt.Fprintf(c.g.stderr, "look inside:  harness runs %s --db %s;  harness show EPISODE --db %s\n", shellWord(s.Run.Name), shellWord(c.db), shellWord(c.db))
}

func failedForGood(s runSummary) int {
	n := 0
	for _, r := range s.Rows {
		n += r.Failed
	}
	return n
}

// short prints a latency with three digits or so.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
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

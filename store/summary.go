package store

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/hindsightrl/harness"
)

// RunSummary is one line of a list of runs.
type RunSummary struct {
	Run
	Counts
}

// Counts sum episodes up. Means are over done episodes: a failed episode has no reward and counts in
// no mean.
type Counts struct {
	Episodes   int     `json:"episodes"`
	Pending    int     `json:"pending"`
	Running    int     `json:"running"`
	Done       int     `json:"done"`
	Failed     int     `json:"failed"`
	Won        int     `json:"won"`
	Steps      int     `json:"steps"` // of done episodes
	MeanReward float64 `json:"mean_reward"`
	MeanScore  float64 `json:"mean_score"`
	MeanSteps  float64 `json:"mean_steps"`
	Invalid    float64 `json:"invalid_share"` // invalid steps / steps, of done episodes
}

// SuccessRate is the share of done episodes that were won, and 0 where none is done.
func (c Counts) SuccessRate() float64 {
	if c.Done == 0 {
		return 0
	}
	return float64(c.Won) / float64(c.Done)
}

// SummaryRow sums the episodes of one environment and task type up.
type SummaryRow struct {
	Env  string `json:"env"`
	Type string `json:"type"`
	Counts
	Stops map[harness.StopReason]int `json:"stops"` // done episodes by stop reason
}

const countColumns = `count(e.id), coalesce(sum(e.status = 'pending'), 0), coalesce(sum(e.status = 'running'), 0),
	coalesce(sum(e.status = 'done'), 0), coalesce(sum(e.status = 'failed'), 0), coalesce(sum(e.won), 0), coalesce(sum(e.steps), 0),
	coalesce(avg(e.reward), 0.0), coalesce(avg(e.score), 0.0), coalesce(avg(e.steps), 0.0),
	coalesce(sum(e.invalid) * 1.0 / nullif(sum(e.steps), 0), 0.0)`

func (c *Counts) targets() []any {
	return []any{&c.Episodes, &c.Pending, &c.Running, &c.Done, &c.Failed, &c.Won, &c.Steps, &c.MeanReward, &c.MeanScore, &c.MeanSteps, &c.Invalid}
}

// Runs lists all runs with their counts, oldest first.
func (s *Store) Runs(ctx context.Context) ([]RunSummary, error) {
	text := strings.Replace(selectRun, " FROM runs r", ", "+countColumns+" FROM runs r", 1) +
		"LEFT JOIN episodes e ON e.run_id = r.id GROUP BY r.id ORDER BY r.id"
	return collect(query(ctx, s.db, "list runs", text, nil, func(scan func(...any) error) (RunSummary, error) {
		var sum RunSummary
		run, err := scanRun(func(to ...any) error { return scan(append(to, sum.targets()...)...) })
		sum.Run = run
		return sum, err
	}))
}

// Summary sums a run up by environment and task type, in that order.
func (s *Store) Summary(ctx context.Context, runID int64) ([]SummaryRow, error) {
	from := ` FROM episodes e JOIN groups g ON g.id = e.group_id JOIN tasks t ON t.id = g.task_id WHERE e.run_id = ?`
	op := fmt.Sprintf("summarise run %d", runID)
	rows, err := collect(query(ctx, s.db, op, "SELECT t.env, t.type, "+countColumns+from+" GROUP BY t.env, t.type ORDER BY t.env, t.type",
		[]any{runID}, func(scan func(...any) error) (SummaryRow, error) {
			r := SummaryRow{Stops: make(map[harness.StopReason]int)}
			err := scan(append([]any{&r.Env, &r.Type}, r.targets()...)...)
			return r, err
		}))
	if err != nil {
		return nil, err
	}
	at := make(map[[2]string]int, len(rows))
	for i, r := range rows {
		at[[2]string{r.Env, r.Type}] = i
	}
	type stop struct {
		env, kind string
		reason    harness.StopReason
		n         int
	}
	stops := query(ctx, s.db, op, "SELECT t.env, t.type, e.stop, count(*)"+from+" AND e.stop IS NOT NULL GROUP BY t.env, t.type, e.stop",
		[]any{runID}, func(scan func(...any) error) (st stop, err error) {
			err = scan(&st.env, &st.kind, &st.reason, &st.n)
			return st, err
		})
	for st, err := range stops {
		if err != nil {
			return nil, err
		}
		if i, ok := at[[2]string{st.env, st.kind}]; ok { // a run that goes on may have gained a row meanwhile
			rows[i].Stops[st.reason] = st.n
		}
	}
	return rows, nil
}

// FailureCount counts failures of one kind. Episodes are those that failed for good; Attempts also
// those that were tried again.
type FailureCount struct {
	Kind     harness.FailureKind `json:"kind"`
	Episodes int                 `json:"episodes"`
	Attempts int                 `json:"attempts"`
}

// Failures counts a run's failures by kind.
func (s *Store) Failures(ctx context.Context, runID int64) ([]FailureCount, error) {
	text := `SELECT a.failure_kind, count(DISTINCT CASE WHEN e.attempt_id = a.id THEN e.id END), count(*)
		FROM attempts a JOIN episodes e ON e.id = a.episode_id
		WHERE e.run_id = ? AND a.state = 'failed' GROUP BY a.failure_kind ORDER BY a.failure_kind`
	return collect(query(ctx, s.db, fmt.Sprintf("count failures of run %d", runID), text, []any{runID},
		func(scan func(...any) error) (f FailureCount, err error) {
			err = scan(&f.Kind, &f.Episodes, &f.Attempts)
			return f, err
		}))
}

// FailedAttempts streams a run's failed attempts, oldest first, those that were tried again included.
func (s *Store) FailedAttempts(ctx context.Context, runID int64) iter.Seq2[Attempt, error] {
	text := `SELECT a.id, a.episode_id, a.number, a.state, a.started_ms, coalesce(a.finished_ms, 0), coalesce(a.failure_kind, ''),
		a.failure_op, a.failure_message, (SELECT count(*) FROM steps s WHERE s.attempt_id = a.id)
		FROM attempts a JOIN episodes e ON e.id = a.episode_id WHERE e.run_id = ? AND a.state = 'failed' ORDER BY a.id`
	return query(ctx, s.db, fmt.Sprintf("read failed attempts of run %d", runID), text, []any{runID}, scanAttempt)
}

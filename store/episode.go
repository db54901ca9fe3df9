package store

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/hindsightrl/harness"
)

// FailureInfo is a failure as the ledger keeps it: the cause is only its text.
type FailureInfo struct {
	Kind    harness.FailureKind `json:"kind"`
	Op      string              `json:"op"`
	Message string              `json:"message"`
}

// Episode is an episode as the ledger holds it.
type Episode struct {
	harness.EpisodeRef
	RunID   int64            `json:"run"`
	Status  harness.Status   `json:"status"`
	Attempt int64            `json:"attempt,omitempty"` // the attempt that closed it; 0 while it is open
	Fork    *harness.Fork    `json:"fork,omitempty"`    // of the attempt that closed it, or of the latest; nil unless it is a leaf
	Outcome *harness.Outcome `json:"outcome,omitempty"` // nil unless done
	Failure *FailureInfo     `json:"failure,omitempty"` // nil unless failed
}

// Attempt is one try at an episode.
type Attempt struct {
	ID       int64        `json:"id"`
	Episode  int64        `json:"episode"`
	Number   int          `json:"number"`            // 1-based
	State    string       `json:"state"`             // "running", "done", "failed"
	Started  time.Time    `json:"started"`           // UTC, millisecond
	Finished time.Time    `json:"finished,omitzero"` // zero while running
	Failure  *FailureInfo `json:"failure,omitempty"`
	Steps    int          `json:"steps"` // recorded so far
}

// Filter picks episodes of a run. Empty fields pick all.
type Filter struct {
	Status []harness.Status
	Kind   harness.FailureKind // of failed episodes
	Env    string
	Type   string
	Group  *int
}

const selectEpisode = `SELECT e.id, g.idx, g.round, e.sample, t.env, t.task, t.split, t.type, t.seed, t.hash, e.run_id, e.status,
	coalesce(e.attempt_id, 0), coalesce(e.stop, ''), coalesce(e.won, 0), coalesce(e.reward, 0), coalesce(e.score, 0),
	coalesce(e.steps, 0), coalesce(e.invalid, 0), coalesce(e.failure_kind, ''), e.failure_op, e.failure_message,
	pa.episode_id, f.step, f.token
	FROM episodes e JOIN groups g ON g.id = e.group_id JOIN tasks t ON t.id = g.task_id
	LEFT JOIN forks f ON f.attempt_id = coalesce(e.attempt_id, (SELECT max(l.id) FROM attempts l WHERE l.episode_id = e.id))
	LEFT JOIN attempts pa ON pa.id = f.parent_id `

func scanEpisode(scan func(...any) error) (Episode, error) {
	var (
		e           Episode
		o           harness.Outcome
		kind        string
		op, message any
		fork        forkRow
	)
	err := scan(&e.ID, &e.Group, &e.Round, &e.Sample, &e.Task.Env, &e.Task.ID, &e.Task.Split, &e.Task.Type, &e.Task.Seed, &e.Task.Hash,
		&e.RunID, &e.Status, &e.Attempt, &o.Stop, &o.Won, &o.Reward, &o.Score, &o.Steps, &o.Invalid, &kind, &op, &message,
		&fork.parent, &fork.step, &fork.token)
	if err != nil {
		return e, err
	}
	e.Fork = fork.fork()
	if e.Status == harness.StatusDone {
		e.Outcome = &o
	}
	e.Failure, err = failureInfo(kind, op, message)
	return e, err
}

func failureInfo(kind string, op, message any) (*FailureInfo, error) {
	if kind == "" {
		return nil, nil
	}
	f := &FailureInfo{Kind: harness.FailureKind(kind)}
	var err error
	if f.Op, err = textOf(op); err != nil {
		return nil, fmt.Errorf("failure_op: %w", err)
	}
	if f.Message, err = textOf(message); err != nil {
		return nil, fmt.Errorf("failure_message: %w", err)
	}
	return f, nil
}

// Episodes streams the episodes of a run that f picks, in panel order.
func (s *Store) Episodes(ctx context.Context, runID int64, f Filter) iter.Seq2[Episode, error] {
	where, args := []string{"e.run_id = ?"}, []any{runID}
	add := func(cond string, arg any) { where, args = append(where, cond), append(args, arg) }
	if len(f.Status) > 0 {
		where = append(where, "e.status IN (?"+strings.Repeat(", ?", len(f.Status)-1)+")")
		for _, st := range f.Status {
			args = append(args, string(st))
		}
	}
	if f.Kind != "" {
		add("e.failure_kind = ?", string(f.Kind))
	}
	if f.Env != "" {
		add("t.env = ?", f.Env)
	}
	if f.Type != "" {
		add("t.type = ?", f.Type)
	}
	if f.Group != nil {
		add("g.idx = ?", *f.Group)
	}
	text := selectEpisode + "WHERE " + strings.Join(where, " AND ") + " ORDER BY e.id"
	return query(ctx, s.db, fmt.Sprintf("read episodes of run %d", runID), text, args, scanEpisode)
}

// Pending lists the episodes of a run that are not closed, in panel order. Those that an interrupted
// process left running are among them.
func (s *Store) Pending(ctx context.Context, runID int64) ([]harness.EpisodeRef, error) {
	var refs []harness.EpisodeRef
	open := Filter{Status: []harness.Status{harness.StatusPending, harness.StatusRunning}}
	for e, err := range s.Episodes(ctx, runID, open) {
		if err != nil {
			return nil, err
		}
		refs = append(refs, e.EpisodeRef)
	}
	return refs, nil
}

// Episode reads one episode. ErrNotFound if there is none of this id.
func (s *Store) Episode(ctx context.Context, id int64) (Episode, error) {
	e, err := scanEpisode(s.db.QueryRowContext(ctx, selectEpisode+"WHERE e.id = ?", id).Scan)
	if err != nil {
		return Episode{}, fmt.Errorf("read episode %d: %w", id, missing(err, "list the episodes of the run to see their ids"))
	}
	return e, nil
}

// Attempts lists an episode's attempts in order.
func (s *Store) Attempts(ctx context.Context, episode int64) ([]Attempt, error) {
	text := `SELECT a.id, a.episode_id, a.number, a.state, a.started_ms, coalesce(a.finished_ms, 0), coalesce(a.failure_kind, ''),
		a.failure_op, a.failure_message, (SELECT count(*) FROM steps s WHERE s.attempt_id = a.id)
		FROM attempts a WHERE a.episode_id = ? ORDER BY a.number`
	return collect(query(ctx, s.db, fmt.Sprintf("read attempts of episode %d", episode), text, []any{episode}, scanAttempt))
}

func scanAttempt(scan func(...any) error) (Attempt, error) {
	var (
		a                 Attempt
		started, finished int64
		kind              string
		op, message       any
	)
	if err := scan(&a.ID, &a.Episode, &a.Number, &a.State, &started, &finished, &kind, &op, &message, &a.Steps); err != nil {
		return a, err
	}
	a.Started = fromMS(started)
	if finished != 0 {
		a.Finished = fromMS(finished)
	}
	var err error
	a.Failure, err = failureInfo(kind, op, message)
	return a, err
}

// RequeueFailed makes failed episodes of a run pending again and returns how many. Without kinds it
// takes all of them. Their attempts stay in the ledger; the next Begin opens the next one.
func (s *Store) RequeueFailed(ctx context.Context, runID int64, kinds ...harness.FailureKind) (int, error) {
	where, args := "", []any{runID}
	if len(kinds) > 0 {
		where = " AND failure_kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ")"
		for _, k := range kinds {
			args = append(args, string(k))
		}
	}
	now, n := s.now(), 0
	err := s.write(ctx, func(c *conn) error {
		count, err := c.value("SELECT count(*) FROM episodes WHERE run_id = ? AND status = 'failed'"+where, values(args)...)
		if err != nil {
			return err
		}
		if n = int(count.(int64)); n == 0 {
			return nil
		}
		_, err = c.exec(`UPDATE episodes SET status = 'pending', attempt_id = NULL, failure_kind = NULL, failure_op = NULL,
			failure_message = NULL WHERE run_id = ? AND status = 'failed'`+where, values(args)...)
		if err != nil {
			return err
		}
		return insertEvent(c, runID, nil, now, EventRequeued, fmt.Sprintf("%d failed episodes", n))
	})
	if err != nil {
		return 0, fmt.Errorf("requeue failed episodes of run %d: %w", runID, err)
	}
	return n, nil
}

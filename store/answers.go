package store

import (
	"context"
	"fmt"
	"time"

	"github.com/hindsightrl/harness"
)

// Answer is the last word of a done episode: what a vote of its group counts, and what it cost.
type Answer struct {
	Episode    int64
	Group      int
	Sample     int
	Task       harness.Task
	Action     string // of the last step
	Privileged string // what the environment kept to itself there
	Valid      bool
	Reward     float64       // of the episode
	Won        bool          // says the environment
	Fork       *harness.Fork // nil unless the episode is a leaf
	Tokens     int           // response tokens of the last step; −1: the policy gave none
	Prompt     int           // prompt tokens of that step; 0 where they are not known
	Version    int32         // policy version of that step's last token; −1 = unknown
	PolicyTime time.Duration // of that step
	Started    time.Time     // of the attempt that closed the episode, UTC, millisecond
	Finished   time.Time
}

// Answers reads the last steps of a run's done episodes, by group and sample. Episodes that failed, are
// open or ended without a step have none.
func (s *Store) Answers(ctx context.Context, runID int64) ([]Answer, error) {
	const text = `SELECT e.id, g.idx, e.sample, k.env, k.task, k.split, k.type, k.seed, k.hash,
			c.action, c.privileged, c.valid, e.reward, e.won, pa.episode_id, f.step, f.token, coalesce(t.n, -1), coalesce(t.n_prompt, 0), t.versions, s.policy_ns, at.started_ms, at.finished_ms
		FROM episodes e JOIN groups g ON g.id = e.group_id JOIN tasks k ON k.id = g.task_id JOIN attempts at ON at.id = e.attempt_id
		JOIN steps s ON s.attempt_id = e.attempt_id AND s.idx = e.steps - 1
		JOIN steps c ON c.id = coalesce(s.shared_id, s.id) LEFT JOIN tokens t ON t.step_id = c.id
		LEFT JOIN forks f ON f.attempt_id = e.attempt_id LEFT JOIN attempts pa ON pa.id = f.parent_id
		WHERE e.run_id = ? AND e.status = 'done' ORDER BY g.idx, e.sample`
	return collect(query(ctx, s.db, fmt.Sprintf("read the answers of run %d", runID), text, []any{runID}, scanAnswer))
}

func scanAnswer(scan func(...any) error) (a Answer, err error) {
	var (
		action, privileged, versions any
		fork                         forkRow
		ns, started, finished        int64
	)
	err = scan(&a.Episode, &a.Group, &a.Sample, &a.Task.Env, &a.Task.ID, &a.Task.Split, &a.Task.Type, &a.Task.Seed, &a.Task.Hash,
		&action, &privileged, &a.Valid, &a.Reward, &a.Won, &fork.parent, &fork.step, &fork.token, &a.Tokens, &a.Prompt, &versions, &ns, &started, &finished)
	if err != nil {
		return a, err
	}
	a.Fork, a.PolicyTime, a.Version = fork.fork(), nanoseconds(ns), -1
	a.Started, a.Finished = fromMS(started), fromMS(finished)
	if a.Action, err = textOf(action); err != nil {
		return a, fmt.Errorf("episode %d: action: %w", a.Episode, err)
	}
	if a.Privileged, err = textOf(privileged); err != nil {
		return a, fmt.Errorf("episode %d: privileged: %w", a.Episode, err)
	}
	v, err := int32s(versions, nil)
	if err != nil {
		return a, fmt.Errorf("episode %d: versions: %w", a.Episode, err)
	}
	if len(v) > 0 {
		a.Version = v[len(v)-1]
	}
	return a, nil
}

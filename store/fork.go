package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
)

// BeginLeaf is Begin for an episode that grows out of another one of its group: a done one, which never
// changes again. What the leaf shares with it is not stored a second time: recorded starts with the
// parent's steps before the fork, marked as shared, and the leaf's first step of its own is step fork.Step.
// If the fork is inside a response, that step must begin with the parent's prompt and first tokens,
// log-probabilities and all: Step refuses another one. A fork at a place that the parent itself shares
// belongs to the parent's parent, and is refused here. If an attempt was left running, its fork must be
// the same.
func (r *Recorder) BeginLeaf(ctx context.Context, ep harness.EpisodeRef, fork harness.Fork) (id int64, recorded []harness.Step, err error) {
	if err := fork.Validate(); err != nil {
		return 0, nil, failure(fmt.Sprintf("begin episode %d (%v)", ep.ID, ep), err)
	}
	return r.begin(ctx, ep, &fork)
}

// openFork writes where a new attempt leaves its parent, with its shared steps; of a reopened attempt it
// compares what is there.
func openFork(c *conn, a *attempt, fork harness.Fork, reopened bool) error {
	parent, err := forkParent(c, a.episode, fork)
	if err != nil {
		return err
	}
	if reopened {
		old, err := c.row("SELECT parent_id, step, token FROM forks WHERE attempt_id = ?", a.id)
		if err != nil {
			return err
		}
		if old == nil {
			n, err := c.value("SELECT count(*) FROM steps WHERE attempt_id = ?", a.id)
			switch {
			case err != nil:
				return err
			case n == int64(0): // it was to be closed as it was: the process died between
				return writeFork(c, a.id, parent, fork)
			}
		}
		if old == nil || old[0] != parent || old[1] != int64(fork.Step) || old[2] != int64(fork.Token) {
			return fmt.Errorf("attempt %d was begun with another fork than %v", a.number, fork)
		}
		return nil
	}
	return writeFork(c, a.id, parent, fork)
}

// writeFork writes a fork with the steps that are shared.
func writeFork(c *conn, attempt, parent int64, fork harness.Fork) error {
	_, err := c.exec("INSERT INTO forks (attempt_id, parent_id, step, token) VALUES (?, ?, ?, ?)", attempt, parent, int64(fork.Step), int64(fork.Token))
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT INTO steps (attempt_id, idx, action, valid, reward, score, won, done, response, next_text, privileged, next_anchor,
			policy_ns, env_ns, shared_id)
		SELECT ?, idx, '', valid, reward, score, won, done, '', '', '', '', policy_ns, env_ns, coalesce(shared_id, id)
		FROM steps WHERE attempt_id = ? AND idx < ? ORDER BY idx`, attempt, parent, int64(fork.Step))
	return err
}

// forkParent finds the attempt that a fork leaves, and refuses a fork that it does not have.
func forkParent(c *conn, episode int64, fork harness.Fork) (parent int64, err error) {
	p, err := c.row(`SELECT p.attempt_id, p.status, p.group_id = e.group_id, coalesce(f.step, -1), coalesce(f.token, 0)
		FROM episodes p JOIN episodes e ON e.id = ?1 LEFT JOIN forks f ON f.attempt_id = p.attempt_id WHERE p.id = ?2`, episode, fork.Parent)
	switch {
	case err != nil:
		return 0, err
	case p == nil:
		return 0, fmt.Errorf("fork at %v: the parent: %w", fork, ErrNotFound)
	case p[2] != int64(1):
		return 0, fmt.Errorf("fork at %v: the parent is of another group", fork)
	case p[1] != string(harness.StatusDone):
		return 0, fmt.Errorf("fork at %v: the parent is %v: only a done episode can be one", fork, p[1])
	case !fork.After(harness.Fork{Step: int(p[3].(int64)), Token: int(p[4].(int64))}):
		return 0, fmt.Errorf("fork at %v: the parent shares that place with its own parent", fork)
	}
	parent = p[0].(int64)
	at, err := c.row(`SELECT t.n FROM steps s LEFT JOIN tokens t ON t.step_id = coalesce(s.shared_id, s.id)
		WHERE s.attempt_id = ? AND s.idx = ?`, parent, int64(fork.Step))
	switch {
	case err != nil:
		return 0, err
	case at == nil:
		return 0, fmt.Errorf("fork at %v: the parent has no such step", fork)
	case fork.Token == 0:
		return parent, nil
	case at[0] == nil || at[0].(int64) <= int64(fork.Token):
		return 0, fmt.Errorf("fork at %v: the parent's response has no such token", fork)
	}
	return parent, nil
}

// forkRow is a fork as it lies in the file; all of it is NULL for a root.
type forkRow struct{ parent, step, token sql.NullInt64 }

func (f forkRow) fork() *harness.Fork {
	if !f.parent.Valid {
		return nil
	}
	return &harness.Fork{Parent: f.parent.Int64, Step: int(f.step.Int64), Token: int(f.token.Int64)}
}

// forkOf reads an attempt's fork; nil for a root's.
func forkOf(ctx context.Context, q querier, attempt int64) (*harness.Fork, error) {
	var f forkRow
	err := q.QueryRowContext(ctx, "SELECT p.episode_id, f.step, f.token FROM forks f JOIN attempts p ON p.id = f.parent_id WHERE f.attempt_id = ?",
		attempt).Scan(&f.parent, &f.step, &f.token)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read the fork of attempt %d: %w", attempt, classify(err))
	}
	return f.fork(), nil
}

// markShared marks what a step of an attempt with this fork has in common with an ancestor.
func markShared(s *harness.Step, fork *harness.Fork) {
	s.Shared = fork != nil && s.Index < fork.Step
	s.SharedTokens = sharedTokens(s.Index, s.Shared, s.Tokens, fork)
}

func sharedTokens(index int, shared bool, t *harness.Tokens, fork *harness.Fork) int {
	switch {
	case t == nil || fork == nil:
		return 0
	case shared:
		return len(t.IDs)
	case index == fork.Step:
		return fork.Token
	}
	return 0
}

// forked is what a leaf's attempt must begin its first own step with.
type forked struct {
	harness.Fork
	step harness.Step // the parent's step at the fork; zero unless the fork is inside its response
}

// loadFork reads an attempt's fork with what its first own step must agree with; nil for a root's. before is
// what the attempt's last step left: up to the fork, that is what the parent's left too, so the parent's one
// step is read alone.
func loadFork(ctx context.Context, q querier, attempt int64, before carry) (*forked, error) {
	fork, err := forkOf(ctx, q, attempt)
	if err != nil || fork == nil {
		return nil, err
	}
	f := &forked{Fork: *fork}
	if fork.Token == 0 || before.index != fork.Step { // nothing to agree with, or recorded already
		return f, nil
	}
	parent, err := decidingAttempt(ctx, q, fork.Parent)
	if err != nil {
		return nil, err
	}
	text := "SELECT " + stepColumns + ", " + tokenColumns + leafTables + " AND s.idx = ?"
	for st, err := range query(ctx, q, "read the step at the fork", text, []any{parent, fork.Step},
		func(scan func(...any) error) (harness.Step, error) { return scanStep(scan, &before) }) {
		f.step = st
		return f, err
	}
	return nil, badBlob("attempt %d: its parent has no step %d", attempt, fork.Step)
}

// check refuses a step at the fork that does not begin as the parent's did. f may be nil.
func (f *forked) check(s *harness.Step) error {
	if f == nil || f.Token == 0 || s.Index != f.Step {
		return nil
	}
	mine, theirs, k := s.Tokens, f.step.Tokens, f.Token
	differ := func(what string) error {
		return fmt.Errorf("the step forks off %v, and its %s differ from the parent's before that", f.Fork, what)
	}
	switch {
	case mine == nil || len(mine.IDs) < k:
		return fmt.Errorf("the step forks off %v, and has fewer tokens", f.Fork)
	case !slices.Equal(mine.PromptIDs, theirs.PromptIDs):
		return differ("prompt tokens")
	case !slices.Equal(mine.IDs[:k], theirs.IDs[:k]):
		return differ("tokens")
	case !sameHead(mine.Logprobs, theirs.Logprobs, k):
		return differ("log-probabilities")
	case !sameHead(mine.Entropies, theirs.Entropies, k) || !sameHead(mine.EntropyLow, theirs.EntropyLow, k) || !sameHead(mine.EntropyHigh, theirs.EntropyHigh, k):
		return differ("entropies")
	case !sameHead(mine.Versions, theirs.Versions, k):
		return differ("policy versions")
	}
	return nil
}

// sameHead reports whether two columns agree in their first k values; a column that was not given has none.
func sameHead[T comparable](a, b []T, k int) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return slices.Equal(a[:k], b[:k])
}

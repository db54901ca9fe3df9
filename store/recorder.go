package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Recorder writes the episodes of one run down as they happen. It is safe for concurrent use by
// different attempts; one attempt is driven by one goroutine. Its errors are *harness.Failure of
// kind FailHarness (FailEnv for a reward that is not a number), or wrap the context's error.
type Recorder struct {
	s     *Store
	runID int64
}

// Recorder returns the recorder of a run.
func (s *Store) Recorder(runID int64) *Recorder { return &Recorder{s, runID} }

// attempt is an attempt that this process is recording.
//
//	running ─► done    (Finish)
//	   │ └───► failed  (Fail)
//	   └─────► running (Begin, after an interruption)
type attempt struct {
	id      int64
	episode int64
	number  int64

	// Owned by the goroutine that drives the attempt.
	carry   carry
	spare   []byte // memory for the next step's ids
	reward  float64
	score   float64
	invalid int
	last    *ticket // of the latest step
	fork    *forked // nil unless the attempt is a leaf's

	mu         sync.Mutex // held while a call of the driver enters the queue
	superseded bool       // a later Begin took the attempt over

	broken error // owned by the writer's goroutine: an earlier step of the attempt was refused
}

// submit queues a call of the attempt's driver, unless a later Begin has taken the attempt over.
func (a *attempt) submit(ctx context.Context, w *writer, run func(*conn) error) (*ticket, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.superseded {
		return nil, ErrSuperseded
	}
	return w.submit(ctx, run)
}

// do is submit for a call that waits until its rows are durable.
func (a *attempt) do(ctx context.Context, w *writer, run func(*conn) error) error {
	t, err := a.submit(ctx, w, run)
	if err != nil {
		return err
	}
	return t.wait(ctx)
}

// note adds a step to the totals that the outcome must agree with.
func (a *attempt) note(s *harness.Step) {
	a.reward += s.Reward
	a.score = s.Score
	if !s.Valid {
		a.invalid++
	}
}

// Begin opens an attempt of the episode. If one was left running, by an earlier process or by a
// driver of this one that was interrupted, Begin reopens it and returns the steps it holds, in order;
// otherwise recorded is empty and the attempt is a new one. It returns once the attempt is durable.
// ErrEpisodeClosed for an episode that is done or failed.
func (r *Recorder) Begin(ctx context.Context, ep harness.EpisodeRef) (id int64, recorded []harness.Step, err error) {
	return r.begin(ctx, ep, nil)
}

// begin is Begin for a root and BeginLeaf for a leaf.
func (r *Recorder) begin(ctx context.Context, ep harness.EpisodeRef, fork *harness.Fork) (id int64, recorded []harness.Step, err error) {
	op := fmt.Sprintf("begin episode %d (%v)", ep.ID, ep)
	if err := ctx.Err(); err != nil { // before anyone is cut off
		return 0, nil, failure(op, err)
	}
	a := &attempt{episode: ep.ID}
	r.s.supersede(ep.ID)
	now := r.s.now()
	reopened := false
	err = r.s.write(ctx, func(c *conn) (err error) {
		if a.id, a.number, reopened, err = openAttempt(c, r.runID, ep.ID, now); err != nil || fork == nil {
			return err
		}
		return openFork(c, a, *fork, reopened)
	})
	if err != nil {
		return 0, nil, failure(op, err)
	}
	if reopened || fork != nil {
		if recorded, err = r.s.resume(ctx, a); err != nil {
			return 0, nil, failure(op, err)
		}
	}
	r.s.mu.Lock()
	r.s.live[a.id] = a
	r.s.mu.Unlock()
	return a.id, recorded, nil
}

// supersede cuts off whoever still drives an attempt of the episode. It comes before the new Begin
// enters the queue, so that each step of the old driver is either ahead of it, and read, or refused.
func (s *Store) supersede(episode int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.live {
		if a.episode == episode {
			a.mu.Lock()
			a.superseded = true
			a.mu.Unlock()
			delete(s.live, id)
		}
	}
}

func openAttempt(c *conn, run, episode, now int64) (id, number int64, reopened bool, err error) {
	e, err := c.row("SELECT run_id, status FROM episodes WHERE id = ?", episode)
	switch {
	case err != nil:
		return 0, 0, false, err
	case e == nil:
		return 0, 0, false, fmt.Errorf("episode %d: %w", episode, ErrNotFound)
	case e[0] != run:
		return 0, 0, false, fmt.Errorf("episode %d belongs to run %v, the recorder to run %d", episode, e[0], run)
	case e[1] == string(harness.StatusDone), e[1] == string(harness.StatusFailed):
		return 0, 0, false, errext.WithHint(fmt.Errorf("%w: it is %v", ErrEpisodeClosed, e[1]), "requeue failed episodes to run them again")
	}
	last, err := c.row("SELECT id, number, state FROM attempts WHERE episode_id = ? ORDER BY number DESC LIMIT 1", episode)
	if err != nil {
		return 0, 0, false, err
	}
	number = 1
	if last != nil {
		number = last[1].(int64) + 1
		if last[2] == "running" {
			id = last[0].(int64)
			return id, number - 1, true, insertEvent(c, run, episode, now, EventReopened, fmt.Sprintf("attempt %d", number-1))
		}
	}
	if id, err = c.exec("INSERT INTO attempts (episode_id, number, state, started_ms) VALUES (?, ?, 'running', ?)", episode, number, now); err != nil {
		return 0, 0, false, err
	}
	_, err = c.exec("UPDATE episodes SET status = 'running' WHERE id = ? AND status = 'pending'", episode)
	return id, number, false, err
}

// resume reads back what an attempt holds and readies it for the next step.
func (s *Store) resume(ctx context.Context, a *attempt) ([]harness.Step, error) {
	var all []harness.Step
	for st, err := range steps(ctx, s.db, a.id, &a.carry) {
		if err != nil {
			return nil, err
		}
		a.note(&st)
		all = append(all, st)
	}
	var err error
	a.fork, err = loadFork(ctx, s.db, a.id, a.carry)
	return all, err
}

// Step appends a step. It returns once the attempt's previous step is durable, so that at most one
// step is in flight; an error of the previous step is reported here.
func (r *Recorder) Step(ctx context.Context, attempt int64, st harness.Step) error {
	if err := r.step(ctx, attempt, &st); err != nil {
		return failure(fmt.Sprintf("record step %d of attempt %d", st.Index, attempt), err)
	}
	return nil
}

func (r *Recorder) step(ctx context.Context, attempt int64, st *harness.Step) error {
	a, err := r.s.attempt(attempt)
	if err != nil {
		return err
	}
	if err := checkStep(st, a.carry.index); err != nil {
		return err
	}
	if err := a.fork.check(st); err != nil {
		return err
	}
	row, next := encodeStep(a.id, st, &a.carry)
	run := func(c *conn) error { return a.guard(writeStep(c, a, row, nil, nil)) }
	if st.Tokens != nil {
		tokens, ids := encodeTokens(st.Tokens, a.carry.ids, a.spare)
		next.ids, next.alone = ids, true
		meta := cloneMeta(st.Tokens.Meta)
		run = func(c *conn) error { return a.guard(writeStep(c, a, row, tokens, meta)) }
	}
	t, err := a.submit(ctx, r.s.w, run)
	if err != nil {
		return err
	}
	prev := a.last
	if a.spare = nil; a.carry.alone {
		a.spare = a.carry.ids
	}
	a.carry, a.last = next, t
	a.note(st)
	if prev == nil {
		return nil
	}
	return prev.wait(ctx)
}

func cloneMeta(m *harness.TokenMeta) *harness.TokenMeta {
	if m == nil {
		return nil
	}
	c := *m
	return &c
}

// guard remembers a refusal, so that no later step of the attempt leaves a gap.
func (a *attempt) guard(err error) error {
	if err != nil && a.broken == nil && !fatal(classify(err)) {
		a.broken = err
	}
	return err
}

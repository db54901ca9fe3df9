package qa

import (
	"context"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Env is one question being asked. It takes one action, the answer, and is done; further actions get
// the last transition again, without a reward.
type Env struct {
	suite  *Suite
	q      *Question
	last   *harness.Transition // nil: not answered yet
	closed bool
}

var (
	_ harness.Snapshotter = (*Env)(nil)
	_ harness.Advisor     = (*Env)(nil)
)

// state is a Snapshot: an Env holds no more than its question and its answer.
type state struct {
	harness.SnapshotBase
	q    *Question
	last *harness.Transition
}

var (
	errNotReset = errors.New("qa: no question is being asked: call Reset first")
	errClosed   = errors.New("qa: the environment is closed")
)

// Reset asks a question.
func (e *Env) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	if err := ctx.Err(); err != nil {
		return harness.Observation{}, err
	}
	if e.closed {
		return harness.Observation{}, errClosed
	}
	q, err := e.suite.Question(task)
	if err != nil {
		return harness.Observation{}, harness.FailFinal(harness.FailEnv, "ask", err)
	}
	e.q, e.last = q, nil
	return q.observation(), nil
}

func (q *Question) observation() harness.Observation {
	return harness.Observation{Text: q.Prompt(), Task: q.Text}
}

// What the environment answers.
const (
	sayRight   = "Right."
	sayWrong   = "Wrong."
	sayNothing = "There is no answer in the response."
	sayTaken   = "Answer taken. Nobody here knows whether it is right."
)

// Step takes the answer. What is right stays in Privileged, and is there in every case, so that a
// recorded episode can be judged again.
func (e *Env) Step(ctx context.Context, action string) (harness.Transition, error) {
	if err := ctx.Err(); err != nil {
		return harness.Transition{}, err
	}
	switch {
	case e.closed:
		return harness.Transition{}, errClosed
	case e.q == nil:
		return harness.Transition{}, errNotReset
	case e.last != nil:
		again := *e.last
		again.Reward = 0
		return again, nil
	}
	tr := harness.Transition{Done: true}
	if e.q.Known {
		tr.Privileged = referencePrefix + e.q.Answer
	}
	switch {
	case action == "":
		tr.Feedback = sayNothing
	case !e.q.Known:
		tr.Feedback = sayTaken
	case e.q.Right(action, e.suite.cfg.Rules):
		tr.Feedback, tr.Reward, tr.Score, tr.Won = sayRight, e.suite.cfg.Reward, 1, true
	default:
		tr.Feedback = sayWrong
	}
	tr.Observation = e.q.observation()
	tr.Observation.Text = tr.Feedback
	e.last = &tr
	return tr, nil
}

// Close ends the episode.
func (e *Env) Close() error {
	e.closed = true
	return nil
}

// Snapshot copies the state.
func (e *Env) Snapshot() (harness.Snapshot, error) {
	switch {
	case e.closed:
		return nil, errClosed
	case e.q == nil:
		return nil, errNotReset
	}
	return state{q: e.q, last: e.last}, nil
}

// Restore puts a state back.
func (e *Env) Restore(snapshot harness.Snapshot) error {
	s, ok := snapshot.(state)
	switch {
	case e.closed:
		return errClosed
	case !ok:
		return fmt.Errorf("qa: a snapshot of another environment (%T)", snapshot)
	case e.q != nil && e.q != s.q:
		return fmt.Errorf("qa: the snapshot is of question %q, the environment asks %q", s.q.ID, e.q.ID)
	}
	e.q, e.last = s.q, s.last
	return nil
}

// Advise returns the reference answer.
func (e *Env) Advise(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	switch {
	case e.q == nil:
		return "", errNotReset
	case !e.q.Known:
		return "", errext.WithHint(fmt.Errorf("qa: the answer to %q is not known", e.q.ID), `use the policy "refmodel" or a model server`)
	}
	return e.q.Answer, nil
}

package webshop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/pyrand"
)

// perfect is what the serl variant pays for a purchase that scores 1; anything else pays 0.
const perfect = 10

// Env is one episode. It may be Reset after Close. It is a Snapshotter and an Advisor.
type Env struct {
	suite   *Suite
	key     string // the task's
	seed    int64  // of the episode's random stream
	session *shop.Session
	rand    *pyrand.Rand       // nil until a random search needs it
	last    harness.Transition // the final answer, once the episode is over
	plan    *plan              // the expert's; nil until asked for
}

var (
	_ harness.Snapshotter = (*Env)(nil)
	_ harness.Advisor     = (*Env)(nil)
)

// errNoEpisode is what a call out of order gives.
var errNoEpisode = errors.New("webshop: no episode is under way: call Reset first")

// Reset starts a task. The observation's task is the instruction.
func (e *Env) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	if err := ctx.Err(); err != nil {
		return harness.Observation{}, err
	}
	w, index, err := e.suite.find(task)
	if err != nil {
		return harness.Observation{}, harness.FailFinal(harness.FailEnv, "reset", err)
	}
	goal := w.At(index)
	if e.key != task.Key() {
		e.plan = nil
	}
	e.key, e.seed, e.rand, e.last = task.Key(), int64(index)+task.Seed<<32, nil, harness.Transition{}
	// Sessions are called by the goal's index, as the original calls them that start one.
	e.session = e.suite.shop.NewSession(fmt.Sprint(index), &goal, w.Prices, e.stream)
	return e.observe("reset")
}

// stream is where random searches draw from: a stream of the task's own, so that episodes do not
// depend on each other.
func (e *Env) stream() *pyrand.Rand {
	if e.rand == nil {
		e.rand = pyrand.New(e.seed)
	}
	return e.rand
}

func (e *Env) observe(op string) (harness.Observation, error) {
	text, err := e.session.Observe(e.suite.cfg.Mode)
	if err != nil {
		return harness.Observation{}, harness.Fail(harness.FailEnv, op, err)
	}
	return harness.Observation{Text: text, Task: e.session.Goal().Instruction, Admissible: e.session.Admissible()}, nil
}

// Step applies an action. What is no action or names nothing on the page changes nothing and is
// explained in Privileged; after a purchase Privileged holds the reward's parts. An episode that is
// over gives its last answer again, with no reward.
func (e *Env) Step(ctx context.Context, action string) (harness.Transition, error) {
	if err := ctx.Err(); err != nil {
		return harness.Transition{}, err
	}
	if e.session == nil {
		return harness.Transition{}, errNoEpisode
	}
	if e.last.Done {
		tr := e.last
		tr.Reward = 0
		return tr, nil
	}
	st, err := e.session.Step(strings.ToValidUTF8(action, "\uFFFD"))
	if err != nil {
		return harness.Transition{}, harness.Fail(harness.FailEnv, "step", fmt.Errorf("step %.200q in %s: %w", action, e.key, err))
	}
	obs, err := e.observe("step")
	if err != nil {
		return harness.Transition{}, err
	}
	tr := harness.Transition{Observation: obs, Privileged: st.NoOp, Done: st.Done}
	if st.Done {
		tr.Score, tr.Won = st.Reward, st.Reward == 1
		tr.Reward = e.suite.pay(st.Reward)
		tr.Privileged = explainPurchase(e.session.Goal(), e.session.Bought(), e.session.Options(), e.session.Price(), st.Result)
		e.last = tr
	}
	return tr, nil
}

// pay is the variant's reward of a purchase that scored so much.
func (s *Suite) pay(score float64) float64 {
	switch {
	case s.cfg.Variant == catalog.Princeton:
		return score
	case score == 1:
		return perfect
	}
	return 0
}

// Close ends the episode.
func (e *Env) Close() error {
	*e = Env{suite: e.suite}
	return nil
}

// snapshot is a state of an episode.
type snapshot struct {
	harness.SnapshotBase
	suite   *Suite
	key     string
	session *shop.Session
	rand    *pyrand.Rand
	last    harness.Transition
}

// Snapshot copies the state: a few hundred bytes.
func (e *Env) Snapshot() (harness.Snapshot, error) {
	if e.session == nil {
		return nil, errNoEpisode
	}
	s := &snapshot{suite: e.suite, key: e.key, session: e.session.Clone(nil), last: e.last}
	if e.rand != nil {
		s.rand = e.rand.Clone()
	}
	return s, nil
}

// Restore puts back a state of the same task.
func (e *Env) Restore(s harness.Snapshot) error {
	if e.session == nil {
		return errNoEpisode
	}
	snap, ok := s.(*snapshot)
	if !ok || snap.suite != e.suite || snap.key != e.key {
		return fmt.Errorf("webshop: restore in %s: the snapshot is of another task", e.key)
	}
	e.session, e.last, e.rand = snap.session.Clone(e.stream), snap.last, nil
	if snap.rand != nil {
		e.rand = snap.rand.Clone()
	}
	return nil
}

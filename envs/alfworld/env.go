package alfworld

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld/engine"
)

// taskMark is what agents look for in the introduction; the instruction follows it.
const taskMark = "Your task is to: "

// Env is one episode. It may be Reset after Close. It is a Snapshotter and an Advisor.
type Env struct {
	suite *Suite
	game  *game
	key   string // the task's
	task  string // the instruction
	ep    *engine.Episode
	last  harness.Transition // the final answer, once the episode is over
	paid  bool
}

var (
	_ harness.Snapshotter = (*Env)(nil)
	_ harness.Advisor     = (*Env)(nil)
)

// errNoEpisode is what a call out of order gives.
var errNoEpisode = errors.New("alfworld: no episode is under way: call Reset first")

// Reset starts a task. The observation's task is the text after "Your task is to: ", without white
// space around it, as the reference agents read it.
func (e *Env) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	if err := ctx.Err(); err != nil {
		return harness.Observation{}, err
	}
	g, err := e.suite.open(task)
	if err != nil {
		return harness.Observation{}, failure("reset", err)
	}
	if e.game == g && e.ep != nil {
		e.ep.Reset()
	} else {
		e.ep = g.NewEpisode()
	}
	e.game, e.key = g, task.Key()
	e.last, e.paid = harness.Transition{}, false
	intro := g.Intro()
	e.task = Instruction(intro)
	return e.observe(intro), nil
}

// failure types an error: a file that cannot be read just now may be worth another try, a game that is
// missing or broken is not.
func failure(op string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) && !errors.Is(err, fs.ErrNotExist) {
		return harness.Fail(harness.FailEnv, op, err)
	}
	return harness.FailFinal(harness.FailEnv, op, err)
}

func (e *Env) observe(text string) harness.Observation {
	return harness.Observation{Text: text, Task: e.task, Admissible: e.ep.Admissible(nil)}
}

// Step applies an action. What is not admissible has no effect, is answered "Nothing happens." and is
// explained in Privileged.
func (e *Env) Step(ctx context.Context, action string) (harness.Transition, error) {
	if err := ctx.Err(); err != nil {
		return harness.Transition{}, err
	}
	if e.ep == nil {
		return harness.Transition{}, errNoEpisode
	}
	if e.last.Done {
		tr := e.last
		tr.Reward = 0
		return tr, nil
	}
	res, err := e.ep.Step(action)
	if err != nil {
		return harness.Transition{}, failure("step", fmt.Errorf("step %q in %s: %w", action, e.key, err))
	}
	tr := harness.Transition{Observation: e.observe(res.Observation), Feedback: res.Observation, Won: res.Won, Done: res.Won}
	if !res.Applied {
		tr.Privileged = e.ep.Explain(action)
	}
	if res.Won {
		tr.Score = 1
		if !e.paid {
			tr.Reward, e.paid = e.suite.cfg.Reward, true
		}
		if !e.suite.cfg.PlayOn {
			e.last = tr
		}
	}
	return tr, nil
}

// Close ends the episode.
func (e *Env) Close() error {
	e.ep, e.game, e.last = nil, nil, harness.Transition{}
	return nil
}

// snapshot is a state of a game.
type snapshot struct {
	harness.SnapshotBase
	state *engine.State
	last  harness.Transition
	paid  bool
}

// Snapshot copies the state.
func (e *Env) Snapshot() (harness.Snapshot, error) {
	if e.ep == nil {
		return nil, errNoEpisode
	}
	return &snapshot{state: e.ep.Save(), last: e.last, paid: e.paid}, nil
}

// Restore puts back a state of the same game.
func (e *Env) Restore(s harness.Snapshot) error {
	if e.ep == nil {
		return errNoEpisode
	}
	snap, ok := s.(*snapshot)
	if !ok || !e.ep.Load(snap.state) {
		return fmt.Errorf("alfworld: restore in %s: the snapshot is of another task", e.key)
	}
	e.last, e.paid = snap.last, snap.paid
	return nil
}

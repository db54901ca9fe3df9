package openenv

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hindsightrl/harness"
)

// errNoEpisode is what a step without a reset gives.
var errNoEpisode = errors.New("no episode is under way: reset first")

// errOver is what a step after the last one gives.
var errOver = errors.New("the episode is over: reset first")

// session is one client's environment. Calls are one at a time; mu makes it so where HTTP and a WebSocket
// share the session.
type session struct {
	id string
	s  *Server

	mu  sync.Mutex
	env harness.Env // nil after a failure, until the next reset
	ep  *episode    // nil before the first reset and after a failure

	// Below: guarded by Server.mu.
	used  time.Time
	busy  int           // calls under way
	kick  func(*fault)  // ends the WebSocket that the session belongs to or that is attached; nil = none
	ended bool          // it must be closed when the last call is over
	gone  chan struct{} // closed when the environment is
}

// episode is where a session's episode stands.
type episode struct {
	id        string
	task      harness.Task
	seed      *int64
	max       int
	steps     int
	reward    float64
	score     float64
	won       bool
	done      bool
	truncated bool
}

func (e *episode) metadata() metadata {
	return metadata{
		EpisodeID: e.id, Env: e.task.Env, TaskID: e.task.ID, Split: e.task.Split, Type: e.task.Type,
		Step: e.steps, Truncated: e.truncated,
	}
}

// reset begins an episode.
func (x *session) reset(ctx context.Context, d resetData) (res result, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.survive(&err)
	task, err := x.s.book.pick(ctx, d)
	if err != nil {
		return result{}, err
	}
	x.ep = nil
	if x.env == nil {
		if x.env, err = x.s.cfg.Suite.NewEnv(ctx); err != nil {
			return result{}, &fault{Message: fmt.Sprintf("Environment factory '%s' failed to create instance: %v", x.s.cfg.Suite.Name(), err), Code: codeFactory, Factory: x.s.cfg.Suite.Name()}
		}
	}
	obs, err := x.env.Reset(ctx, task)
	if err != nil {
		return result{}, errors.Join(err, x.drop())
	}
	x.ep = &episode{id: d.EpisodeID, task: task, seed: d.Seed, max: x.s.cfg.MaxSteps}
	if x.ep.id == "" {
		x.ep.id = x.s.cfg.NewID()
	}
	if d.MaxSteps != nil {
		x.ep.max = *d.MaxSteps
	}
	m := x.ep.metadata()
	return result{Observation: seen(obs, m), Metadata: m}, nil
}

// step applies an action. The last step carries what the environment adds when an episode is over.
func (x *session) step(ctx context.Context, action string) (res result, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.survive(&err)
	switch {
	case x.ep == nil:
		return result{}, errNoEpisode
	case x.ep.done:
		return result{}, errOver
	}
	tr, err := x.env.Step(ctx, action)
	if err != nil {
		return result{}, errors.Join(err, x.drop())
	}
	x.s.steps.Add(1)
	x.ep.steps++
	if !tr.Done && x.ep.max > 0 && x.ep.steps >= x.ep.max {
		tr.Done, x.ep.truncated = true, true
	}
	if f, ok := x.env.(harness.Finisher); ok && tr.Done {
		end, err := f.Finish(ctx)
		if err != nil {
			return result{}, errors.Join(err, x.drop())
		}
		tr = end.Join(tr)
	}
	e := x.ep
	e.reward, e.score, e.won, e.done = e.reward+tr.Reward, tr.Score, tr.Won, tr.Done
	m := e.metadata()
	o := seen(tr.Observation, m)
	o.Feedback, o.Score, o.Won = tr.Feedback, tr.Score, tr.Won
	return result{Observation: o, Reward: &tr.Reward, Done: tr.Done, Metadata: m}, nil
}

// state says where the episode stands.
func (x *session) state() state {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.ep
	if e == nil {
		return state{SessionID: x.id}
	}
	return state{
		EpisodeID: &e.id, StepCount: e.steps, SessionID: x.id, Env: e.task.Env, TaskID: e.task.ID, Split: e.task.Split, Type: e.task.Type,
		TaskHash: e.task.Hash, Seed: e.seed, MaxSteps: e.max, Reward: e.reward, Score: e.score, Won: e.won, Done: e.done, Truncated: e.truncated,
	}
}

// drop gives up an environment that has failed: whatever state it is in, the next reset opens another.
func (x *session) drop() error {
	env := x.env
	x.env, x.ep = nil, nil
	if env == nil {
		return nil
	}
	return env.Close()
}

// survive turns a panic of an environment into an error of its session: the others go on.
func (x *session) survive(err *error) {
	if p := recover(); p != nil {
		x.s.cfg.Log.Error("environment panicked", "session", x.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		defer func() {
			if p := recover(); p != nil {
				x.s.cfg.Log.Error("environment panicked again when it was closed", "session", x.id, "panic", fmt.Sprint(p))
			}
		}()
		*err = fmt.Errorf("the environment broke: %v", p)
		*err = errors.Join(*err, x.drop())
	}
}

// close frees the environment.
func (x *session) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer close(x.gone)
	var err error
	defer func() {
		if err != nil {
			x.s.cfg.Log.Warn("close environment", "session", x.id, "err", err)
		}
	}()
	defer x.survive(&err)
	err = x.drop()
}

package original

import (
	"context"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/internal/bridge"
)

// Env is one episode in a session of the original. It may be Reset after Close. It advises as the native
// expert does.
type Env struct {
	suite   *Suite
	episode bridge.Episode
	told    string // the instruction
	paid    bool
	last    harness.Transition // the final answer, once the episode is over
}

var (
	_ harness.Env     = (*Env)(nil)
	_ harness.Advisor = (*Env)(nil)
)

// Reset sends the task's game file to the original and starts it.
func (e *Env) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	game, err := e.suite.native.GameFile(ctx, task)
	if err != nil {
		return harness.Observation{}, err
	}
	a, err := e.episode.Reset(ctx, e.suite.bridge, e.suite.native, task, map[string]any{"game": string(game)})
	if err != nil {
		return harness.Observation{}, err
	}
	e.told, e.paid, e.last = alfworld.Instruction(a.Observation), false, harness.Transition{}
	return e.observe(a), nil
}

func (e *Env) observe(a bridge.Answer) harness.Observation {
	return harness.Observation{Text: a.Observation, Task: e.told, Admissible: a.Admissible}
}

// Step takes an action in the original. Reward, and what happens after the goal is reached, are as the
// native suite's configuration says.
func (e *Env) Step(ctx context.Context, action string) (harness.Transition, error) {
	if err := ctx.Err(); err != nil {
		return harness.Transition{}, err
	}
	if e.last.Done {
		tr := e.last
		tr.Reward = 0
		return tr, nil
	}
	a, err := e.episode.Step(ctx, action)
	if err != nil {
		return harness.Transition{}, err
	}
	tr := harness.Transition{Observation: e.observe(a), Feedback: a.Observation, Score: a.Score, Won: a.Won, Done: a.Done}
	cfg := e.suite.native.Config()
	if tr.Won && !e.paid {
		tr.Reward, e.paid = cfg.Reward, true
	}
	if tr.Done && !cfg.PlayOn {
		e.last = tr
	}
	return tr, nil
}

// Advise returns the native expert's next action.
func (e *Env) Advise(ctx context.Context) (string, error) { return e.episode.Advise(ctx) }

// Close ends the session.
func (e *Env) Close() error {
	e.last = harness.Transition{}
	return e.episode.Close()
}

package original

import (
	"context"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/bridge"
	"github.com/hindsightrl/harness/envs/webshop/shop"
)

// Env is one episode in a session of the original. It may be Reset after Close. It advises as the native
// expert does.
type Env struct {
	suite   *Suite
	episode bridge.Episode
	last    harness.Transition // the final answer, once the episode is over
}

var (
	_ harness.Env     = (*Env)(nil)
	_ harness.Advisor = (*Env)(nil)
)

// Reset starts the task's goal: the original draws prices and goals under the task's seed, and is asked
// for the goal of the same index.
func (e *Env) Reset(ctx context.Context, task harness.Task) (harness.Observation, error) {
	if err := ctx.Err(); err != nil {
		return harness.Observation{}, err
	}
	_, seed, index, err := e.suite.native.Locate(task)
	if err != nil {
		return harness.Observation{}, harness.FailFinal(harness.FailEnv, "reset", err)
	}
	cfg := e.suite.native.Config()
	e.last = harness.Transition{}
	a, err := e.episode.Reset(ctx, e.suite.bridge, e.suite.native, task, map[string]any{
		"variant": cfg.Variant, "human": cfg.Human, "mode": cfg.Mode, "seed": seed, "goal": index,
		"stream": int64(index) + task.Seed<<32, "blank": shop.SearchAction,
	})
	if err != nil {
		return harness.Observation{}, err
	}
	return observe(a), nil
}

func observe(a bridge.Answer) harness.Observation {
	return harness.Observation{Text: a.Observation, Task: a.Task, Admissible: a.Admissible}
}

// Step takes an action in the original. Rewards, and what happens after the purchase, are as the native
// suite's.
func (e *Env) Step(ctx context.Context, action string) (harness.Transition, error) {
	if err := ctx.Err(); err != nil {
		return harness.Transition{}, err
	}
	if e.last.Done {
		tr := e.last
		tr.Reward = 0
		return tr, nil
	}
	a, err := e.episode.Step(ctx, strings.ToValidUTF8(action, "\uFFFD"))
	if err != nil {
		return harness.Transition{}, err
	}
	tr := harness.Transition{Observation: observe(a), Done: a.Done}
	if a.Done {
		tr.Score = a.Score
		tr.Reward, tr.Won = e.suite.native.Pay(a.Score)
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

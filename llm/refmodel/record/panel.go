package main

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
)

// recordPanel lets the environment's expert play each game of the embedded panel repeat times.
func recordPanel(ctx context.Context, repeat int) (ts []prime.Transcript, err error) {
	games, err := embedded.FS()
	if err != nil {
		return nil, err
	}
	suite, err := alfworld.NewFS(ctx, games, alfworld.Config{})
	if err != nil {
		return nil, err
	}
	panel, err := embedded.Panel(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, task := range panel.Tasks {
		for sample := range repeat {
			more, err := playTask(ctx, suite, task, sample)
			if err != nil {
				return nil, fmt.Errorf("record %s: %w", task.Key(), err)
			}
			ts = append(ts, more...)
		}
	}
	return ts, nil
}

// playTask records one episode. Sample 0 is the expert alone.
func playTask(ctx context.Context, suite harness.Suite, task harness.Task, sample int) (ts []prime.Transcript, err error) {
	env, err := suite.NewEnv(ctx)
	if err != nil {
		return nil, err
	}
	defer env.Close()
	o, err := env.Reset(ctx, task)
	if err != nil {
		return nil, err
	}
	format := agent.DefaultFormats().For(task.Env)
	scene := agent.Scene{Task: format.Task(o), Window: agent.DefaultHistory, Observation: o}
	r := harness.Rand(1, task, sample, 0, "record")
	for n := range longest {
		advice, err := env.(harness.Advisor).Advise(ctx)
		if err != nil {
			return ts, nil // the wandering led to where the expert knows no way on
		}
		action, own := advice, true
		if sample > 0 {
			action, own = prime.Wander(r, advice, scene.Observation.Admissible)
		}
		if own {
			t, err := transcript(format, scene, action, n)
			if err != nil {
				return nil, err
			}
			ts = append(ts, t)
		}
		tr, err := env.Step(ctx, action)
		if err != nil {
			return nil, err
		}
		scene.History = append(scene.History, agent.Past{Observation: format.Observe(scene.Task, scene.Observation), Action: action})
		scene.Observation = tr.Observation
		if tr.Done || tr.Won {
			break
		}
	}
	return ts, nil
}

func transcript(format agent.Format, scene agent.Scene, action string, n int) (prime.Transcript, error) {
	messages, err := format.Prompt(agent.DefaultTemplates(), scene)
	if err != nil {
		return prime.Transcript{}, err
	}
	seen := format.Observe(scene.Task, scene.Observation)
	return prime.Transcript{
		Prompt: messages[0].Content, Observation: seen, Task: scene.Task,
		Action: action, Response: prime.Respond(scene.Task, seen, action, n),
	}, nil
}

package agent_test

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
)

// door is an environment with one task: open the door.
type door struct{}

func (door) Name() string                                          { return "door" }
func (door) Tasks(context.Context, string) ([]harness.Task, error) { return nil, nil }
func (door) NewEnv(context.Context) (harness.Env, error)           { return door{}, nil }
func (door) Close() error                                          { return nil }

func (door) Reset(context.Context, harness.Task) (harness.Observation, error) {
	return harness.Observation{Text: "A closed door.", Task: "open the door", Admissible: []string{"knock", "open door"}}, nil
}

func (door) Step(_ context.Context, action string) (harness.Transition, error) {
	if action != "open door" {
		return harness.Transition{Observation: harness.Observation{Text: "Nothing happens."}}, nil
	}
	return harness.Transition{Observation: harness.Observation{Text: "It opens."}, Reward: 10, Score: 1, Won: true, Done: true}, nil
}

// printed is a Recorder that prints what it is given.
type printed struct{}

func (printed) Begin(context.Context, harness.EpisodeRef) (int64, []harness.Step, error) {
	return 1, nil, nil
}

func (printed) Step(_ context.Context, _ int64, s harness.Step) error {
	fmt.Printf("%d: %q, valid %v, reward %v\n", s.Index, s.Action, s.Valid, s.Reward)
	return nil
}

func (printed) Finish(_ context.Context, _ int64, o harness.Outcome) error {
	fmt.Printf("%s after %d steps, reward %v\n", o.Stop, o.Steps, o.Reward)
	return nil
}

func (printed) Fail(context.Context, int64, *harness.Failure, bool) error { return nil }

func Example() {
	cfg := agent.Config{
		Suites: map[string]harness.Suite{"door": door{}},
		Policy: agent.Fixed(
			"open door", // no tags: recorded, invalid, and no action
			"<think>It is closed, so I open it.</think><action>open door</action>",
		),
		Recorder: printed{},
	}
	ctx := context.Background()
	refs := []harness.EpisodeRef{{Task: harness.Task{Env: "door", ID: "front"}}}
	stats, err := agent.Run(ctx, ctx, refs, cfg)
	fmt.Println(stats.Won, "of", stats.Episodes, "solved,", err)
	// Output:
	// 0: "", valid false, reward 0
	// 1: "open door", valid true, reward 10
	// won after 2 steps, reward 10
	// 1 of 1 solved, <nil>
}

func ExampleProject() {
	action, valid := agent.Project("alfworld", "<think>The mug is there.</think><action> Go to Shelf 1 </action>")
	fmt.Printf("%q %v\n", action, valid)
	action, valid = agent.Project("alfworld", "I go to shelf 1")
	fmt.Printf("%q %v\n", action, valid)
	// Output:
	// "go to shelf 1" true
	// "i go to shelf 1" false
}

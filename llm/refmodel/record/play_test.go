package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	shop "github.com/hindsightrl/harness/envs/webshop/embedded"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/refmodel"
)

// tally counts what a player did on the panel.
type tally struct {
	episodes, won, steps, valid, admissible int
	mixed                                   int // games that were won by some samples and lost by others
	ended                                   int // episodes that the environment ended
	score                                   float64
}

func TestModelPlaysThePanel(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some thousand steps")
	}
	t.Parallel()
	got := playPanel(t, 4)
	t.Logf("%+v", got)
	if got.won == 0 || got.won > got.episodes*2/3 || got.mixed == 0 {
		t.Errorf("won %d of %d episodes with %d mixed groups: groups need outcomes that differ", got.won, got.episodes, got.mixed)
	}
	if got.valid < got.steps*9/10 || got.admissible < got.steps*8/10 {
		t.Errorf("%d of %d responses kept the format, %d commands worked", got.valid, got.steps, got.admissible)
	}
}

// In the embedded shop the model searches for what the order says, looks at products and buys one, with
// luck the right one.
func TestModelShops(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	suite, err := shop.Suite(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := suite.Tasks(ctx, "val")
	if err != nil {
		t.Fatal(err)
	}
	m, err := refmodel.New(refmodel.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var got tally
	for _, task := range tasks[:30] {
		for sample := range 4 {
			got.episodes++
			if got.play(t, m, suite, task, sample, 15) {
				got.won++
			}
		}
	}
	t.Logf("%+v", got)
	if got.ended < got.episodes/2 || got.score < 0.1*float64(got.episodes) || got.won > got.episodes/2 {
		t.Errorf("bought in %d of %d episodes, %d times the right thing, summed score %.1f", got.ended, got.episodes, got.won, got.score)
	}
	if got.valid < got.steps*9/10 {
		t.Errorf("%d of %d responses kept the format", got.valid, got.steps)
	}
}

func playPanel(t *testing.T, samples int) (out tally) {
	t.Helper()
	ctx := context.Background()
	games, err := embedded.FS()
	if err != nil {
		t.Fatal(err)
	}
	suite, err := alfworld.NewFS(ctx, games, alfworld.Config{})
	if err != nil {
		t.Fatal(err)
	}
	panel, err := embedded.Panel(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	m, err := refmodel.New(refmodel.Config{})
	if err != nil {
		t.Fatal(err)
	}
	types := map[string][2]int{}
	for _, task := range panel.Tasks {
		won := 0
		for sample := range samples {
			if out.play(t, m, suite, task, sample, 50) {
				won++
			}
		}
		out.won += won
		x := types[task.Type]
		types[task.Type] = [2]int{x[0] + won, x[1] + samples}
		out.episodes += samples
		if won > 0 && won < samples {
			out.mixed++
		}
	}
	t.Log(types)
	return out
}

func (c *tally) play(t *testing.T, m *refmodel.Model, suite harness.Suite, task harness.Task, sample, steps int) (won bool) {
	t.Helper()
	ctx := context.Background()
	env, err := suite.NewEnv(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	o, err := env.Reset(ctx, task)
	if err != nil {
		t.Fatal(err)
	}
	format := agent.DefaultFormats().For(task.Env)
	scene := agent.Scene{Task: format.Task(o), Window: agent.DefaultHistory, Observation: o}
	for n := range steps {
		messages, err := format.Prompt(agent.DefaultTemplates(), scene)
		if err != nil {
			t.Fatal(err)
		}
		prompt, err := m.Render(messages)
		if err != nil {
			t.Fatal(err)
		}
		seed := harness.CallSeed(1, task, sample, n)
		s := llm.DefaultSampling()
		s.Seed = &seed
		var text strings.Builder
		if _, err := m.Stream(ctx, llm.StreamRequest{Prompt: prompt, Sampling: s}, func(ev llm.TokenEvent) error {
			text.Write(m.TokenBytes(ev.ID))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		action, valid := format.Project(text.String())
		tr, err := env.Step(ctx, action)
		if err != nil {
			t.Fatal(err)
		}
		if os.Getenv("SHOW") != "" && sample == 0 {
			fmt.Println(task.Key(), n, text.String(), "=>", tr.Observation.Text)
		}
		c.steps++
		if valid {
			c.valid++
		}
		if tr.Observation.Text != "Nothing happens." {
			c.admissible++
		}
		scene.History = append(scene.History, agent.Past{Observation: format.Observe(scene.Task, scene.Observation), Action: action})
		scene.Observation = tr.Observation
		if tr.Done {
			c.ended++
			c.score += tr.Score
			return tr.Won
		}
	}
	return false
}

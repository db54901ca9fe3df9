package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/envs/webshop/embedded"
	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
)

// longestVisit is the number of pages after which a recording of the shop ends.
const longestVisit = 12

// offers tell the kinds of pages: how a command begins that no other kind offers.
var offers = []string{"search[<", "click[next", "click[buy", "click[<"}

const aside = "click[description]"

// recordShop lets the shop's expert shop for the first orders of the embedded shop's training split.
func recordShop(ctx context.Context, orders int) (ts []prime.Transcript, err error) {
	suite, err := embedded.Suite(ctx)
	if err != nil {
		return nil, err
	}
	tasks, err := suite.Tasks(ctx, "train")
	if err != nil {
		return nil, err
	}
	env, err := suite.NewEnv(ctx)
	if err != nil {
		return nil, err
	}
	defer env.Close()
	for i, task := range tasks[:orders] {
		more, err := visit(ctx, env, task, i%3 == 0)
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", task.Key(), err)
		}
		ts = append(ts, more...)
	}
	return ts, nil
}

// visit records one order. The expert knows the product and would search for its title; a customer
// who does not searches for the order's own words. A curious one reads the product's description before
// anything else, which is not recorded, and comes back from it, which is.
func visit(ctx context.Context, env harness.Env, task harness.Task, curious bool) (ts []prime.Transcript, err error) {
	o, err := env.Reset(ctx, task)
	if err != nil {
		return nil, err
	}
	format := agent.DefaultFormats().For(task.Env)
	scene := agent.Scene{Task: format.Task(o), Window: agent.DefaultHistory, Observation: o}
	for n := range longestVisit {
		action, err := env.(harness.Advisor).Advise(ctx)
		if err != nil {
			return ts, nil // the expert knows no way on
		}
		if action == "click[back to search]" {
			return ts, nil // the order's words did not find the product
		}
		if strings.HasPrefix(action, "search[") {
			action = "search[" + scene.Task + "]"
		}
		if curious && slices.Contains(scene.Observation.Admissible, aside) {
			action, curious = aside, false
		}
		if action != aside {
			t, err := transcript(format, scene, action, n)
			if err != nil {
				return nil, err
			}
			t.Response = agent.Respond("The order reads: "+scene.Task, action)
			t.Offers = offered(t.Prompt)
			ts = append(ts, t)
		}
		tr, err := env.Step(ctx, action)
		if err != nil {
			return nil, err
		}
		if tr.Done {
			break
		}
		scene.History = append(scene.History, agent.Past{Observation: format.Observe(scene.Task, scene.Observation), Action: action})
		scene.Observation = tr.Observation
	}
	return ts, nil
}

// offered is the beginning that a page's list of commands has.
func offered(prompt string) string {
	i := slices.IndexFunc(offers, func(o string) bool { return strings.Contains(prompt, "'"+o) })
	if i < 0 {
		return ""
	}
	return offers[i]
}

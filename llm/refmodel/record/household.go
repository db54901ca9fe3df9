package main

import (
	"math/rand/v2"
	"slices"

	"github.com/hindsightrl/harness/llm/refmodel/internal/household"
	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
)

func playHousehold(seed uint64) (ts []prime.Transcript) {
	g := household.New(seed)
	r := rand.New(rand.NewPCG(seed, 11))
	observation := g.Intro()
	var past []household.Turn
	for n := 0; n < longest && !g.Won(); n++ {
		admissible := g.Admissible()
		advice := g.Advise()
		if !slices.Contains(admissible, advice) {
			return ts
		}
		action, own := prime.Wander(r, advice, admissible)
		if own {
			ts = append(ts, prime.Transcript{
				Prompt: g.Prompt(past, observation), Observation: observation, Task: g.Task,
				Action: action, Response: prime.Respond(g.Task, observation, action, n),
			})
		}
		past = append(past, household.Turn{Observation: observation, Action: action})
		observation = g.Step(action)
	}
	return ts
}

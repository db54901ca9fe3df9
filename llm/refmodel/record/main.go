// Command record lets the expert of the household games play and writes what it saw and did: the
// corpus that the reference model is primed with.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/hindsightrl/harness/llm/refmodel/internal/household"
	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
)

func main() {
	out := flag.String("o", "corpus.jsonl.gz", "file to write")
	games := flag.Uint64("games", 200, "number of games, seeds 1 … n")
	flag.Parse()
	if err := run(*out, *games); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(out string, games uint64) error {
	var ts []prime.Transcript
	for seed := uint64(1); seed <= games; seed++ {
		ts = append(ts, play(seed)...)
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := prime.WriteCorpus(f, ts); err != nil {
		return err
	}
	return f.Close()
}

// wander is how often a random command takes the place of the expert's, so that the expert is also
// seen in places where it would not have gone. The random commands themselves are not recorded.
const wander = 0.25

func play(seed uint64) (ts []prime.Transcript) {
	g := household.New(seed)
	r := rand.New(rand.NewPCG(seed, 11))
	observation := g.Intro()
	var past []household.Turn
	for n := 0; n < 30 && !g.Won(); n++ {
		admissible := g.Admissible()
		action := g.Advise()
		if !slices.Contains(admissible, action) {
			return ts
		}
		if r.Float64() < wander {
			action = admissible[r.IntN(len(admissible))]
		} else {
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

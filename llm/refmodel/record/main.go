// Command record lets the expert of the household games play and writes what it saw and did: the
// corpus that the reference model is primed with.
package main

import (
	"flag"
	"fmt"
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

func play(seed uint64) (ts []prime.Transcript) {
	g := household.New(seed)
	observation := g.Intro()
	var past []household.Turn
	for n := 0; n < 30 && !g.Won(); n++ {
		action := g.Advise()
		ts = append(ts, prime.Transcript{
			Prompt: g.Prompt(past, observation), Observation: observation, Task: g.Task,
			Action: action, Response: prime.Respond(g.Task, observation, action, n),
		})
		if !slices.Contains(g.Admissible(), action) {
			return ts
		}
		past = append(past, household.Turn{Observation: observation, Action: action})
		observation = g.Step(action)
	}
	return ts
}

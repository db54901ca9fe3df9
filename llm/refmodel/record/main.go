// Command record lets the experts play the embedded panel and the household games, and writes what
// they saw and did: the corpus that the reference model is primed with.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
)

// wander is how often a random command takes the place of the expert's, so that the expert is also
// seen in places where it would not have gone. The random commands themselves are not recorded.
const wander = 0.25

// longest is the number of commands after which a recording ends.
const longest = 40

func main() {
	out := flag.String("o", "corpus.jsonl.gz", "file to write")
	games := flag.Int("household", 80, "number of household games")
	shops := flag.Int("shop", 60, "number of shopping sessions")
	repeat := flag.Int("repeat", 3, "recordings per game of the panel")
	flag.Parse()
	if err := run(context.Background(), *out, *games, *shops, *repeat); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string, games, shops, repeat int) error {
	ts, err := recordPanel(ctx, repeat)
	if err != nil {
		return err
	}
	for seed := range uint64(games) {
		ts = append(ts, playHousehold(seed+1)...)
	}
	for seed := range uint64(shops) {
		ts = append(ts, playShop(seed+1)...)
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

// choose returns the command to take and whether it is the expert's.
func choose(r *rand.Rand, expert string, admissible []string) (action string, own bool) {
	if r.Float64() < wander && len(admissible) > 0 {
		return admissible[r.IntN(len(admissible))], false
	}
	return expert, true
}

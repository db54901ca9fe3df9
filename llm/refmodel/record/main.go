// Command record lets the experts play the embedded panel and the household games, and writes what
// they saw and did: the corpus that the reference model is primed with.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
)

// longest is the number of commands after which a recording ends.
const longest = 40

// What the corpus in the repository is made of.
const (
	households = 80  // household games
	orders     = 200 // orders of the embedded shop
	repeats    = 3   // recordings per game of the panel
)

func main() {
	out := flag.String("o", "corpus.jsonl.gz", "file to write")
	flag.Parse()
	if err := run(context.Background(), *out, households, orders, repeats); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string, games, orders, repeat int) error {
	ts, err := recordPanel(ctx, repeat)
	if err != nil {
		return err
	}
	for seed := range uint64(games) {
		ts = append(ts, playHousehold(seed+1)...)
	}
	visits, err := recordShop(ctx, orders)
	if err != nil {
		return err
	}
	ts = append(ts, visits...)
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := prime.WriteCorpus(f, ts); err != nil {
		return err
	}
	return f.Close()
}

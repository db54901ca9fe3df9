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

func main() {
	out := flag.String("o", "corpus.jsonl.gz", "file to write")
	games := flag.Int("household", 80, "number of household games")
	shops := flag.Int("shop", 20, "number of shopping sessions")
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

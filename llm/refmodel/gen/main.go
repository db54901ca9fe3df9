// Command gen makes the reference model's embedded tables from its corpus of expert transcripts.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
)

func main() {
	out := flag.String("o", "tables.bin", "file to write")
	flag.Parse()
	if err := run(flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(corpus, out string) error {
	data, err := os.ReadFile(corpus)
	if err != nil {
		return err
	}
	tables, err := prime.BuildFile(data)
	if err != nil {
		return err
	}
	packed, err := tables.Pack()
	if err != nil {
		return err
	}
	return os.WriteFile(out, packed, 0o644)
}

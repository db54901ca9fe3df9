// Build writes panel.zip.zst, the embedded panel, into the current folder. Run it with go generate.
package main

import (
	"log"
	"os"

	"github.com/hindsightrl/harness/envs/alfworld/embedded/internal/pack"
)

func main() {
	archive, err := pack.Archive()
	if err != nil {
		log.Fatal(err)
	}
	file, err := pack.Compress(archive)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("panel.zip.zst", file, 0o644); err != nil {
		log.Fatal(err)
	}
}

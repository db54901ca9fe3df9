// Package embedded holds a small panel of generated games inside the binary, so that a first run, a
// demonstration or a test needs no download. The games are the generator's (package gen) and are played
// by the native engine (package alfworld); this package only keeps them.
package embedded

import (
	"archive/zip"
	"bytes"
	"context"
	_ "embed" // the panel
	"fmt"
	"io/fs"
	"sync"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded/internal/pack"
)

//go:generate go run ./internal/build

//go:embed panel.zip.zst
var file []byte

// open unpacks the panel once, at first use: about 3 MB.
var open = sync.OnceValues(func() (*zip.Reader, error) {
	archive, err := pack.Decompress(file)
	if err != nil {
		return nil, err
	}
	zr, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("open embedded games: %w", err)
	}
	return zr, nil
})

// FS is the games as a read-only file system laid out like a download:
// json_2.1.1/<split>/<task>/<trial>/{game.tw-pddl,traj_data.json}. It is safe for concurrent use. An
// error means that the binary itself is damaged.
func FS() (fs.FS, error) {
	zr, err := open()
	if err != nil {
		return nil, err
	}
	return zr, nil
}

// Suite opens the games in the native engine, with its default settings. The splits are train (24
// games), valid_seen (24) and valid_unseen (12, in rooms that occur in no other split); each has all
// six tasks and all four kinds of room.
func Suite(ctx context.Context) (*alfworld.Suite, error) { return SuiteWith(ctx, alfworld.Config{}) }

// SuiteWith is Suite with settings.
func SuiteWith(ctx context.Context, cfg alfworld.Config) (*alfworld.Suite, error) {
	root, err := FS()
	if err != nil {
		return nil, err
	}
	return alfworld.NewFS(ctx, root, cfg)
}

// Panel is the tasks of a split, sorted by id; the empty split means all of them. Its name is
// "embedded-alfworld" with the split behind.
func Panel(ctx context.Context, split string) (harness.Panel, error) {
	suite, err := Suite(ctx)
	if err != nil {
		return harness.Panel{}, err
	}
	tasks, err := suite.Tasks(ctx, split)
	if err != nil {
		return harness.Panel{}, fmt.Errorf("embedded panel: %w", err)
	}
	name := "embedded-" + alfworld.Name
	if split != "" {
		name += "-" + split
	}
	return harness.Panel{Name: name, Tasks: tasks}, nil
}

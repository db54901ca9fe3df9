// Package embedded holds a small panel of generated games inside the binary, so that a first run, a
// demonstration or a test needs no download. The games are the generator's (package gen); this package
// only keeps them.
package embedded

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	_ "embed" // the panel
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	harness "github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld/embedded/internal/pack"
	"github.com/hindsightrl/harness/envs/alfworld/gen"
)

//go:generate go run ./internal/build

//go:embed panel.zip.zst
var file []byte

// EnvName is the environment that the panel's tasks name.
const EnvName = "alfworld"

// open unpacks the panel once, at first use: about 3 MB.
var open = sync.OnceValues(func() (*zip.Reader, error) {
	archive, err := pack.Decompress(file)
	if err != nil {
		return nil, err
	}
	zr, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("open embedded panel: %w", err)
	}
	return zr, nil
})

// FS is the panel as a read-only file system laid out like a download:
// json_2.1.1/<split>/<task>/<trial>/{game.tw-pddl,traj_data.json}. It is safe for concurrent use. An
// error means that the binary itself is damaged.
func FS() (fs.FS, error) {
	zr, err := open()
	if err != nil {
		return nil, err
	}
	return zr, nil
}

// Splits lists the panel's splits in their order.
func Splits() []string {
	var out []string
	for _, cfg := range pack.Splits() {
		out = append(out, cfg.Split)
	}
	return out
}

// Panel lists a split's tasks, sorted by id; the empty split means all of them. A task's id is its
// folder, "valid_seen/<task>/<trial>", and its hash the SHA-256 of its game file.
func Panel(split string) (harness.Panel, error) {
	if split != "" && !slices.Contains(Splits(), split) {
		return harness.Panel{}, fmt.Errorf("embedded panel: no split %q (one of %v)", split, Splits())
	}
	root, err := FS()
	if err != nil {
		return harness.Panel{}, err
	}
	p := harness.Panel{Name: "alfworld-embedded"}
	if split != "" {
		p.Name += "-" + split
	}
	games, err := fs.Glob(root, path.Join(gen.Root, pattern(split), "*", "*", gen.GameFile))
	if err != nil {
		return harness.Panel{}, fmt.Errorf("embedded panel: %w", err)
	}
	slices.Sort(games)
	for _, name := range games {
		task, err := readTask(root, path.Dir(name))
		if err != nil {
			return harness.Panel{}, fmt.Errorf("embedded panel: game %q: %w", path.Dir(name), err)
		}
		p.Tasks = append(p.Tasks, task)
	}
	return p, nil
}

func pattern(split string) string {
	if split == "" {
		return "*"
	}
	return split
}

// readTask describes the game of a folder.
func readTask(root fs.FS, dir string) (harness.Task, error) {
	game, err := fs.ReadFile(root, path.Join(dir, gen.GameFile))
	if err != nil {
		return harness.Task{}, err
	}
	raw, err := fs.ReadFile(root, path.Join(dir, gen.TrajFile))
	if err != nil {
		return harness.Task{}, err
	}
	var traj struct {
		Type string `json:"task_type"`
	}
	if err := json.Unmarshal(raw, &traj); err != nil {
		return harness.Task{}, fmt.Errorf("decode %s: %w", gen.TrajFile, err)
	}
	sum := sha256.Sum256(game)
	id := dir[len(gen.Root)+1:]
	return harness.Task{
		Env: EnvName, ID: id, Split: path.Dir(path.Dir(id)), Type: traj.Type,
		Hash: hex.EncodeToString(sum[:]),
	}, nil
}

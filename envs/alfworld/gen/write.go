package gen

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root is the folder that holds the splits, named as ALFWorld's downloads name it.
const Root = "json_2.1.1"

// Write writes the games under dir/json_2.1.1/<split>/<task>/<trial>/. Each file appears whole or not
// at all, and traj_data.json, by which loaders find a game, comes last; so a reader never sees half a
// game, and a Write that was interrupted can be repeated.
func Write(dir string, games []Game) error {
	for _, g := range games {
		if err := writeGame(filepath.Join(dir, Root, filepath.FromSlash(g.Path())), g); err != nil {
			return fmt.Errorf("write game %q: %w", g.Path(), err)
		}
	}
	return nil
}

func writeGame(dir string, g Game) error {
	game, err := g.GameJSON()
	if err != nil {
		return err
	}
	traj, err := g.TrajJSON()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, GameFile), game); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, TrajFile), traj)
}

// writeFile replaces path by a file with the content, in one rename.
func writeFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		// The temporary file is of no use to anyone; the first error is the one to tell.
		_ = os.Remove(f.Name())
	}
	return err
}

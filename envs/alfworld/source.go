package alfworld

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
)

const (
	root     = "json_2.1.1" // the folder inside a download, whatever its version
	gameFile = "game.tw-pddl"
	trajFile = "traj_data.json"
)

const dataHint = "give the folder that holds json_2.1.1 (alfworld-download puts it into ~/.cache/alfworld), a .tar.xz of it, or no --data at all for the embedded games"

// openSource opens a folder or an archive as a file system whose top level is the splits.
func openSource(name string) (fs.FS, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open ALFWorld data: %w", err), dataHint)
	}
	if !info.IsDir() {
		return openArchive(name)
	}
	fsys, err := splitsOf(os.DirFS(name))
	if err == nil {
		return fsys, nil
	}
	archives, globErr := filepath.Glob(filepath.Join(name, "*.tar.xz"))
	switch {
	case globErr != nil || len(archives) == 0:
		return nil, errext.WithHint(fmt.Errorf("open ALFWorld data %q: %w", name, err), dataHint)
	case len(archives) > 1:
		for i, a := range archives {
			archives[i] = filepath.Base(a)
		}
		return nil, errext.WithHint(fmt.Errorf("open ALFWorld data %q: it holds several archives", name),
			"name one of them: "+strings.Join(archives, ", "))
	}
	return openArchive(archives[0])
}

// splitsOf finds the folder of splits: json_2.1.1 inside fsys, or fsys itself.
func splitsOf(fsys fs.FS) (fs.FS, error) {
	if info, err := fs.Stat(fsys, root); err == nil && info.IsDir() {
		return fs.Sub(fsys, root)
	}
	found, err := fs.Glob(fsys, path.Join("*", "*", "*", trajFile))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("neither json_2.1.1 nor <split>/<task>/<trial>/traj_data.json is in it")
	}
	return fsys, nil
}

// trials lists the folders of a split's trials, sorted, as "<split>/<task>/<trial>".
func trials(fsys fs.FS, split string) ([]string, error) {
	tasks, err := subFolders(fsys, split)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range tasks {
		kids, err := subFolders(fsys, path.Join(split, t))
		if err != nil {
			return nil, err
		}
		for _, k := range kids {
			out = append(out, path.Join(split, t, k))
		}
	}
	slices.Sort(out)
	return out, nil
}

func subFolders(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("list %q: %w", dir, err)
	}
	var out []string
	for _, e := range entries {
		// A link to a folder counts as one: downloads are often linked together.
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 && isDir(fsys, path.Join(dir, e.Name())) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

func isDir(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.IsDir()
}

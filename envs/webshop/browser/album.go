package browser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hindsightrl/harness"
)

// album is the folder of an episode's pictures; nil takes none.
type album struct {
	dir  string
	next int
}

// newAlbum makes the folder of an episode: <root>/<task>/<attempt>. Each reset is an attempt of its
// own, so that nothing is written over.
func newAlbum(root string, task harness.Task) (*album, error) {
	if root == "" {
		return nil, nil
	}
	parent := filepath.Join(root, fileName(task.Key()))
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, fmt.Errorf("make a folder of screenshots: %w", err)
	}
	for n := 1; ; n++ {
		dir := filepath.Join(parent, fmt.Sprintf("%03d", n))
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			return &album{dir: dir}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make a folder of screenshots: %w", err)
		}
	}
}

// fileName makes a task's key the name of a file on any system.
func fileName(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, key)
}

// take takes the next picture.
func (a *album) take(ctx context.Context, t *tab) error {
	if a == nil {
		return nil
	}
	png, err := t.picture(ctx)
	if err != nil {
		return fmt.Errorf("take a picture of the page: %w", err)
	}
	name := filepath.Join(a.dir, fmt.Sprintf("%03d.png", a.next))
	a.next++
	if err := os.WriteFile(name, png, 0o666); err != nil {
		return harness.FailFinal(harness.FailHarness, "write screenshot", err)
	}
	return nil
}

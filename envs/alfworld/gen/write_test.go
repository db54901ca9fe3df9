package gen

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	games := mustGenerate(t, 2, Config{Count: 3, Split: "valid_seen"})
	for range 2 { // the second time replaces the files by equal ones
		if err := Write(dir, games); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{}
	for _, g := range games {
		game, err := g.GameJSON()
		if err != nil {
			t.Fatal(err)
		}
		traj, err := g.TrajJSON()
		if err != nil {
			t.Fatal(err)
		}
		folder := path.Join("json_2.1.1", "valid_seen", g.Name, g.Trial)
		want[path.Join(folder, "game.tw-pddl")] = string(game)
		want[path.Join(folder, "traj_data.json")] = string(traj)
	}
	got := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		got[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

func TestWriteReportsWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	games := mustGenerate(t, 2, Config{Count: 1})
	t.Run("file for a folder", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "taken")
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Write(dir, games); err == nil {
			t.Error("no error")
		}
	})
	t.Run("folder for a file", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		folder := filepath.Join(dir, Root, filepath.FromSlash(games[0].Path()))
		if err := os.MkdirAll(filepath.Join(folder, GameFile, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := Write(dir, games); err == nil {
			t.Error("no error")
		}
		left, err := filepath.Glob(filepath.Join(folder, ".tmp-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("temporary files left: %v (%v)", left, err)
		}
		if _, err := os.Stat(filepath.Join(folder, TrajFile)); err == nil {
			t.Error("traj_data.json was written though the game file could not be")
		}
	})
}

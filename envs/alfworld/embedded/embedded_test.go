package embedded_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/envs/alfworld/embedded/internal/pack"
	"github.com/hindsightrl/harness/envs/alfworld/gen"
)

// The committed file holds exactly what the generator makes today. After a change of the generator:
// go generate ./envs/alfworld/embedded
func TestFileIsWhatTheGeneratorMakes(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("panel.zip.zst")
	if err != nil {
		t.Fatal(err)
	}
	if len(file) > 300_000 {
		t.Errorf("the panel has %d bytes, want at most 300,000", len(file))
	}
	got, err := pack.Decompress(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pack.Archive()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the panel is stale: it unpacks to %d bytes, the generator makes %d; run go generate", len(got), len(want))
	}
}

func TestFS(t *testing.T) {
	t.Parallel()
	root, err := embedded.FS()
	if err != nil {
		t.Fatal(err)
	}
	games, err := fs.Glob(root, "json_2.1.1/*/*/*/game.tw-pddl")
	if err != nil || len(games) != 60 {
		t.Fatalf("%d games (%v), want 60", len(games), err)
	}
	var some []string // fstest reads each file many times over; a few stand for all
	for i := 0; i < len(games); i += 20 {
		some = append(some, games[i], path.Join(path.Dir(games[i]), "traj_data.json"))
	}
	if err := fstest.TestFS(sub{root, some}, some...); err != nil {
		t.Error(err)
	}
}

// sub is a file system with a few files of another.
type sub struct {
	fs.FS
	keep []string
}

func (s sub) Open(name string) (fs.File, error) {
	if name != "." && !within(s.keep, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := s.FS.Open(name)
	if d, ok := f.(fs.ReadDirFile); ok && err == nil {
		return subDir{d, s.keep, name}, nil
	}
	return f, err
}

type subDir struct {
	fs.ReadDirFile
	keep []string
	name string
}

func (d subDir) ReadDir(n int) ([]fs.DirEntry, error) {
	for {
		all, err := d.ReadDirFile.ReadDir(n)
		var out []fs.DirEntry
		for _, e := range all {
			if within(d.keep, path.Join(d.name, e.Name())) {
				out = append(out, e)
			}
		}
		if n <= 0 || err != nil || len(out) > 0 {
			return out, err
		}
	}
}

// within reports whether name is one of the files or a folder above one.
func within(files []string, name string) bool {
	for _, f := range files {
		if f == name || strings.HasPrefix(f, name+"/") {
			return true
		}
	}
	return false
}

func TestPanel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		split string
		name  string
		each  int // games of each task
	}{
		{"train", "embedded-alfworld-train", 4},
		{"valid_seen", "embedded-alfworld-valid_seen", 4},
		{"valid_unseen", "embedded-alfworld-valid_unseen", 2},
		{"", "embedded-alfworld", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := embedded.Panel(t.Context(), c.split)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
			if p.Name != c.name {
				t.Errorf("name %q, want %q", p.Name, c.name)
			}
			got := map[string]int{}
			for i, task := range p.Tasks {
				got[task.Type]++
				if task.Env != "alfworld" || len(task.Hash) != 64 || !strings.HasPrefix(task.ID, task.Split+"/"+task.Type+"-") {
					t.Errorf("task %+v", task)
				}
				if c.split != "" && task.Split != c.split {
					t.Errorf("task %s is of split %s", task.ID, task.Split)
				}
				if i > 0 && task.ID <= p.Tasks[i-1].ID {
					t.Errorf("task %d is out of order", i)
				}
			}
			want := map[string]int{}
			for _, task := range gen.TaskTypes() {
				want[string(task)] = c.each
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("games of each task (-want +got):\n%s", d)
			}
		})
	}
}

func TestPanelRefusesUnknownSplit(t *testing.T) {
	t.Parallel()
	p, err := embedded.Panel(t.Context(), "holidays")
	if err == nil || !strings.Contains(err.Error(), `no split "holidays"`) {
		t.Errorf("error %v", err)
	}
	if d := cmp.Diff(harness.Panel{}, p); d != "" {
		t.Errorf("a panel beside the error: %s", d)
	}
}

// The panel mixes rooms: each split has all four kinds.
func TestPanelMixesRooms(t *testing.T) {
	t.Parallel()
	for _, split := range []string{"train", "valid_seen", "valid_unseen"} {
		p, err := embedded.Panel(t.Context(), split)
		if err != nil {
			t.Fatal(err)
		}
		rooms := map[byte]bool{}
		for _, task := range p.Tasks {
			folder := strings.Split(task.ID, "/")[1]
			plan := folder[strings.LastIndex(folder, "-")+1:]
			kind := byte('0') // kitchens have two digits
			if len(plan) == 3 {
				kind = plan[0]
			}
			rooms[kind] = true
		}
		if len(rooms) != 4 {
			t.Errorf("%s has %d kinds of room, want 4", split, len(rooms))
		}
	}
}

// The engine leaves no embedded game out, and its expert, who knows nothing of the walkthroughs, wins
// every one.
func TestExpertWinsEveryEmbeddedGame(t *testing.T) {
	t.Parallel()
	suite, err := embedded.SuiteWith(t.Context(), alfworld.Config{Reward: 1})
	if err != nil {
		t.Fatal(err)
	}
	if skips, err := suite.Skipped(t.Context(), ""); err != nil || len(skips) > 0 {
		t.Errorf("left out: %v (%v)", skips, err)
	}
	tasks, err := suite.Tasks(t.Context(), "")
	if err != nil || len(tasks) != 60 {
		t.Fatalf("%d tasks (%v), want 60", len(tasks), err)
	}
	env, err := suite.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close()
	for _, task := range tasks {
		if _, err := env.Reset(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		if reward, steps, err := followAdvice(t.Context(), env); err != nil || reward != 1 {
			t.Errorf("%s: reward %v after %d steps (%v)", task.ID, reward, steps, err)
		}
	}
}

// followAdvice does what the environment's expert says until the end, at most 50 steps.
func followAdvice(ctx context.Context, env harness.Env) (reward float64, steps int, err error) {
	for ; steps < 50; steps++ {
		action, err := env.(harness.Advisor).Advise(ctx)
		if err != nil {
			return reward, steps, err
		}
		tr, err := env.Step(ctx, action)
		if err != nil {
			return reward, steps, err
		}
		if reward += tr.Reward; tr.Done {
			return reward, steps + 1, nil
		}
	}
	return reward, steps, nil
}

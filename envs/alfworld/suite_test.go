package alfworld_test

import (
	"archive/tar"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/internal/errext"
)

func TestTasksAreFilteredAsInTheOriginal(t *testing.T) {
	t.Parallel()
	fsys := workshopFS(t)
	good := fsys["json_2.1.1/valid/weld/t1/game.tw-pddl"].Data
	traj := func(typ string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(`{"task_type": "` + typ + `"}`)} }
	put := func(dir string, game []byte, tr *fstest.MapFile) {
		if game != nil {
			fsys["json_2.1.1/"+dir+"/game.tw-pddl"] = &fstest.MapFile{Data: game}
		}
		if tr != nil {
			fsys["json_2.1.1/"+dir+"/traj_data.json"] = tr
		}
	}
	put("valid/weld/t0", good, traj(alfworld.PickTwo))
	put("valid/a/no-traj", good, nil)
	put("valid/a/no-game", nil, traj(alfworld.Look))
	put("valid/movable/t", good, traj(alfworld.Look))
	put("valid/pick-Sliced-x/t", good, traj(alfworld.Look))
	put("valid/a/type", good, traj("pick_and_place_with_movable_recep"))
	put("valid/a/unsolvable", edited(t, good, map[string]any{"solvable": false}), traj(alfworld.Heat))
	put("valid/a/unchecked", edited(t, good, map[string]any{"solvable": nil}), traj(alfworld.Heat))
	put("valid/a/broken", good[:100], traj(alfworld.Heat))
	put("valid/a/bad-traj", good, &fstest.MapFile{Data: []byte("{")})
	put("train/weld/t1", good, traj(alfworld.Cool))
	s, err := alfworld.NewFS(t.Context(), fsys, alfworld.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Tasks(t.Context(), "valid")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, task := range tasks {
		got = append(got, task.ID+" "+task.Split+" "+task.Type)
		if task.Env != "alfworld" || len(task.Hash) != 64 {
			t.Errorf("task %+v lacks its environment or hash", task)
		}
	}
	if want := []string{"valid/weld/t0 valid " + alfworld.PickTwo, "valid/weld/t1 valid " + alfworld.Place}; !cmp.Equal(got, want) {
		t.Errorf("tasks are %q, want %q", got, want)
	}
	skips, err := s.Skipped(t.Context(), "valid")
	if err != nil {
		t.Fatal(err)
	}
	reasons := make(map[string]string)
	for _, sk := range skips {
		reasons[sk.ID] = sk.Reason.Error()
	}
	want := map[string]string{
		"valid/a/no-traj":       "no traj_data.json",
		"valid/a/no-game":       "no game.tw-pddl",
		"valid/movable/t":       "movable or sliced task, which the text engine does not support",
		"valid/pick-Sliced-x/t": "movable or sliced task, which the text engine does not support",
		"valid/a/type":          `unknown task type "pick_and_place_with_movable_recep"`,
		"valid/a/unsolvable":    "marked as not solvable",
		"valid/a/unchecked":     `no "solvable" key: nobody checked whether it can be solved`,
		"valid/a/broken":        "game.tw-pddl is not valid: unexpected end of JSON input",
		"valid/a/bad-traj":      "traj_data.json is not valid: unexpected end of JSON input",
	}
	if d := cmp.Diff(want, reasons); d != "" {
		t.Errorf("reasons differ (-want +got):\n%s", d)
	}
	all, err := s.Tasks(t.Context(), "")
	if err != nil || len(all) != 3 || all[0].Split != "train" {
		t.Errorf("all tasks are %v, %v", all, err)
	}
	if _, err := s.Tasks(t.Context(), "test"); err == nil || errext.Hint(err) != "it has: train, valid" {
		t.Errorf("an unknown split: got %v with hint %q", err, errext.Hint(err))
	}
}

func TestReferenceGamesAreFound(t *testing.T) {
	t.Parallel()
	for assets, want := range map[string][2]int{"2.1.1": {474, 20}, "head": {119, 0}} {
		s := reference(t, assets)
		tasks, err := s.Tasks(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		skips, err := s.Skipped(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]int{len(tasks), len(skips)}; got != want {
			t.Errorf("%s: %d tasks and %d skipped, want %v", assets, len(tasks), len(skips), want)
		}
		if !slices.IsSortedFunc(tasks, func(a, b harness.Task) int { return strings.Compare(a.ID, b.ID) }) {
			t.Errorf("%s: the tasks are not sorted", assets)
		}
		if err := (harness.Panel{Name: assets, Tasks: tasks}).Validate(); err != nil {
			t.Error(err)
		}
	}
}

// writeTree writes a file system into a folder.
func writeTree(t *testing.T, dir string, fsys fs.FS) {
	t.Helper()
	if err := os.CopyFS(dir, fsys); err != nil {
		t.Fatal(err)
	}
}

// writeArchive packs a file system as a tar, with xz where compress is set.
func writeArchive(t *testing.T, name string, fsys fstest.MapFS, compress bool) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tw := tar.NewWriter(f)
	if compress {
		xw, err := xz.NewWriter(f)
		if err != nil {
			t.Fatal(err)
		}
		defer xw.Close()
		tw = tar.NewWriter(xw)
	}
	if err := tw.AddFS(fsys); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestEveryWayToOpenGivesTheSameTasks(t *testing.T) {
	t.Parallel()
	fsys := workshopFS(t)
	dir := t.TempDir()
	writeTree(t, filepath.Join(dir, "data"), fsys)
	writeArchive(t, filepath.Join(dir, "a.tar"), fsys, false)
	for _, sub := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeArchive(t, filepath.Join(dir, "one", "games.tar.xz"), fsys, true)
	writeArchive(t, filepath.Join(dir, "two", "games-x.tar.xz"), fsys, true)
	writeArchive(t, filepath.Join(dir, "two", "games-y.tar.xz"), fsys, true)
	want, err := alfworld.NewFS(t.Context(), fsys, alfworld.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := want.Tasks(t.Context(), "")
	if err != nil || len(tasks) != 1 {
		t.Fatalf("got %v, %v", tasks, err)
	}
	for _, path := range []string{"data", "data/json_2.1.1", "a.tar", "one", "one/games.tar.xz"} {
		s, err := alfworld.New(t.Context(), filepath.Join(dir, path), alfworld.Config{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got, err := s.Tasks(t.Context(), ""); err != nil || !cmp.Equal(got, tasks) {
			t.Errorf("%s: got %v, %v", path, got, err)
		}
		start(t, s, tasks[0])
	}
	_, err = alfworld.New(t.Context(), filepath.Join(dir, "two"), alfworld.Config{})
	if err == nil || errext.Hint(err) != "name one of them: games-x.tar.xz, games-y.tar.xz" {
		t.Errorf("several archives: got %v with hint %q", err, errext.Hint(err))
	}
}

func TestOpenErrorsNameTheRemedy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeArchive(t, filepath.Join(dir, "full.tar.xz"), workshopFS(t), true)
	full, err := os.ReadFile(filepath.Join(dir, "full.tar.xz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"cut.tar.xz": full[:len(full)/2], "bad.tar.xz": []byte("hello"), "x.zip": full} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"none": "no such file", "cut.tar.xz": "read ALFWorld archive", "bad.tar.xz": "read ALFWorld archive",
		"x.zip": "neither a folder nor a .tar or .tar.xz", "empty": "neither json_2.1.1 nor",
	} {
		_, err := alfworld.New(t.Context(), filepath.Join(dir, name), alfworld.Config{})
		if err == nil || !strings.Contains(err.Error(), want) || errext.Hint(err) == "" {
			t.Errorf("%s: got %v with hint %q, want %q and a hint", name, err, errext.Hint(err), want)
		}
	}
	if _, err := alfworld.NewFS(t.Context(), workshopFS(t), alfworld.Config{CacheGames: -1}); err == nil {
		t.Error("a negative cache is accepted")
	}
}

func TestBrokenGamesNameFileAndRemedy(t *testing.T) {
	t.Parallel()
	fsys := workshopFS(t)
	game := fsys["json_2.1.1/valid/weld/t1/game.tw-pddl"]
	good := game.Data
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut short":  {good[:len(good)/2], "is not the JSON object it should be"},
		"no grammar": {edited(t, good, map[string]any{"grammar": nil}), `has no "grammar"`},
		"construct":  {edited(t, good, map[string]any{"pddl_domain": "(define (domain d)\n(:derived (p)))"}), "line 2: (:derived ...): this section of a domain is not supported"},
		"unsolvable": {edited(t, good, map[string]any{"solvable": false}), "marked as not solvable"},
	} {
		data := c.data
		sub := fstest.MapFS{"json_2.1.1/valid/weld/t1/game.tw-pddl": {Data: data}, "json_2.1.1/valid/weld/t1/traj_data.json": fsys["json_2.1.1/valid/weld/t1/traj_data.json"]}
		s, err := alfworld.NewFS(t.Context(), sub, alfworld.Config{})
		if err != nil {
			t.Fatal(err)
		}
		env, err := s.NewEnv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = env.Reset(t.Context(), harness.Task{Env: alfworld.Name, ID: "valid/weld/t1"})
		var f *harness.Failure
		if !errors.As(err, &f) || f.Retryable || f.Kind != harness.FailEnv {
			t.Errorf("%s: got %v, want a final environment failure", name, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "valid/weld/t1") || errext.Hint(err) == "" {
			t.Errorf("%s: got %v with hint %q, want %q, the game and a hint", name, err, errext.Hint(err), c.want)
		}
	}
}

func TestUnknownTasksAndHashesAreRefused(t *testing.T) {
	t.Parallel()
	s, err := alfworld.NewFS(t.Context(), workshopFS(t), alfworld.Config{})
	if err != nil {
		t.Fatal(err)
	}
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		task       harness.Task
		want, hint string
	}{
		{harness.Task{ID: "valid/weld/t2"}, `no task "valid/weld/t2"`, `did you mean "valid/weld/t1"?`},
		{harness.Task{ID: "t1"}, `no task "t1"`, `did you mean "valid/weld/t1"?`},
		{harness.Task{ID: "../../etc"}, `no task`, "a task is <split>/<task>/<trial>"},
		{harness.Task{ID: "valid/weld"}, `no task`, `did you mean "valid/weld/t1"?`},
		{harness.Task{Env: "webshop", ID: "valid/weld/t1"}, `belongs to environment "webshop"`, ""},
		{harness.Task{ID: "valid/weld/t1", Hash: strings.Repeat("0", 64)}, "the task's is 000000000000…", "the panel was made from another version"},
	} {
		_, err := env.Reset(t.Context(), c.task)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(errext.Hint(err), c.hint) {
			t.Errorf("%v: got %v with hint %q, want %q and %q", c.task, err, errext.Hint(err), c.want, c.hint)
		}
		err = s.CheckTask(t.Context(), c.task)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(errext.Hint(err), c.hint) {
			t.Errorf("check %v: got %v with hint %q, want %q and %q", c.task, err, errext.Hint(err), c.want, c.hint)
		}
	}
	tasks, err := s.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if err := s.CheckTask(t.Context(), task); err != nil {
			t.Errorf("check a listed task: %v", err)
		}
	}
}

func TestGamesAreSharedAndDropped(t *testing.T) {
	t.Parallel()
	s, tasks := panel(t, alfworld.Config{CacheGames: 2})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 6 {
				task := tasks[(i+k)%5]
				env, err := s.NewEnv(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := env.Reset(context.Background(), task); err != nil {
					t.Error(err)
				}
				if err := env.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestFolderOfSeveralVersions(t *testing.T) {
	t.Parallel()
	lib := archives(t)
	const id = "valid_seen/pick_and_place_simple-Candle-None-Toilet-429/trial_T20190908_052232_887934"
	if _, note, err := lib.OpenGame(t.Context(), id, "2.1.1"); err != nil || note != "" {
		t.Errorf("2.1.1: got note %q, %v", note, err)
	}
	if _, note, err := lib.OpenGame(t.Context(), id, "head"); err != nil || note != "domain and wording of head, problem and task of 2.1.1" {
		t.Errorf("head: got note %q, %v", note, err)
	}
	if _, _, err := lib.OpenGame(t.Context(), id, "9.9"); err == nil || errext.Hint(err) != "it has the versions 2.1.1, 2.1.2, head" {
		t.Errorf("9.9: got %v with hint %q", err, errext.Hint(err))
	}
	if _, _, err := lib.OpenGame(t.Context(), "valid_seen/x/y", "2.1.1"); err == nil || errext.Hint(err) == "" {
		t.Errorf("no such game: got %v", err)
	}
}

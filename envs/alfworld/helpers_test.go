package alfworld_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/internal/testutil"
)

// library opens the reference games once for all tests: reading the archives takes a second each.
var library = sync.OnceValues(func() (*alfworld.Archives, error) {
	dir, _ := testutil.SharedDir()
	lib, err := alfworld.OpenLibrary(context.Background(), filepath.Join(dir, "data", "alfworld"))
	if err != nil {
		return nil, err
	}
	return lib.(*alfworld.Archives), nil
})

func archives(tb testing.TB) *alfworld.Archives {
	tb.Helper()
	testutil.Shared(tb, "data/alfworld")
	lib, err := library()
	if err != nil {
		tb.Fatal(err)
	}
	return lib
}

// reference opens one version of the reference games.
func reference(tb testing.TB, assets string) *alfworld.Suite {
	tb.Helper()
	s, err := archives(tb).Suite(context.Background(), assets)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// panel opens the embedded games.
func panel(tb testing.TB, cfg alfworld.Config) (*alfworld.Suite, []harness.Task) {
	tb.Helper()
	s, err := embedded.SuiteWith(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tasks, err := s.Tasks(tb.Context(), "")
	if err != nil {
		tb.Fatal(err)
	}
	return s, tasks
}

// start opens an environment on a task.
func start(tb testing.TB, s harness.Suite, task harness.Task) (*alfworld.Env, harness.Observation) {
	tb.Helper()
	env, err := s.NewEnv(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = env.Close() })
	obs, err := env.Reset(tb.Context(), task)
	if err != nil {
		tb.Fatal(err)
	}
	return env.(*alfworld.Env), obs
}

// workshopFS is the download layout with the workshop game as the one playable trial.
func workshopFS(tb testing.TB) fstest.MapFS {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "workshop.json"))
	if err != nil {
		tb.Fatal(err)
	}
	return fstest.MapFS{
		"json_2.1.1/valid/weld/t1/game.tw-pddl":   {Data: data},
		"json_2.1.1/valid/weld/t1/traj_data.json": {Data: []byte(`{"task_type": "pick_and_place_simple"}`)},
	}
}

// edited is a game file with some keys replaced; a nil value deletes the key.
func edited(tb testing.TB, data []byte, keys map[string]any) []byte {
	tb.Helper()
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		tb.Fatal(err)
	}
	for k, v := range keys {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = v
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

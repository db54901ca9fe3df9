package alfworld_test

import (
	"context"
	"encoding/json"
	"io/fs"
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

// opened shares suites between tests: reading an archive takes a second.
var opened sync.Map // path -> func() (*alfworld.Suite, error)

// reference opens one version of the reference games.
func reference(tb testing.TB, assets string) *alfworld.Suite {
	tb.Helper()
	file := testutil.Shared(tb, "data/alfworld/games-"+assets+".tar.xz")
	once, _ := opened.LoadOrStore(file, sync.OnceValues(func() (*alfworld.Suite, error) {
		return alfworld.New(context.Background(), file, alfworld.Config{})
	}))
	s, err := once.(func() (*alfworld.Suite, error))()
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

var _ fs.FS = fstest.MapFS{}

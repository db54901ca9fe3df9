package alfworld_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	"github.com/hindsightrl/harness/envs/alfworld/embedded"
	"github.com/hindsightrl/harness/envs/alfworld/engine"
	"github.com/hindsightrl/harness/internal/testutil"
)

// benchGame is a large kitchen of the reference data where that is present, else an embedded game.
func benchGame(b *testing.B) (*alfworld.Suite, string) {
	b.Helper()
	if dir, ok := testutil.SharedDir(); ok {
		if _, err := os.Stat(filepath.Join(dir, "data", "alfworld")); err == nil {
			return reference(b, "2.1.2"), "valid_seen/pick_clean_then_place_in_recep-Lettuce-None-CounterTop-16/trial_T20190909_051630_092360"
		}
	}
	suite, err := embedded.Suite(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	tasks, err := suite.Tasks(context.Background(), "")
	if err != nil {
		b.Fatal(err)
	}
	return suite, tasks[0].ID
}

func benchEngine(b *testing.B) *engine.Game {
	b.Helper()
	suite, id := benchGame(b)
	g, _, err := suite.OpenGame(context.Background(), id, "")
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// BenchmarkStep is the bare engine: one random admissible command with its text and the next list.
func BenchmarkStep(b *testing.B) {
	e := benchEngine(b).NewEpisode()
	rng := rand.New(rand.NewPCG(1, 1))
	adm := e.Admissible(nil)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := e.Step(adm[rng.IntN(len(adm))]); err != nil {
			b.Fatal(err)
		}
		adm = e.Admissible(nil)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(e.Size()), "bytes/episode")
}

// BenchmarkEnvStep is the same through harness.Env, one command in ten inadmissible and so explained.
func BenchmarkEnvStep(b *testing.B) {
	suite, id := benchGame(b)
	env, obs := start(b, suite, harness.Task{ID: id})
	rng := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		action := "open drawer 99"
		if rng.IntN(10) > 0 {
			action = obs.Admissible[rng.IntN(len(obs.Admissible))]
		}
		tr, err := env.Step(context.Background(), action)
		if err != nil {
			b.Fatal(err)
		}
		if obs = tr.Observation; tr.Done {
			if obs, err = env.Reset(context.Background(), harness.Task{ID: id}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkReset(b *testing.B) {
	suite, id := benchGame(b)
	env, _ := start(b, suite, harness.Task{ID: id})
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := env.Reset(context.Background(), harness.Task{ID: id}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad reads and compiles a game file.
func BenchmarkLoad(b *testing.B) {
	suite, id := benchGame(b)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, _, err := suite.OpenGame(context.Background(), id, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSnapshot copies a state and puts it back.
func BenchmarkSnapshot(b *testing.B) {
	e := benchEngine(b).NewEpisode()
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if !e.Load(e.Save()) {
			b.Fatal("the state is refused")
		}
	}
}

func BenchmarkAdvise(b *testing.B) {
	e := benchEngine(b).NewEpisode()
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := e.Advise(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTenThousandEpisodes opens 10,000 episodes of one game, plays each a few steps, and reports
// the memory that they hold.
func BenchmarkTenThousandEpisodes(b *testing.B) {
	const episodes = 10_000
	g := benchEngine(b)
	rng := rand.New(rand.NewPCG(1, 1))
	b.ResetTimer()
	for b.Loop() {
		before := heap()
		all := make([]*engine.Episode, episodes)
		for i := range all {
			all[i] = g.NewEpisode()
			for range 3 {
				adm := all[i].Admissible(nil)
				if _, err := all[i].Step(adm[rng.IntN(len(adm))]); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(heap()-before)/episodes, "bytes/episode")
		runtime.KeepAlive(all)
	}
}

// BenchmarkGameMemory reports what a compiled game holds.
func BenchmarkGameMemory(b *testing.B) {
	for b.Loop() {
		before := heap()
		g := benchEngine(b)
		b.ReportMetric(float64(heap()-before), "bytes/game")
		b.ReportMetric(float64(g.Operators()), "operators")
		runtime.KeepAlive(g)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

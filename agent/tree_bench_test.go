package agent_test

import (
	"path/filepath"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/store"
)

// played opens an environment of a suite and takes the expert's first steps in it.
func played(b *testing.B, suite harness.Suite, steps int) (harness.Snapshotter, harness.Task) {
	b.Helper()
	tasks, err := suite.Tasks(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	env, err := suite.NewEnv(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := env.Reset(b.Context(), tasks[0]); err != nil {
		b.Fatal(err)
	}
	for range steps {
		action, err := env.(harness.Advisor).Advise(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := env.Step(b.Context(), action); err != nil {
			b.Fatal(err)
		}
	}
	return env.(harness.Snapshotter), tasks[0]
}

// BenchmarkFork keeps the state of an episode under way and puts it back in another environment of the
// task. The aim is under 20 µs.
func BenchmarkFork(b *testing.B) {
	for name, suite := range suites(b) {
		b.Run(name, func(b *testing.B) {
			from, _ := played(b, suite, 2)
			to, _ := played(b, suite, 0)
			b.ReportAllocs()
			for b.Loop() {
				s, err := from.Snapshot()
				if err != nil {
					b.Fatal(err)
				}
				if err := to.Restore(s); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/with a new environment", func(b *testing.B) {
			from, task := played(b, suite, 2)
			b.ReportAllocs()
			for b.Loop() {
				s, err := from.Snapshot()
				if err != nil {
					b.Fatal(err)
				}
				to, err := suite.NewEnv(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if _, err := to.Reset(b.Context(), task); err != nil {
					b.Fatal(err)
				}
				if err := to.(harness.Snapshotter).Restore(s); err != nil {
					b.Fatal(err)
				}
				if err := to.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTree grows one tree of 13 leaves per operation, ledger and model included; BenchmarkApart draws
// as many episodes apart. Compare their time per generated token: the difference is what trees cost.
func BenchmarkTree(b *testing.B) {
	benchmarkGroup(b, agent.TreeConfig{Forks: 6}, func(p *plot, s *store.Store, run store.Run) (agent.Stats, error) {
		return p.grow(b.Context(), b, s, run, nil)
	})
}

func BenchmarkApart(b *testing.B) {
	benchmarkGroup(b, agent.TreeConfig{Forks: 6}, func(p *plot, s *store.Store, run store.Run) (agent.Stats, error) {
		refs, err := s.Pending(b.Context(), run.ID)
		if err != nil {
			return agent.Stats{}, err
		}
		return agent.Run(b.Context(), b.Context(), refs, agent.Config{
			RunSeed: 3, Suites: map[string]harness.Suite{p.suite.Name(): p.suite}, Policy: p.policy(b), Recorder: s.Recorder(run.ID), Workers: p.workers, MaxSteps: p.maxSteps,
		})
	})
}

func benchmarkGroup(b *testing.B, tree agent.TreeConfig, play func(*plot, *store.Store, store.Run) (agent.Stats, error)) {
	for name, suite := range suites(b) {
		b.Run(name, func(b *testing.B) {
			p := &plot{suite: suite, tasks: 1, tree: tree, workers: 4, maxSteps: 20}
			tokens, leaves := 0, 0
			for b.Loop() {
				b.StopTimer()
				s, run := p.open(b, filepath.Join(b.TempDir(), "ledger.db"))
				b.StartTimer()
				stats, err := play(p, s, run)
				if err != nil {
					b.Fatal(err)
				}
				tokens, leaves = tokens+stats.Tokens, leaves+stats.Done
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tokens), "ns/token")
			b.ReportMetric(float64(tokens)/float64(b.N), "tokens/op")
			b.ReportMetric(float64(leaves)/float64(b.N), "leaves/op")
		})
	}
}

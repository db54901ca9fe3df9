package store

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
)

// BenchmarkFeedSteps reads a group of 8 episodes of 20 steps, prompts of 800 and responses of 400 tokens.
func BenchmarkFeedSteps(b *testing.B) {
	db, err := Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), Config{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const episodes, steps, prompt, tokens = 8, 20, 800, 400
	run, err := db.CreateRun(b.Context(), RunSpec{Name: "run", Panel: harness.Panel{Name: "p", Tasks: []harness.Task{{Env: "e", ID: "t", Split: "s"}}}, GroupSize: episodes})
	if err != nil {
		b.Fatal(err)
	}
	refs, err := db.Pending(b.Context(), run.ID)
	if err != nil {
		b.Fatal(err)
	}
	rec, r := db.Recorder(run.ID), rand.New(rand.NewPCG(1, 1))
	for _, ref := range refs {
		id, _, err := rec.Begin(b.Context(), ref)
		if err != nil {
			b.Fatal(err)
		}
		ids := make([]int32, prompt)
		for k := range ids {
			ids[k] = r.Int32N(150000)
		}
		for s := range steps {
			t := &harness.Tokens{PromptIDs: slices.Clone(ids)}
			for range tokens {
				t.IDs = append(t.IDs, r.Int32N(150000))
				t.Logprobs = append(t.Logprobs, -float32(r.ExpFloat64()))
				t.Entropies = append(t.Entropies, float32(r.ExpFloat64()))
				t.Versions = append(t.Versions, 1)
			}
			ids[r.IntN(prompt)] = 7
			if err := rec.Step(b.Context(), id, harness.Step{Index: s, Response: "r", Anchor: "a", Next: harness.Observation{Text: "t"}, Tokens: t}); err != nil {
				b.Fatal(err)
			}
		}
		if err := rec.Finish(b.Context(), id, harness.Outcome{Stop: harness.StopMaxSteps, Steps: steps, Invalid: steps}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	cpu := cpuTime(b)
	for b.Loop() {
		if got, err := db.FeedSteps(b.Context(), run.ID, 0, 0, 0); err != nil || len(got) != episodes*steps {
			b.Fatal(len(got), err)
		}
	}
	cpu = cpuTime(b) - cpu
	b.ReportMetric(float64(b.N)*episodes*steps*tokens/b.Elapsed().Seconds(), "tokens/s")
	b.ReportMetric(float64(b.N)*episodes*steps*tokens/cpu.Seconds(), "tokens/cpu-s")
}

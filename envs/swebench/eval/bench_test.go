package eval_test

import (
	"fmt"
	"testing"

	own "github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/eval"
)

// BenchmarkEightSideBySide is eight evaluations with eight workers, and with one: their ratio says what
// side by side gains on this machine, with tests that take no time at all.
func BenchmarkEightSideBySide(b *testing.B) {
	for _, workers := range []int{1, 8} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			c := config()
			c.Warm = workers
			e, image := daemon(b, c, own.Config{Starts: 8})
			batch := eval.Batch{Workers: workers, Root: b.TempDir()}
			var ids []string
			for i := range 8 {
				ids = append(ids, fmt.Sprintf("a__b-%d", i))
				batch.Predictions = append(batch.Predictions, swebench.Prediction{InstanceID: ids[i], Model: "m", Patch: goldPatch})
			}
			batch.Data = dataset(b, image, nil, ids...)
			for i := 0; b.Loop(); i++ {
				batch.RunID = fmt.Sprintf("run-%d", i)
				sum, err := e.Run(b.Context(), b.Context(), batch)
				if err != nil || sum.Resolved() != 8 {
					b.Fatalf("%+v, %v", sum, err)
				}
			}
		})
	}
}

// BenchmarkReuse is a second run over what is there: 500 outcomes are read and none is made.
func BenchmarkReuse(b *testing.B) {
	e := evaluator(b, &boxes{}, config())
	batch := eval.Batch{Workers: 4, Root: b.TempDir(), RunID: "run"}
	var ids []string
	for i := range 500 {
		ids = append(ids, fmt.Sprintf("a__b-%d", i))
		batch.Predictions = append(batch.Predictions, swebench.Prediction{InstanceID: ids[i], Model: "m", Patch: goldPatch})
	}
	batch.Data = dataset(b, "i:1", nil, ids...)
	run := func() *eval.Summary {
		sum, err := e.Run(b.Context(), b.Context(), batch)
		if err != nil {
			b.Fatal(err)
		}
		return sum
	}
	run()
	for b.Loop() {
		if sum := run(); sum.Cached != 500 {
			b.Fatalf("%d reused", sum.Cached)
		}
	}
}

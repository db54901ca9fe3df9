package gguf

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/hindsightrl/harness/llm"
)

// benchModel is the small reference model, or the file in HARNESS_BENCH_GGUF.
func benchModel(b *testing.B, cfg Config) *Model {
	path := os.Getenv("HARNESS_BENCH_GGUF")
	if path == "" {
		return stories(b, cfg)
	}
	cfg.LibDir, cfg.ContextLength = library(b), 512
	m, err := Open(b.Context(), path, cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	return m
}

func BenchmarkGenerate(b *testing.B) {
	for _, deterministic := range []bool{false, true} {
		for _, slots := range []int{1, 8} {
			b.Run(fmt.Sprintf("deterministic=%v/slots=%d", deterministic, slots), func(b *testing.B) {
				m := benchModel(b, Config{Slots: slots, Threads: 1, Deterministic: deterministic})
				prompt, err := m.Tokenize("Once upon a time", true)
				if err != nil {
					b.Fatal(err)
				}
				total := 0
				b.ResetTimer()
				for i := range b.N {
					var wg sync.WaitGroup
					var mu sync.Mutex
					for k := range slots {
						wg.Go(func() {
							n := len(sample(b, m, prompt, 64, int64(i*slots+k)))
							mu.Lock()
							total += n
							mu.Unlock()
						})
					}
					wg.Wait()
				}
				b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}

func BenchmarkScore(b *testing.B) {
	for _, deterministic := range []bool{false, true} {
		b.Run(fmt.Sprintf("deterministic=%v", deterministic), func(b *testing.B) {
			m := benchModel(b, Config{Slots: 1, Threads: 1, Deterministic: deterministic})
			prompt, err := m.Tokenize("Once upon a time", true)
			if err != nil {
				b.Fatal(err)
			}
			ids := idsOf(sample(b, m, prompt, 200, 7))
			total := 0
			b.ResetTimer()
			for i := range b.N {
				prompt[0] = int32(3 + i%2) // another beginning, so that nothing is reused
				if _, err := m.Score(b.Context(), llm.ScoreRequest{Prefix: prompt, Continuation: ids}); err != nil {
					b.Fatal(err)
				}
				total += len(ids)
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

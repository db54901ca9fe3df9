package refmodel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hindsightrl/harness/llm"
)

// benchTexts returns prompts of about n tokens, each with the expert's response.
func benchTexts(b *testing.B, m *Model, n int) []example {
	b.Helper()
	ex := examples(m, 3000, 3010)
	for i := range ex {
		var long []int32
		for len(long)+len(ex[i].prefix) < n {
			long = append(long, ex[(i+len(long))%len(ex)].prefix...)
		}
		ex[i].prefix = append(long[:max(0, n-len(ex[i].prefix))], ex[i].prefix...)
	}
	return ex
}

// BenchmarkScore scores responses behind a context of 2,000 tokens that is read anew each time.
func BenchmarkScore(b *testing.B) {
	m := open1(b)
	ex := benchTexts(b, m, 2000)
	scored, read := 0, 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e := ex[i%len(ex)]
		if _, err := m.Score(context.Background(), llm.ScoreRequest{Prefix: e.prefix, Continuation: e.response}); err != nil {
			b.Fatal(err)
		}
		scored += len(e.response)
		read += len(e.prefix) + len(e.response)
	}
	b.ReportMetric(float64(scored)/b.Elapsed().Seconds(), "scored/s")
	b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkGather is the cost of one prediction alone.
func BenchmarkGather(b *testing.B) {
	m := open1(b)
	ex := benchTexts(b, m, 2000)
	w := newWindow(m)
	n := 0
	for i := 0; b.Loop(); i++ {
		e := ex[i%len(ex)]
		b.StopTimer()
		w.reset(e.prefix)
		b.StartTimer()
		for _, id := range e.response {
			w.gather()
			w.prob(id)
			w.push(id)
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/token")
}

// BenchmarkStream generates with one goroutine, BenchmarkStream256 with 256 at once.
func BenchmarkStream(b *testing.B)    { benchStream(b, 1) }
func BenchmarkStream256(b *testing.B) { benchStream(b, 256) }

func benchStream(b *testing.B, workers int) {
	m := open1(b)
	ex := benchTexts(b, m, 800)
	var n, job atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := job.Add(1); i <= int64(b.N); i = job.Add(1) {
				s := llm.DefaultSampling()
				s.Seed = &i
				_, err := m.Stream(context.Background(), llm.StreamRequest{Prompt: ex[int(i)%len(ex)].prefix, Sampling: s}, func(llm.TokenEvent) error {
					n.Add(1)
					return nil
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds(), "tokens/s")
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "cores")
}

func open1(tb testing.TB) *Model {
	tb.Helper()
	m, err := New(Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

package refmodel

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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
	start := cpuTime(b)
	for i := 0; b.Loop(); i++ {
		e := ex[i%len(ex)]
		if _, err := m.Score(context.Background(), llm.ScoreRequest{Prefix: e.prefix, Continuation: e.response}); err != nil {
			b.Fatal(err)
		}
		scored += len(e.response)
		read += len(e.prefix) + len(e.response)
	}
	cpu := (cpuTime(b) - start).Seconds()
	b.ReportMetric(float64(scored)/cpu, "scored/cpu-s")
	b.ReportMetric(float64(read)/cpu, "tokens/cpu-s")
}

// BenchmarkScoreOnly scores long texts behind a short context, so that reading costs next to nothing.
func BenchmarkScoreOnly(b *testing.B) {
	m := open1(b)
	ex := benchTexts(b, m, 0)
	start, n := cpuTime(b), 0
	for i := 0; b.Loop(); i++ {
		e := ex[i%len(ex)]
		if _, err := m.Score(context.Background(), llm.ScoreRequest{Continuation: e.prefix}); err != nil {
			b.Fatal(err)
		}
		n += len(e.prefix)
	}
	b.ReportMetric(float64(n)/(cpuTime(b)-start).Seconds(), "scored/cpu-s")
}

// cpuTime is what this process has used: the measure of "per core" on a machine that others use, too.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
	start := cpuTime(b)
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
	cpu := (cpuTime(b) - start).Seconds()
	b.ReportMetric(float64(n.Load())/cpu, "tokens/cpu-s")
	b.ReportMetric(cpu/b.Elapsed().Seconds(), "cores")
}

func open1(tb testing.TB) *Model {
	tb.Helper()
	m, err := New(Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// BenchmarkNew is what opening the model costs.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		open1(b)
	}
}

// BenchmarkTempered draws tokens at temperature 0.4, which needs the whole distribution.
func BenchmarkTempered(b *testing.B) {
	m := open1(b)
	ex := benchTexts(b, m, 800)
	n, start := 0, cpuTime(b)
	for i := 0; b.Loop(); i++ {
		seed := int64(i)
		s := llm.Sampling{Temperature: 0.4, TopP: 1, MaxTokens: 60, Seed: &seed}
		if _, err := m.Stream(context.Background(), llm.StreamRequest{Prompt: ex[i%len(ex)].prefix, Sampling: s}, func(llm.TokenEvent) error {
			n++
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/(cpuTime(b)-start).Seconds(), "tokens/cpu-s")
}

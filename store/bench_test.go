package store

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
)

// BenchmarkRecord measures durable steps per second: 64 episodes at once, each of 50 steps of the
// size that ALFWorld's have, and reports the size of the file per step.
func BenchmarkRecord(b *testing.B) {
	for _, tokens := range []int{0, 200} {
		b.Run(fmt.Sprintf("tokens=%d", tokens), func(b *testing.B) { benchmarkRecord(b, 64, tokens) })
	}
}

func benchmarkRecord(b *testing.B, concurrent, tokens int) {
	const length = 50
	games := make([][]harness.Step, 16)
	for i := range games {
		g := newGame(uint64(i), tokens)
		for range length {
			games[i] = append(games[i], g.step())
		}
	}
	path := filepath.Join(b.TempDir(), "ledger.db")
	s := openTest(b, path)
	episodes := b.N/length + 1
	run, err := s.CreateRun(b.Context(), RunSpec{Name: "run", Panel: testPanel(episodes), GroupSize: 1})
	if err != nil {
		b.Fatal(err)
	}
	refs := pending(b, s, run.ID)
	work := make(chan harness.EpisodeRef)
	rec := s.Recorder(run.ID)
	var wg sync.WaitGroup
	b.ResetTimer()
	cpu := cpuTime(b)
	for range concurrent {
		wg.Go(func() {
			for ref := range work {
				if err := record(b, rec, ref, games[ref.Group%len(games)]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, ref := range refs {
		work <- ref
	}
	close(work)
	wg.Wait()
	b.StopTimer()
	cpu = cpuTime(b) - cpu
	steps := float64(episodes * length)
	b.ReportMetric(steps/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(cpu.Microseconds())/steps, "cpu-µs/step") // steadier than time on a shared machine
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(steps/float64(s.w.commits), "steps/commit")
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(st.Size())/steps, "B/step")
}

// cpuTime is the processor time that this process has used so far.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func record(tb testing.TB, rec *Recorder, ref harness.EpisodeRef, steps []harness.Step) error {
	id, recorded, err := rec.Begin(tb.Context(), ref)
	if err != nil {
		return err
	}
	for _, st := range steps[len(recorded):] {
		if err := rec.Step(tb.Context(), id, st); err != nil {
			return err
		}
	}
	return rec.Finish(tb.Context(), id, outcome(steps))
}

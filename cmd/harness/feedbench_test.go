package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/store"
)

// feedBench is a ledger whose groups a benchmark finishes one by one, served over loopback.
type feedBench struct {
	db   *store.Store
	run  store.Run
	feed *store.Feed
	refs []harness.EpisodeRef
	url  string

	batch int // groups per lease
}

func newFeedBench(b *testing.B, groups int) *feedBench {
	b.Helper()
	db, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), store.Config{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	var tasks []harness.Task
	for i := range groups {
		tasks = append(tasks, harness.Task{Env: "alfworld", ID: fmt.Sprint(i), Split: "train"})
	}
	f := &feedBench{db: db}
	if f.run, err = db.CreateRun(b.Context(), store.RunSpec{Name: "run", Panel: harness.Panel{Name: "p", Tasks: tasks}, GroupSize: 1}); err != nil {
		b.Fatal(err)
	}
	if f.refs, err = db.Pending(b.Context(), f.run.ID); err != nil {
		b.Fatal(err)
	}
	if f.feed, err = db.Feed(b.Context(), harness.FeedSpec{RunID: f.run.ID, Name: "bench", Credit: harness.PassNone}); err != nil {
		b.Fatal(err)
	}
	src := newLedgerSource(db, f.feed, feedPlan{run: f.run, sequences: feed.SequenceStep})
	server, err := feed.NewServer(feed.Config{Book: f.feed, Source: src, Versions: f.feed, Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	hs := httptest.NewServer(server.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	f.url = hs.URL
	b.Cleanup(func() {
		cancel()
		hs.CloseClientConnections()
		hs.Close()
		<-done
		db.Close()
	})
	return f
}

// finish records an episode of so many steps and ends it.
func (f *feedBench) finish(b *testing.B, i, steps, prompt, tokens int) {
	b.Helper()
	rec, r := f.db.Recorder(f.run.ID), rand.New(rand.NewPCG(uint64(i), 1))
	id, _, err := rec.Begin(b.Context(), f.refs[i])
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

// take leases a batch and reads it to its end; rows is 0 where there was none.
func (f *feedBench) take(b *testing.B, id string) (rows int) {
	b.Helper()
	resp, err := http.Post(f.url+"/v1/lease", "application/json", strings.NewReader(fmt.Sprintf(`{"lease":%q,"groups":%d,"wait_ms":60000}`, id, max(f.batch, 1))))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(resp.Body)
		b.Fatalf("%s: %s", resp.Status, raw)
	}
	_, got, err := feed.ReadArrow(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return len(got)
}

// BenchmarkFirstBatch measures the time from the end of a group's last episode until a waiting trainer
// has decoded its batch.
func BenchmarkFirstBatch(b *testing.B) {
	f := newFeedBench(b, b.N+1)
	var spans []float64
	for i := range b.N {
		got := make(chan time.Time, 1)
		go func() {
			f.take(b, fmt.Sprint(i))
			got <- time.Now()
		}()
		time.Sleep(20 * time.Millisecond) // let the trainer begin to wait
		f.finish(b, i, 5, 300, 100)
		ended := time.Now()
		spans = append(spans, (<-got).Sub(ended).Seconds()*1000)
		if err := f.feed.Ack(b.Context(), fmt.Sprint(i)); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(spans)
	b.ReportMetric(spans[len(spans)/2], "ms-median")
	b.ReportMetric(spans[len(spans)-1], "ms-max")
}

// BenchmarkFeedLedger delivers a run from the ledger, with prompts of 800 and responses of 400 tokens: batches
// of one group of 20 rows, whose cost is that of the lease, and batches of four groups of 160.
func BenchmarkFeedLedger(b *testing.B) {
	for _, c := range []struct {
		name          string
		groups, steps int
	}{{"small", 1, 20}, {"batch", 4, 160}} {
		b.Run(c.name, func(b *testing.B) { deliverLedger(b, c.groups, c.steps) })
	}
}

func deliverLedger(b *testing.B, groups, steps int) {
	const tokens = 400
	f := newFeedBench(b, groups)
	f.batch = groups
	for i := range groups {
		f.finish(b, i, steps, 800, tokens)
	}
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := range b.N {
		id := fmt.Sprint(i)
		if n := f.take(b, id); n != groups*steps {
			b.Fatalf("%d rows", n)
		}
		if err := f.feed.Return(b.Context(), id, ""); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	cpu := float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / 1e9
	b.ReportMetric(float64(b.N*groups*steps*tokens)/cpu, "tokens/cpu-s")
	b.ReportMetric(float64(b.N*groups*steps*tokens)/b.Elapsed().Seconds(), "tokens/s")
}

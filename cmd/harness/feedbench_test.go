package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
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
	dir  string // where the ledger is

	batch  int               // groups per lease
	scores harness.ScorePass // zero: the groups are neither scored nor given credit
}

// newFeedBench makes a ledger of so many groups of one episode, whose rows will have every column where all
// is set, and else those of a rollout.
func newFeedBench(b *testing.B, groups int, all bool) *feedBench {
	b.Helper()
	dir := b.TempDir()
	db, err := store.Open(b.Context(), filepath.Join(dir, "bench.db"), store.Config{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	var tasks []harness.Task
	for i := range groups {
		tasks = append(tasks, harness.Task{Env: "alfworld", ID: fmt.Sprint(i), Split: "train"})
	}
	f := &feedBench{db: db, dir: dir}
	if f.run, err = db.CreateRun(b.Context(), store.RunSpec{Name: "run", Panel: harness.Panel{Name: "p", Tasks: tasks}, GroupSize: 1}); err != nil {
		b.Fatal(err)
	}
	if f.refs, err = db.Pending(b.Context(), f.run.ID); err != nil {
		b.Fatal(err)
	}
	spec := harness.FeedSpec{RunID: f.run.ID, Name: "bench", Credit: harness.PassNone}
	if all {
		spec.Credit = harness.PassNewest
		if f.scores, err = db.OpenScorePass(b.Context(), harness.ScorePass{RunID: f.run.ID, Key: "scores", Mode: "m", Config: json.RawMessage("{}")}); err != nil {
			b.Fatal(err)
		}
	}
	if f.feed, err = db.Feed(b.Context(), spec); err != nil {
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
	var scores []harness.StepScore
	for s := range steps {
		t := &harness.Tokens{PromptIDs: slices.Clone(ids)}
		for range tokens {
			t.IDs = append(t.IDs, r.Int32N(150000))
			t.Logprobs = append(t.Logprobs, -float32(r.ExpFloat64()))
			t.Entropies = append(t.Entropies, float32(r.ExpFloat64()))
			t.Versions = append(t.Versions, 1)
		}
		ids[r.IntN(prompt)] = 7
		if f.scores.ID != 0 {
			scores = append(scores, f.score(b, r, id, i, s, tokens))
		}
		if err := rec.Step(b.Context(), id, harness.Step{Index: s, Response: "r", Anchor: "a", Next: harness.Observation{Text: "t"}, Tokens: t}); err != nil {
			b.Fatal(err)
		}
	}
	if err := rec.Finish(b.Context(), id, harness.Outcome{Stop: harness.StopMaxSteps, Steps: steps, Invalid: steps}); err != nil {
		b.Fatal(err)
	}
	if f.scores.ID != 0 {
		f.credit(b, i, tokens, scores)
	}
}

// score makes up a step's columns of a teacher.
func (f *feedBench) score(b *testing.B, r *rand.Rand, attempt int64, group, step, tokens int) harness.StepScore {
	b.Helper()
	s := harness.StepScore{Attempt: attempt, Step: step, Status: harness.ScoreDone, ActionMask: make([]bool, tokens)}
	for k, col := range []*harness.LogprobColumn{&s.Student, &s.Teacher} {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", group, step, k))
		copy(col.Key[:], sum[:])
		for j := range tokens {
			col.Values = append(col.Values, -float32(r.ExpFloat64()))
			s.ActionMask[j] = j >= tokens*9/10
		}
	}
	if err := f.db.AddLogprobs(b.Context(), []harness.LogprobColumn{s.Student, s.Teacher}); err != nil {
		b.Fatal(err)
	}
	return s
}

// credit adds a finished group to the pass that the feed hands over.
func (f *feedBench) credit(b *testing.B, group, tokens int, scores []harness.StepScore) {
	b.Helper()
	if err := f.db.SaveScores(b.Context(), f.scores.ID, group, "print", scores); err != nil {
		b.Fatal(err)
	}
	steps, err := f.db.FeedSteps(b.Context(), f.run.ID, group, 0, f.scores.ID)
	if err != nil {
		b.Fatal(err)
	}
	config, err := json.Marshal(creditrun.DefaultConfig(credit.GRPO, true))
	if err != nil {
		b.Fatal(err)
	}
	var rows []store.Credit
	for i := range steps {
		c := store.Credit{Step: steps[i].StepID, Base: 1, Factor: 1, Tokens: make([]float32, tokens)}
		for j, v := range steps[i].Scored.Teacher.Values {
			c.Tokens[j] = 1 - v/10
		}
		rows = append(rows, c)
	}
	pass := store.CreditPass{RunID: f.run.ID, Key: "credit", Scores: f.scores.Key, CodeVersion: "v", Config: config, Report: json.RawMessage("{}")}
	if _, err := f.db.GrowCreditPass(b.Context(), pass, rows); err != nil {
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
// has decoded its batch. The batch's lease is on disk before it is answered, and the trainer sleeps until
// then: how long the machine takes to write as much and to wake who sleeps is measured beside it.
func BenchmarkFirstBatch(b *testing.B) {
	f := newFeedBench(b, b.N+1, false)
	bare, err := os.Create(filepath.Join(f.dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	var spans, syncs, sleeps []float64
	for i := range b.N {
		got := make(chan time.Time, 1)
		go func() {
			f.take(b, fmt.Sprint(i))
			got <- time.Now()
		}()
		slept := time.Now()
		time.Sleep(20 * time.Millisecond) // let the trainer begin to wait
		sleeps = append(sleeps, (time.Since(slept)-20*time.Millisecond).Seconds()*1000)
		f.finish(b, i, 5, 300, 100)
		ended := time.Now()
		spans = append(spans, (<-got).Sub(ended).Seconds()*1000)
		if _, err := f.feed.Ack(b.Context(), fmt.Sprint(i)); err != nil {
			b.Fatal(err)
		}
		wrote := time.Now()
		if _, err := bare.Write(make([]byte, 16<<10)); err != nil { // at its end, as to a log
			b.Fatal(err)
		}
		if err := bare.Sync(); err != nil {
			b.Fatal(err)
		}
		syncs = append(syncs, time.Since(wrote).Seconds()*1000)
	}
	for what, v := range map[string][]float64{"ms": spans, "sync-ms": syncs, "late-ms": sleeps} {
		slices.Sort(v)
		b.ReportMetric(v[len(v)/2], what+"-median")
		b.ReportMetric(v[len(v)-1], what+"-max")
	}
}

// BenchmarkFeedLedger delivers a run from the ledger, with prompts of 800 and responses of 400 tokens: batches
// of one group of 20 rows, whose cost is that of the lease, and batches of four groups of 160, with the columns of
// a rollout and with all.
func BenchmarkFeedLedger(b *testing.B) {
	for _, c := range []struct {
		name          string
		groups, steps int
		all           bool
	}{{"small", 1, 20, false}, {"batch", 4, 160, false}, {"all", 4, 160, true}} {
		b.Run(c.name, func(b *testing.B) { deliverLedger(b, c.groups, c.steps, c.all) })
	}
}

func deliverLedger(b *testing.B, groups, steps int, all bool) {
	const tokens = 400
	f := newFeedBench(b, groups, all)
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
		if _, err := f.feed.Return(b.Context(), id, ""); err != nil {
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

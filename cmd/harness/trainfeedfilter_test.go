package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/store"
)

// TestTrainFeedFiltersGroups: groups whose episodes are all alike reach no trainer, others are played in
// their place until the trainer has what it asks for, and the ledger says which were left out and why.
func TestTrainFeedFiltersGroups(t *testing.T) {
	t.Parallel()
	// The expert wins where it has time enough, and errs now and then: groups of both kinds.
	l := startLoop(t, filepath.Join(t.TempDir(), "t.db"), `
run: r
collect: {policy: "expert:0.3", tasks: 4, group: 3, max-steps: 12, workers: 4}
credit: {filter_groups: {enable: true}}
serve: {listen: "ADDR"}
pace: {groups_per_update: 4, max_staleness: 0}
log: {level: error}
`)
	sent := map[int32]map[float64]bool{} // the returns of each group
	for update := range 2 {
		id := fmt.Sprint("update-", update)
		h, rows, _ := l.take(id, 4, 4, 60000)
		if len(h.Groups) != 4 {
			t.Fatalf("update %d: groups %v", update, h.Groups)
		}
		for i := range rows {
			r := &rows[i]
			if sent[r.Group] == nil {
				sent[r.Group] = map[float64]bool{}
			}
			sent[r.Group][r.RewardParts.Episode] = true
		}
		l.ack(id)
		l.version(update+1, "")
	}
	l.cancel()
	l.end()
	for g, returns := range sent {
		if len(returns) == 1 {
			t.Errorf("group %d was sent, and all its episodes returned %v", g, returns)
		}
	}
	l.readDB(func(db *store.Store, run store.Run) {
		said := 0
		for e, err := range db.Events(t.Context(), run.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == store.EventDropped {
				said++
				if !strings.Contains(e.Message, "filter_groups by seq_reward: group ") || !strings.Contains(e.Message, "dropped: all 3 trajectories returned ") {
					t.Errorf("event %q", e.Message)
				}
			}
		}
		if said == 0 {
			t.Error("no group was left out, or nobody said so")
		}
	})
}

// TestTrainFeedEndsWithoutSignal: where no task can be solved, the bound on batches ends the run with what
// to do about it; what was played stays.
func TestTrainFeedEndsWithoutSignal(t *testing.T) {
	t.Parallel()
	l := startLoop(t, filepath.Join(t.TempDir(), "t.db"), `
run: r
collect: {policy: expert, tasks: 2, group: 2, max-steps: 1}
credit: {filter_groups: {enable: true, metric: acc}}
serve: {listen: "ADDR"}
pace: {groups_per_update: 2, max_num_gen_batches: 3}
log: {level: error}
`)
	if code := l.end(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"6 groups were played and 0 of them carry a signal: pace.max_num_gen_batches is 3, and 2 fill a batch", "hint: the tasks are too hard or too easy"} {
		if text := l.stderr.String(); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	l.readDB(func(db *store.Store, run store.Run) {
		dropped := 0
		for e, err := range db.Events(t.Context(), run.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == store.EventDropped {
				dropped++
			}
		}
		if dropped != 6 {
			t.Errorf("%d groups are noted as left out, want 6", dropped)
		}
	})
}

// TestInformedCountsBatches follows verl: a batch that fills resets the count, one that does not is bounded.
func TestInformedCountsBatches(t *testing.T) {
	t.Parallel()
	var s informed
	play := func(kinds string) error {
		for i, k := range kinds {
			if k == '+' {
				s.keep(i, 2)
			} else if err := s.drop(2, 2); err != nil {
				return err
			}
		}
		return nil
	}
	if err := play("--+-"); err == nil || !strings.Contains(err.Error(), "4 groups were played and 1 of them") {
		t.Errorf("two batches did not fill one: %v", err)
	}
	s = informed{}
	if err := play("--++-+-+---"); err != nil {
		t.Errorf("each batch was filled in time: %v", err)
	}
	if err := play("-"); err == nil {
		t.Error("the last batch is short")
	}
	s = informed{}
	for range 100 {
		if err := s.drop(2, 0); err != nil {
			t.Fatal(err)
		}
	}
	for g := range maxAges + 10 {
		s.keep(g, 0)
	}
	if len(s.kept) > maxAges {
		t.Errorf("%d groups are remembered", len(s.kept))
	}
}

// TestServeGivesFilteredGroupsUp: what a credit pass left out is given up by the feed with the pass's
// reason, so that a feed that is to be drained ends.
func TestServeGivesFilteredGroupsUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	file := filepath.Join(t.TempDir(), "credit.yaml")
	if err := os.WriteFile(file, []byte("filter_groups: {enable: true}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"rollout", "--db", path, "--name", "r", "--policy", "expert:0.3", "--tasks", "6", "--group", "3", "--max-steps", "12", "--quiet"},
		{"credit", "--db", path, "--config", file},
	} {
		if code, out, stderr := inMemory(never(t), nil, args...); code != exitOK {
			t.Fatalf("%s: %d\n%s%s", args[0], code, out, stderr)
		}
	}
	db, err := store.OpenFeeds(t.Context(), path, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run, err := db.RunByName(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	spec := harness.FeedSpec{RunID: run.ID, Name: "f"}
	book, err := db.Feed(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	src := newLedgerSource(db, book, feedPlan{run: run, spec: spec})
	c, err := src.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.Dropped == 0 || c.Ready == 0 || c.Dropped+c.Ready != 6 || c.Waiting != 0 {
		t.Fatalf("counts %+v", c)
	}
	again, err := src.Counts(t.Context())
	if err != nil || again != c {
		t.Errorf("counts %+v, %v", again, err)
	}
	for e, err := range db.Events(t.Context(), run.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == store.EventDropped && !strings.Contains(e.Message, "from feed f: credit pass 1: filter_groups by seq_reward: group ") {
			t.Errorf("event %q", e.Message)
		}
	}
}

// TestServeKeepsGroupsThatGrew: a group that a credit pass judged while its episodes were still played is not
// given up by that judgement; it waits for a pass over all of them.
func TestServeKeepsGroupsThatGrew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	db, err := store.Open(t.Context(), path, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			db.Close()
		}
	}()
	panel := harness.Panel{Name: "p", Tasks: []harness.Task{{Env: "e", ID: "a", Split: "s"}, {Env: "e", ID: "b", Split: "s"}, {Env: "e", ID: "c", Split: "s"}}}
	run, err := db.CreateRun(t.Context(), store.RunSpec{Name: "r", Panel: panel, GroupSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	rec := db.Recorder(run.ID)
	play := func(ref harness.EpisodeRef, reward float64) {
		t.Helper()
		id, _, err := rec.Begin(t.Context(), ref)
		if err == nil {
			err = rec.Step(t.Context(), id, harness.Step{Response: "x", Action: "x", Valid: true, Reward: reward, Done: true, Next: harness.Observation{Text: "t"}})
		}
		if err == nil {
			err = rec.Finish(t.Context(), id, harness.Outcome{Stop: harness.StopDone, Reward: reward, Steps: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refs, err := db.Pending(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	var last []harness.EpisodeRef
	for _, ref := range refs { // group 0 differs; in group 1 and 2 all are alike so far, and 1 goes on
		if ref.Group == 1 && ref.Sample == 2 {
			last = append(last, ref)
			continue
		}
		play(ref, float64(ref.Sample*(1-min(ref.Group, 1))))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	closed = true
	file := filepath.Join(t.TempDir(), "credit.yaml")
	if err := os.WriteFile(file, []byte("filter_groups: {enable: true}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "credit", "--db", path, "--config", file)
	if db, err = store.Open(t.Context(), path, store.Config{Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	closed = false
	rec = db.Recorder(run.ID)
	for _, ref := range last {
		play(ref, 1)
	}
	spec := harness.FeedSpec{RunID: run.ID, Name: "f"}
	book, err := db.Feed(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	src := newLedgerSource(db, book, feedPlan{run: run, spec: spec})
	if c, err := src.Counts(t.Context()); err != nil || c.Ready != 1 || c.Dropped != 1 || c.Waiting != 1 {
		t.Errorf("counts %+v, %v", c, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	closed = true
	mustRun(t, "credit", "--db", path, "--config", file)
	feeds, err := store.OpenFeeds(t.Context(), path, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer feeds.Close()
	if book, err = feeds.Feed(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	src = newLedgerSource(feeds, book, feedPlan{run: run, spec: spec})
	if c, err := src.Counts(t.Context()); err != nil || c.Ready != 2 || c.Dropped != 1 {
		t.Errorf("counts after the next pass %+v, %v", c, err)
	}
}

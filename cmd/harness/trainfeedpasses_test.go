package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/store"
)

// TestTrainFeedEndsItsScorePasses: a pass runs while the loop does, is done after a stop in order, runs again
// when the loop goes on, and is done with all groups in its report at the end. So is the pass that a killed
// loop left behind under other weights; the pass of somebody else is left alone.
func TestTrainFeedEndsItsScorePasses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	config := smallRun + "rounds: 2\nscore: {mode: immediate_feedback}\npace: {max_backlog: 2}\n"

	l := startLoop(t, path, config)
	l.until("two groups", func(c harness.FeedCounts) bool { return c.Ready == 2 })
	checkPasses(t, l, map[int64]string{1: "running"})
	l.cancel()
	if code := l.end(); code != exitInterrupted {
		t.Fatalf("exit code %d", code)
	}
	checkPasses(t, l, map[int64]string{1: "done"})

	db, err := store.Open(t.Context(), path, store.Config{Now: memoryGlobals(nil, nil, nil).now})
	if err != nil {
		t.Fatal(err)
	}
	passes, err := db.ScorePasses(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	left := passes[0]
	var c map[string]any
	if err := json.Unmarshal(left.Config, &c); err != nil {
		t.Fatal(err)
	}
	c["teacher"].(map[string]any)["weights"] = "older"
	if left.Config, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	left.Key = "left-behind"
	other := left
	c["truncation"] = "another"
	if other.Config, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	other.Key = "of-somebody-else"
	for _, p := range []harness.ScorePass{left, other} {
		if _, err := db.OpenScorePass(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	l = startLoop(t, path, config)
	for n := 0; ; n++ {
		id := fmt.Sprint("lease-", n)
		_, rows, drained := l.take(id, 1, 1, 60000)
		if drained {
			break
		}
		if rows != nil {
			l.ack(id)
		}
	}
	if code := l.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	checkPasses(t, l, map[int64]string{1: "done", 2: "done", 3: "running"})
	l.readDB(func(db *store.Store, r store.Run) { checkScoreReport(t, db, r.ID, 6) })
}

func checkPasses(t *testing.T, l *loop, want map[int64]string) {
	t.Helper()
	l.readDB(func(db *store.Store, r store.Run) {
		passes, err := db.ScorePasses(t.Context(), r.ID)
		if err != nil || len(passes) != len(want) {
			t.Errorf("%d passes, %v, want %d", len(passes), err, len(want))
		}
		for _, p := range passes {
			if p.State != want[p.ID] {
				t.Errorf("pass %d is %s, want %s", p.ID, p.State, want[p.ID])
			}
		}
	})
}

// checkScoreReport holds the report of a run's first pass against what the pass holds.
func checkScoreReport(t *testing.T, db *store.Store, run int64, groups int) {
	t.Helper()
	passes, err := db.ScorePasses(t.Context(), run)
	if err != nil || len(passes) == 0 {
		t.Fatalf("%d passes, %v", len(passes), err)
	}
	var kept struct {
		Counts harness.ScoreCounts `json:"counts"`
		Check  *json.RawMessage    `json:"self_check"`
		Open   int                 `json:"open_episodes"`
	}
	if err := json.Unmarshal(passes[0].Report, &kept); err != nil {
		t.Fatal(err)
	}
	holds, err := db.ScoreCounts(t.Context(), passes[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if passes[0].State != scorePassDone || holds.Groups != groups || fmt.Sprint(kept.Counts) != fmt.Sprint(holds) || kept.Check == nil || kept.Open != 0 {
		t.Errorf("pass is %s, with the report %s; it holds %+v, want %d groups", passes[0].State, passes[0].Report, holds, groups)
	}
}

package store

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

func free(tb testing.TB, f *Feed, credit int64) []int {
	tb.Helper()
	got, err := f.Free(tb.Context(), credit)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

func counts(tb testing.TB, f *Feed) harness.FeedCounts {
	tb.Helper()
	c, err := f.Counts(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestDroppedGroupsReachNobody(t *testing.T) {
	t.Parallel()
	s, _, run, f := feedStore(t, 4, 2, 2, 5, nil)
	held := lease(t, f, ask("a", 1))
	drop := func(group int, want bool) {
		t.Helper()
		if got, err := f.Drop(t.Context(), group, "4 versions old"); err != nil || got != want {
			t.Errorf("drop group %d: %v, %v", group, got, err)
		}
	}
	drop(held.Groups[0].Index, false) // somebody has it
	drop(2, true)
	drop(2, false) // once
	drop(99, false)
	if diff := cmp.Diff([]int{1, 3}, free(t, f, 0)); diff != "" {
		t.Error(diff)
	}
	if got := indexes(lease(t, f, ask("b", 9))); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("leased %v", got)
	}
	if c := counts(t, f); c.Dropped != 1 || c.Held != 3 || c.Open+c.Waiting+c.Ready+c.Empty != 0 {
		t.Errorf("%+v", c)
	}
	other, err := s.Feed(t.Context(), harness.FeedSpec{RunID: run.ID, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if got := free(t, other, 0); len(got) != 4 {
		t.Errorf("another feed has %v", got)
	}
}

func TestLeaseWaitsForEnoughGroups(t *testing.T) {
	t.Parallel()
	_, _, _, f := feedStore(t, 3, 2, 2, 5, nil)
	req := ask("a", 4)
	req.Min = 4
	if got := lease(t, f, req); len(got.Groups) != 0 {
		t.Errorf("3 groups are ready, a request for 4 got %v", indexes(got))
	}
	req.Min = 3
	if got := lease(t, f, req); len(got.Groups) != 3 {
		t.Errorf("got %v", indexes(got))
	}
	req.ID, req.Min = "b", 5
	if _, err := f.Lease(t.Context(), req); err == nil || !strings.Contains(err.Error(), "at least 5 of at most 4") {
		t.Errorf("error %v", err)
	}
}

// TestCreditPassGrowsByGroups: what a pass does not have yet waits, and growing by the same rows twice changes
// nothing.
func TestCreditPassGrowsByGroups(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := recordedRun(t, s, 3, 2, 2, 5, nil)
	f, err := s.Feed(t.Context(), harness.FeedSpec{RunID: run.ID, Name: "default"})
	if err != nil {
		t.Fatal(err)
	}
	byGroup := map[int][]Credit{}
	for _, src := range sources(t, s, run.ID) {
		byGroup[src.Group] = append(byGroup[src.Group], randomCredits([]CreditSource{src}, 3)...)
	}
	pass := testPass(run.ID, "growing")
	if got := free(t, f, 0); !slices.Equal(got, []int{0, 1, 2}) {
		t.Fatalf("free before: %v", got)
	}
	for _, c := range []struct {
		group int
		rows  int
		free  []int
	}{{1, 4, []int{0, 2}}, {1, 4, []int{0, 2}}, {0, 8, []int{2}}} {
		p, err := s.GrowCreditPass(t.Context(), pass, byGroup[c.group])
		if err != nil || p.Rows != c.rows {
			t.Fatalf("group %d: %+v, %v", c.group, p, err)
		}
		if diff := cmp.Diff(c.free, free(t, f, p.ID)); diff != "" {
			t.Error(diff)
		}
	}
	if got := indexes(lease(t, f, ask("a", 9))); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("leased %v", got)
	}
	newest, err := s.NewestCreditPass(t.Context(), run.ID)
	if err != nil || newest.Key != "growing" {
		t.Errorf("%+v, %v", newest, err)
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("check: %v, %v", found, err)
	}
}

func TestRoundsFollowOneAnother(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 3, 2)
	add := func(round int, want bool, problem string) {
		t.Helper()
		got, err := s.AddRound(t.Context(), run.ID, round)
		if got != want || (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("round %d: %v, %v", round, got, err)
		}
	}
	add(0, false, "")
	add(2, false, "the run has 1 rounds")
	add(1, true, "")
	add(1, false, "")
	add(2, true, "")
	if n, err := s.Rounds(t.Context(), run.ID); n != 3 || err != nil {
		t.Errorf("%d rounds, %v", n, err)
	}
	refs := pending(t, s, run.ID)
	if len(refs) != 18 {
		t.Fatalf("%d episodes", len(refs))
	}
	for i, ref := range refs {
		if ref.Group != i/2 || ref.Round != i/6 || ref.Sample != i%2 || ref.Task.ID != testPanel(3).Tasks[i/2%3].ID {
			t.Errorf("episode %d: %+v", i, ref)
		}
	}
	if _, err := s.AddRound(t.Context(), 99, 1); err == nil {
		t.Error("a run that is not there got a round")
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("check: %v, %v", found, err)
	}
}

// TestCheckFindsBrokenLeases breaks the tables of a feed from outside in each way.
func TestCheckFindsBrokenLeases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, want string }{
		"sound":             {"SELECT 1", ""},
		"unknown state":     {"UPDATE leases SET state = 'lost' WHERE id = 1", "leases 1: state 'lost' is unknown"},
		"closed and held":   {"UPDATE leases SET closed_ms = 5 WHERE key = 'held'", "it is held with a time at which it was closed"},
		"acked and open":    {"UPDATE leases SET closed_ms = NULL WHERE key = 'acked'", "it is acked without a time"},
		"no group":          {"DELETE FROM feed_groups WHERE lease_id = 1", "leases 1: it is acked and has no group"},
		"returned":          {"UPDATE leases SET state = 'returned' WHERE key = 'acked'", "says that lease 1 has it, and that is returned"},
		"another feed":      {"INSERT INTO feeds VALUES (9, 1, 'x', 0); UPDATE feed_groups SET feed_id = 9 WHERE group_id = 1", "feed_groups 1: it is of feed 9, its lease of feed 1"},
		"rows":              {"UPDATE feed_groups SET rows = 77 WHERE group_id = 1", "feed_groups 1: feed 1 delivered 77 rows of it, it has 4"},
		"without credit":    {"DELETE FROM credits WHERE step_id IN (SELECT s.id FROM steps s JOIN episodes e ON e.attempt_id = s.attempt_id WHERE e.group_id = 1)", "feed_groups 1: feed 1 delivered it under credit pass 1, which has no row of it"},
		"dropped and given": {"INSERT INTO feed_dropped VALUES (1, 1, '', 0)", "feed_dropped 1: feed 1 gave it up, and lease 1 has it"},
		"versions": {
			"INSERT INTO policy_versions (run_id, version, consumer, posted_ms) VALUES (1, 2, '', 0)",
			"policy_versions 2: version 2 of run 1 was posted after version 3",
		},
		"round": {"UPDATE groups SET round = 1 WHERE id = 4", "round"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			s, err := Open(t.Context(), path, Config{Now: testClock()})
			if err != nil {
				t.Fatal(err)
			}
			run := recordedRun(t, s, 4, 2, 2, 5, nil)
			creditRun(t, s, run, "pass")
			f, err := s.Feed(t.Context(), harness.FeedSpec{RunID: run.ID, Name: "default"})
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"acked", "held", "returned"} {
				req := ask(id, 1)
				req.TTL = time.Hour
				lease(t, f, req)
			}
			if _, err := f.Ack(t.Context(), "acked"); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Return(t.Context(), "returned", ""); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Drop(t.Context(), 3, "stale"); err != nil {
				t.Fatal(err)
			}
			if err := f.PostVersion(t.Context(), 3, "trainer"); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			shell(t, path, "PRAGMA foreign_keys = 0; PRAGMA ignore_check_constraints = 1; "+c.sql)
			found, err := openTest(t, path).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, func(v Violation) bool { return strings.Contains(v.String(), c.want) }) {
				t.Errorf("found %v, want %q", found, c.want)
			}
		})
	}
}

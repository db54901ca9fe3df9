package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

// handClock is a clock that a test moves.
type handClock struct{ ms atomic.Int64 }

func (h *handClock) now() time.Time          { return time.UnixMilli(1_800_000_000_000 + h.ms.Load()) }
func (h *handClock) advance(d time.Duration) { h.ms.Add(d.Milliseconds()) }

// feedStore is a ledger with a recorded and credited run, and a feed of it.
func feedStore(tb testing.TB, tasks, group, length, tokens int, bad func(harness.EpisodeRef) bool) (*Store, *handClock, Run, *Feed) {
	tb.Helper()
	clock := &handClock{}
	s, err := Open(tb.Context(), filepath.Join(tb.TempDir(), "feed.db"), Config{Now: clock.now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	run := recordedRun(tb, s, tasks, group, length, tokens, bad)
	creditRun(tb, s, run, "pass-1")
	f, err := s.Feed(tb.Context(), harness.FeedSpec{RunID: run.ID, Name: "default"})
	if err != nil {
		tb.Fatal(err)
	}
	return s, clock, run, f
}

func creditRun(tb testing.TB, s *Store, run Run, key string) CreditPass {
	tb.Helper()
	pass, err := s.AddCreditPass(tb.Context(), testPass(run.ID, key), randomCredits(sources(tb, s, run.ID), 5))
	if err != nil {
		tb.Fatal(err)
	}
	return pass
}

func ask(id string, groups int) harness.LeaseRequest {
	return harness.LeaseRequest{ID: id, Consumer: "trainer", Groups: groups, TTL: time.Minute}
}

func lease(tb testing.TB, f *Feed, req harness.LeaseRequest) harness.Lease {
	tb.Helper()
	l, err := f.Lease(tb.Context(), req)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func indexes(l harness.Lease) []int {
	var out []int
	for _, g := range l.Groups {
		out = append(out, g.Index)
	}
	return out
}

func TestLeaseGoesAckedReturnedExpired(t *testing.T) {
	t.Parallel()
	_, clock, _, f := feedStore(t, 4, 2, 3, 10, nil)
	a := lease(t, f, ask("a", 2))
	if diff := cmp.Diff([]int{0, 1}, indexes(a)); diff != "" || a.State != harness.LeaseHeld || a.Credit != 1 {
		t.Fatalf("first lease: %+v %s", a, diff)
	}
	if g := a.Groups[0]; g.Rows != 6 || g.Tokens != 60 || g.PromptTokens == 0 {
		t.Errorf("group sizes: %+v", g)
	}
	b := lease(t, f, ask("b", 5))
	if diff := cmp.Diff([]int{2, 3}, indexes(b)); diff != "" {
		t.Fatal(diff)
	}
	if c := lease(t, f, ask("c", 1)); len(c.Groups) != 0 {
		t.Errorf("all groups are held and a third lease got %v", indexes(c))
	}
	if _, err := f.Ack(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Ack(t.Context(), "a"); err != nil {
		t.Errorf("second acknowledgement: %v", err)
	}
	if _, err := f.Return(t.Context(), "a", ""); !errors.Is(err, harness.ErrLeaseClosed) {
		t.Errorf("return of an acknowledged lease: %v", err)
	}
	if _, err := f.Lease(t.Context(), ask("a", 1)); !errors.Is(err, harness.ErrLeaseClosed) {
		t.Errorf("lease under a closed id: %v", err)
	}
	if again := lease(t, f, ask("b", 1)); cmp.Diff(indexes(b), indexes(again)) != "" {
		t.Errorf("the same request gave %v, then %v", indexes(b), indexes(again))
	}
	if _, err := f.Return(t.Context(), "b", "out of memory"); err != nil {
		t.Fatal(err)
	}
	d := lease(t, f, ask("d", 1))
	clock.advance(2 * time.Minute)
	e := lease(t, f, ask("e", 2))
	if diff := cmp.Diff([]int{2, 3}, indexes(e)); diff != "" || len(d.Groups) != 1 {
		t.Fatalf("after the first lease ran out: %v %v", indexes(d), indexes(e))
	}
	if _, err := f.Ack(t.Context(), "d"); !errors.Is(err, harness.ErrLeaseClosed) {
		t.Errorf("acknowledgement after somebody else took the group: %v", err)
	}
	clock.advance(2 * time.Minute)
	if _, err := f.Ack(t.Context(), "e"); err != nil {
		t.Errorf("a late acknowledgement that harms nobody: %v", err)
	}
	if _, err := f.Ack(t.Context(), "never"); !errors.Is(err, harness.ErrLeaseUnknown) {
		t.Errorf("unknown lease: %v", err)
	}
	got, err := f.Counts(t.Context())
	want := harness.FeedCounts{Acked: 4, Rows: 24, Tokens: 240, Returned: 1, Expired: 1}
	if err != nil || got != want || !got.Drained() {
		t.Errorf("counts %+v, want %+v (%v)", got, want, err)
	}
}

func TestExtendKeepsALease(t *testing.T) {
	t.Parallel()
	_, clock, _, f := feedStore(t, 1, 1, 1, 4, nil)
	lease(t, f, ask("a", 1))
	clock.advance(50 * time.Second)
	until, err := f.Extend(t.Context(), "a", time.Minute)
	if err != nil || !until.Equal(clock.now().Add(time.Minute)) {
		t.Fatalf("extend: %v %v", until, err)
	}
	clock.advance(50 * time.Second)
	if l := lease(t, f, ask("b", 1)); len(l.Groups) != 0 {
		t.Error("an extended lease was taken back")
	}
	clock.advance(20 * time.Second)
	if l := lease(t, f, ask("b", 1)); len(l.Groups) != 1 {
		t.Error("the group did not come back")
	}
	if _, err := f.Extend(t.Context(), "a", time.Minute); !errors.Is(err, harness.ErrLeaseClosed) {
		t.Errorf("extend of an expired lease: %v", err)
	}
}

func TestLeaseBoundsTokens(t *testing.T) {
	t.Parallel()
	_, _, _, f := feedStore(t, 3, 1, 2, 10, nil)
	req := ask("a", 3)
	req.Tokens = 1
	l := lease(t, f, req)
	if len(l.Groups) != 1 {
		t.Fatalf("a bound below one group: got %v", indexes(l))
	}
	req = ask("b", 3)
	req.Tokens = l.Groups[0].Tokens + l.Groups[0].PromptTokens + 1
	if l := lease(t, f, req); len(l.Groups) != 1 {
		t.Errorf("got %v", indexes(l))
	}
}

func TestOnlyFinishedAndCreditedGroupsAreLeased(t *testing.T) {
	t.Parallel()
	clock := &handClock{}
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), Config{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := testRun(t, s, 3, 2)
	refs, rec := pending(t, s, run.ID), s.Recorder(run.ID)
	f, err := s.Feed(t.Context(), harness.FeedSpec{RunID: run.ID, Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := s.Feed(t.Context(), harness.FeedSpec{RunID: run.ID, Name: "plain", Credit: harness.PassNone})
	if err != nil {
		t.Fatal(err)
	}
	finish := func(i int) {
		if err := record(t, rec, refs[i], []harness.Step{newGame(uint64(i), 5).step()}); err != nil {
			t.Fatal(err)
		}
	}
	finish(0)
	finish(2)
	finish(3)
	if l := lease(t, f, ask("a", 9)); len(l.Groups) != 0 {
		t.Errorf("no credit pass yet and %v", indexes(l))
	}
	if l := lease(t, plain, ask("a", 9)); cmp.Diff([]int{1}, indexes(l)) != "" {
		t.Errorf("without credit the finished group is ready, got %v", indexes(l))
	}
	creditRun(t, s, run, "one")
	if l := lease(t, f, ask("a", 9)); cmp.Diff([]int{1}, indexes(l)) != "" {
		t.Errorf("got %v", indexes(l))
	}
	finish(1)
	got, err := f.Counts(t.Context())
	if want := (harness.FeedCounts{Open: 1, Waiting: 1, Held: 1}); err != nil || got != want {
		t.Errorf("counts %+v, want %+v (%v)", got, want, err)
	}
	second := creditRun(t, s, run, "two")
	if l := lease(t, f, ask("b", 9)); cmp.Diff([]int{0}, indexes(l)) != "" || l.Credit != second.ID {
		t.Errorf("got %+v", l)
	}
}

func TestFailedGroupIsEmpty(t *testing.T) {
	t.Parallel()
	_, _, _, f := feedStore(t, 2, 2, 2, 5, func(r harness.EpisodeRef) bool { return r.Group == 0 || r.Sample == 0 })
	l := lease(t, f, ask("a", 9))
	if len(l.Groups) != 1 || l.Groups[0].Index != 1 || l.Groups[0].Rows != 2 {
		t.Errorf("got %+v", l)
	}
	if got, err := f.Counts(t.Context()); err != nil || got.Empty != 1 || got.Held != 1 {
		t.Errorf("counts %+v (%v)", got, err)
	}
}

func TestFeedsOfOtherNamesGetEverythingAgain(t *testing.T) {
	t.Parallel()
	s, _, run, f := feedStore(t, 2, 1, 1, 5, nil)
	lease(t, f, ask("a", 2))
	g, err := s.Feed(t.Context(), harness.FeedSpec{RunID: run.ID, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if l := lease(t, g, ask("a", 2)); len(l.Groups) != 2 {
		t.Errorf("got %v", indexes(l))
	}
	if _, err := s.Feed(t.Context(), harness.FeedSpec{RunID: 99, Name: "x"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("feed of no run: %v", err)
	}
}

func TestPolicyVersionsOnlyGoUp(t *testing.T) {
	t.Parallel()
	s, _, run, f := feedStore(t, 1, 1, 1, 1, nil)
	if v, err := f.Version(t.Context()); v != -1 || err != nil {
		t.Fatal(v, err)
	}
	for _, c := range []struct {
		post, then int32
		ok         bool
	}{{-1, -1, false}, {0, 0, true}, {3, 3, true}, {3, 3, true}, {2, 3, false}, {4, 4, true}} {
		err := f.PostVersion(t.Context(), c.post, "trainer")
		if (err == nil) != c.ok || err != nil && !errors.Is(err, harness.ErrVersionBackwards) {
			t.Errorf("post %d: %v", c.post, err)
		}
		if v, err := s.PolicyVersion(t.Context(), run.ID); v != c.then || err != nil {
			t.Errorf("after %d: %d, want %d (%v)", c.post, v, c.then, err)
		}
	}
	posted := 0
	for e, err := range s.Events(t.Context(), run.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == EventPolicyVersion {
			posted++
		}
	}
	if posted != 3 {
		t.Errorf("%d events, want 3", posted)
	}
}

// TestFeedStepsAreWhatWasStored compares every column with what the plain readers give.
func TestFeedStepsAreWhatWasStored(t *testing.T) {
	t.Parallel()
	s, _, run, _ := feedStore(t, 2, 2, 4, 12, nil)
	credits, err := s.Credits(t.Context(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	byStep := map[int64]Credit{}
	for _, c := range credits {
		byStep[c.Step] = c
	}
	seen, marked := 0, false
	for g := range 2 {
		got, err := s.FeedSteps(t.Context(), run.ID, g, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		episodes, err := s.GroupEpisodes(t.Context(), run.ID, g)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range episodes {
			for _, st := range e.Steps {
				f := got[0]
				got = got[1:]
				seen++
				c := byStep[f.StepID]
				want := harness.FeedStep{
					StepID: f.StepID, Episode: e.ID, Group: g, Sample: e.Sample, Index: st.Index, Task: e.Task, Reward: st.Reward,
					Score: st.Score, Won: st.Won, Valid: st.Valid, Outcome: e.Outcome, Tokens: st.Tokens,
					Credit: &harness.StepCredit{Base: c.Base, Factor: c.Factor, Tokens: c.Tokens},
				}
				want.Outcome.Steps = 0
				if offsets, err := st.Tokens.Spans(st.Response); err != nil {
					t.Fatal(err)
				} else if offsets != nil {
					want.Action = harness.MaskSpans(offsets, st.Spans)
					marked = marked || slices.Contains(want.Action, true)
				}
				if diff := cmp.Diff(want, f); diff != "" {
					t.Fatalf("episode %d, step %d: %s", e.ID, st.Index, diff)
				}
			}
		}
	}
	if !marked {
		t.Error("no action token is marked")
	}
	if seen != 16 {
		t.Errorf("%d steps, want 16", seen)
	}
}

func TestFeedStepsCarryScores(t *testing.T) {
	t.Parallel()
	s, _, run, _ := feedStore(t, 1, 1, 2, 3, nil)
	pass, err := s.OpenScorePass(t.Context(), harness.ScorePass{RunID: run.ID, Key: "k", Mode: "m", Config: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	student := harness.LogprobColumn{Key: harness.ContentKey{1}, Values: []float32{-1, -2, -3}}
	teacher := harness.LogprobColumn{Key: harness.ContentKey{2}, Values: []float32{-1.5, -1, 0}}
	if err := s.AddLogprobs(t.Context(), []harness.LogprobColumn{student, teacher}); err != nil {
		t.Fatal(err)
	}
	episodes, err := s.GroupEpisodes(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	scores := []harness.StepScore{
		{Attempt: episodes[0].Attempt, Step: 0, Status: harness.ScoreDone, Student: student, Teacher: teacher, ActionMask: []bool{false, true, true}},
		{Attempt: episodes[0].Attempt, Step: 1, Status: harness.ScoreNoContext},
	}
	if err := s.SaveScores(t.Context(), pass.ID, 0, "f", scores); err != nil {
		t.Fatal(err)
	}
	got, err := s.FeedSteps(t.Context(), run.ID, 0, 1, pass.ID)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	first := got[0].Scored
	if cmp.Diff(student.Values, first.Student.Values)+cmp.Diff(teacher.Values, first.Teacher.Values)+cmp.Diff(scores[0].ActionMask, first.ActionMask) != "" {
		t.Errorf("scored step: %+v", first)
	}
	if second := got[1].Scored; second.Status != harness.ScoreNoContext || second.Teacher.Values != nil || second.ActionMask != nil {
		t.Errorf("step without context: %+v", second)
	}
}

// TestRandomLeasesDeliverEachGroupOnce plays random requests against a plain model of the state machine.
func TestRandomLeasesDeliverEachGroupOnce(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	_, clock, _, f := feedStore(t, 12, 1, 1, 3, nil)
	type model struct {
		groups   []int
		consumer string
		expires  time.Time
		state    harness.LeaseState
	}
	leases := map[string]*model{}
	delivered := map[int]string{}
	for i := 0; len(delivered) < 12; i++ {
		if i > 20000 {
			t.Fatalf("only %d groups delivered", len(delivered))
		}
		clock.advance(time.Duration(rng.IntN(20)) * time.Second)
		n := rng.IntN(1 + i/4)
		if rng.IntN(2) == 0 { // one of the last
			n = max(0, i/4-rng.IntN(4))
		}
		id := fmt.Sprint("lease-", n)
		m := leases[id]
		op := rng.IntN(3)
		if rng.IntN(30) == 0 {
			op = 3
		}
		switch op {
		case 0:
			req := ask(id, 1+rng.IntN(3))
			req.Consumer = fmt.Sprint("trainer-", rng.IntN(2))
			l, err := f.Lease(t.Context(), req)
			if m != nil && m.state != harness.LeaseHeld {
				if !errors.Is(err, harness.ErrLeaseClosed) {
					t.Fatalf("%s is %s: %v", id, m.state, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if m != nil {
				if cmp.Diff(m.groups, indexes(l)) != "" {
					t.Fatalf("%s: %v became %v", id, m.groups, indexes(l))
				}
				m.expires = l.Expires
				continue
			}
			lapsed := map[string][]int{}
			for name, o := range leases {
				if o.state == harness.LeaseHeld && !o.expires.After(clock.now()) {
					o.state = harness.LeaseExpired
					lapsed[name] = o.groups
				}
			}
			said := map[string][]int{}
			for _, o := range l.Lapsed {
				said[o.ID] = indexes(o)
			}
			if diff := cmp.Diff(lapsed, said); diff != "" {
				t.Fatalf("leases that ran out: %s", diff)
			}
			if len(l.Groups) == 0 {
				continue
			}
			for _, g := range indexes(l) {
				if by, twice := delivered[g]; twice {
					t.Fatalf("group %d went to %s and is leased again", g, by)
				}
				for name, o := range leases {
					if o.state == harness.LeaseHeld && slices.Contains(o.groups, g) {
						t.Fatalf("group %d is held by %s", g, name)
					}
				}
			}
			leases[id] = &model{indexes(l), req.Consumer, l.Expires, harness.LeaseHeld}
		case 1:
			_, err := f.Ack(t.Context(), id)
			if m == nil || m.state == harness.LeaseReturned || m.state == harness.LeaseExpired {
				if err == nil {
					t.Fatalf("acknowledged %s, which is not held", id)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			m.state = harness.LeaseAcked
			for _, g := range m.groups {
				if by, twice := delivered[g]; twice && by != id {
					t.Fatalf("group %d went to %s and to %s", g, by, id)
				}
				delivered[g] = id
			}
		case 2:
			_, err := f.Return(t.Context(), id, "")
			held := m != nil && (m.state == harness.LeaseHeld || m.state == harness.LeaseReturned)
			if (err == nil) != held {
				t.Fatalf("return of %s (%+v): %v", id, m, err)
			}
			if held {
				m.state = harness.LeaseReturned
			}
		case 3:
			consumer, want, got := fmt.Sprint("trainer-", rng.IntN(2)), map[string][]int{}, map[string][]int{}
			for name, o := range leases {
				if o.state == harness.LeaseHeld && o.consumer == consumer {
					o.state = harness.LeaseReturned
					want[name] = o.groups
				}
			}
			back, err := f.Lost(t.Context(), consumer)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range back {
				got[l.ID] = indexes(l)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("what %s lost: %s", consumer, diff)
			}
		}
		held, err := f.Held(t.Context())
		if err != nil || !slices.IsSortedFunc(held, func(a, b harness.Lease) int { return a.Expires.Compare(b.Expires) }) {
			t.Fatalf("held leases: %+v, %v", held, err)
		}
		want, got := map[string][]int{}, map[string][]int{}
		for name, o := range leases {
			if o.state == harness.LeaseHeld {
				want[name+" "+o.consumer] = o.groups
			}
		}
		for _, l := range held {
			got[l.ID+" "+l.Consumer] = indexes(l)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("held leases: %s", diff)
		}
	}
}

func TestLeaseRefusesNonsense(t *testing.T) {
	t.Parallel()
	_, _, _, f := feedStore(t, 1, 1, 1, 1, nil)
	for _, bad := range []harness.LeaseRequest{
		{Groups: 1, TTL: time.Second},
		{ID: "a", TTL: time.Second},
		{ID: "a", Groups: 1},
		{ID: "a", Groups: 1, Tokens: -1, TTL: time.Second},
		{ID: "a\x00", Groups: 1, TTL: time.Second},
		{ID: "a", Consumer: "\xff", Groups: 1, TTL: time.Second},
	} {
		if l, err := f.Lease(t.Context(), bad); err == nil {
			t.Errorf("%+v gave %+v", bad, l)
		}
	}
	for _, bad := range []string{"", "a\x00", "\xff"} {
		if back, err := f.Lost(t.Context(), bad); err == nil {
			t.Errorf("consumer %q gave back %+v", bad, back)
		}
	}
}

func TestTwoFeedersExcludeEachOtherAndNoWriter(t *testing.T) {
	t.Parallel()
	s, clock, _, _ := feedStore(t, 1, 1, 1, 1, nil)
	a, err := OpenFeeds(t.Context(), s.Path(), Config{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := OpenFeeds(t.Context(), s.Path(), Config{Now: clock.now}); err == nil {
		t.Error("a second feeder opened the ledger")
	}
	if _, err := OpenFeeds(t.Context(), filepath.Join(t.TempDir(), "none.db"), Config{Now: clock.now}); !errors.Is(err, ErrNoLedger) {
		t.Errorf("a ledger that does not exist: %v", err)
	}
}

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

// recordedRun records a run of tasks × group episodes with length steps each; the episodes that bad
// picks fail.
func recordedRun(tb testing.TB, s *Store, tasks, group, length, tokens int, bad func(harness.EpisodeRef) bool) Run {
	tb.Helper()
	run := testRun(tb, s, tasks, group)
	rec := s.Recorder(run.ID)
	for i, ref := range pending(tb, s, run.ID) {
		g := newGame(uint64(i), tokens)
		var all []harness.Step
		for j := range length {
			st := g.step()
			if j == length-1 && i%2 == 0 {
				st.Reward, st.Won, st.Score, st.Done = 10, true, 1, true
			}
			all = append(all, st)
		}
		if bad != nil && bad(ref) {
			id, _, err := rec.Begin(tb.Context(), ref)
			if err != nil {
				tb.Fatal(err)
			}
			if err := rec.Step(tb.Context(), id, all[0]); err != nil {
				tb.Fatal(err)
			}
			if err := rec.Fail(tb.Context(), id, &harness.Failure{Kind: harness.FailEnv, Op: "step", Err: errors.New("broken")}, true); err != nil {
				tb.Fatal(err)
			}
			continue
		}
		if err := record(tb, rec, ref, all); err != nil {
			tb.Fatal(err)
		}
	}
	return run
}

func sources(tb testing.TB, s *Store, run int64) []CreditSource {
	tb.Helper()
	all, err := s.CreditSources(tb.Context(), run)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// TestCreditSourcesAreTheSteps compares the lean reading with the full one.
func TestCreditSourcesAreTheSteps(t *testing.T) {
	t.Parallel()
	for _, tokens := range []int{0, 30} {
		s := newTest(t)
		run := recordedRun(t, s, 3, 2, 5, tokens, func(r harness.EpisodeRef) bool { return r.Group == 1 && r.Sample == 0 })
		var want []CreditSource
		for e, err := range s.Episodes(t.Context(), run.ID, Filter{Status: []harness.Status{harness.StatusDone}}) {
			if err != nil {
				t.Fatal(err)
			}
			steps, err := s.EpisodeSteps(t.Context(), e.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range steps {
				c := CreditSource{
					Episode: e.ID, Group: e.Group, Sample: e.Sample, Index: st.Index, Return: e.Outcome.Reward, Score: e.Outcome.Score, Won: e.Outcome.Won,
					Reward: st.Reward, Valid: st.Valid, Anchor: st.Anchor, Tokens: -1,
				}
				if st.Tokens != nil {
					c.Tokens, c.Entropies = len(st.Tokens.IDs), st.Tokens.Entropies
				}
				want = append(want, c)
			}
		}
		got := sources(t, s, run.ID)
		if len(got) != 25 {
			t.Fatalf("%d sources of 5 done episodes with 5 steps", len(got))
		}
		for i := range got {
			got[i].Step = 0
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("tokens %d: %s", tokens, d)
		}
		_, done, failed, open, err := s.CreditInputs(t.Context(), run.ID)
		if err != nil || done != 5 || failed != 1 || open != 0 {
			t.Errorf("inputs: %d done, %d failed, %d open, %v", done, failed, open, err)
		}
	}
}

// TestCreditInputsFollowTheEpisodes: the hash changes when an episode is added and at no other time.
func TestCreditInputsFollowTheEpisodes(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 2, 1)
	hash := func() string {
		h, _, _, _, err := s.CreditInputs(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	seen := []string{hash()}
	for i, ref := range pending(t, s, run.ID) {
		g := newGame(uint64(i), 0)
		if err := record(t, s.Recorder(run.ID), ref, []harness.Step{g.step()}); err != nil {
			t.Fatal(err)
		}
		if again := hash(); again != hash() || again == seen[len(seen)-1] {
			t.Errorf("after episode %d the hash is %s, before it was %s", i, again, seen[len(seen)-1])
		} else {
			seen = append(seen, again)
		}
	}
	if _, _, _, _, err := s.CreditInputs(t.Context(), 99); !errors.Is(err, ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
}

func randomCredits(src []CreditSource, seed uint64) []Credit {
	r := rand.New(rand.NewPCG(seed, 2))
	out := make([]Credit, len(src))
	for i, c := range src {
		out[i] = Credit{Step: c.Step, Episode: c.Episode, Index: c.Index, Base: r.NormFloat64(), Factor: 1}
		if c.Tokens < 0 {
			continue
		}
		out[i].Tokens = make([]float32, c.Tokens)
		for j := range out[i].Tokens {
			out[i].Tokens[j] = float32(out[i].Base)
			if i%3 > 0 && j >= c.Tokens*9/10 {
				out[i].Tokens[j] = float32(r.NormFloat64())
				out[i].Weighted++
				out[i].WeightSum++
			}
		}
		out[i].WeightMin, out[i].WeightMax, out[i].Clipped = 0.8, 1.2, out[i].Weighted/2
	}
	return out
}

func testPass(run int64, key string) CreditPass {
	return CreditPass{
		RunID: run, Key: key, Scores: "abc", CodeVersion: "v1",
		Config: json.RawMessage(`{"a":1}`), Report: json.RawMessage(`{"b":[1,2]}`),
	}
}

func TestCreditsComeBackExactly(t *testing.T) {
	t.Parallel()
	for _, tokens := range []int{0, 17} {
		s := newTest(t)
		run := recordedRun(t, s, 2, 3, 4, tokens, nil)
		rows := randomCredits(sources(t, s, run.ID), 1)
		pass, err := s.AddCreditPass(t.Context(), testPass(run.ID, "key-1"), rows)
		if err != nil {
			t.Fatal(err)
		}
		want := testPass(run.ID, "key-1")
		want.ID, want.Created, want.Rows = pass.ID, pass.Created, len(rows)
		if d := cmp.Diff(want, pass); d != "" {
			t.Error(d)
		}
		got, err := s.Credits(t.Context(), pass.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(rows, got); d != "" {
			t.Errorf("tokens %d: %s", tokens, d)
		}
		one, err := s.Credits(t.Context(), pass.ID, rows[5].Episode)
		if err != nil || len(one) != 4 || one[1].Base != rows[5].Base {
			t.Errorf("rows of one episode: %d, %v", len(one), err)
		}
		if found, err := s.Check(t.Context()); err != nil || len(found) != 0 {
			t.Errorf("check: %v, %v", found, err)
		}
	}
}

// TestCreditPassIsWrittenOnce: the second writer of a key gets the first one's pass, and adds nothing.
func TestCreditPassIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := recordedRun(t, s, 1, 2, 3, 5, nil)
	src := sources(t, s, run.ID)
	first, err := s.AddCreditPass(t.Context(), testPass(run.ID, "key-1"), randomCredits(src, 1))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.AddCreditPass(t.Context(), testPass(run.ID, "key-1"), randomCredits(src, 2))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first, second); d != "" {
		t.Error(d)
	}
	if got, _ := s.Credits(t.Context(), first.ID, 0); len(got) != len(src) {
		t.Errorf("%d rows after two writes of %d", len(got), len(src))
	}
}

// TestBrokenCreditPassLeavesNothing: rows of a step that is not there, or of no number, take the whole
// pass with them, as a killed process does.
func TestBrokenCreditPassLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := recordedRun(t, s, 1, 2, 3, 5, nil)
	for name, spoil := range map[string]func(*Credit){
		"step":     func(c *Credit) { c.Step = 1 << 40 },
		"infinity": func(c *Credit) { c.Base = math.Inf(1) },
		"clipped":  func(c *Credit) { c.Clipped = c.Weighted + 1 },
		"nan":      func(c *Credit) { c.WeightSum = math.NaN() },
	} {
		rows := randomCredits(sources(t, s, run.ID), 1)
		spoil(&rows[4])
		if _, err := s.AddCreditPass(t.Context(), testPass(run.ID, "bad-"+name), rows); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, p := range []CreditPass{{RunID: run.ID, Config: json.RawMessage("{}"), Report: json.RawMessage("{}")}, {RunID: run.ID, Key: "k", Config: json.RawMessage("{"), Report: json.RawMessage("{}")}} {
		if _, err := s.AddCreditPass(t.Context(), p, nil); err == nil {
			t.Errorf("pass %+v: no error", p)
		}
	}
	if all, err := s.CreditPasses(t.Context(), 0); err != nil || len(all) != 0 {
		t.Errorf("passes left: %v, %v", all, err)
	}
}

func TestFindCreditPass(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := recordedRun(t, s, 1, 1, 1, 0, nil)
	for _, key := range []string{"abcdef01", "abcdef02", "fedcba99"} {
		if _, err := s.AddCreditPass(t.Context(), testPass(run.ID, key), nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"1": "abcdef01", "3": "fedcba99", "fedcba": "fedcba99", "abcdef02": "abcdef02", "abcdef": "", "fed": "", "9": "", "": "", "zzzzzz": ""} {
		p, err := s.FindCreditPass(t.Context(), name)
		if p.Key != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", name, p.Key, err, want)
		}
	}
	if of, err := s.CreditPasses(t.Context(), run.ID); err != nil || len(of) != 3 {
		t.Errorf("passes of the run: %d, %v", len(of), err)
	}
	if of, err := s.CreditPasses(t.Context(), run.ID+1); err != nil || len(of) != 0 {
		t.Errorf("passes of another run: %d, %v", len(of), err)
	}
}

// BenchmarkCredits reads the steps of a run for credit, writes a row for each and reads those back, and
// reports the seconds of each. A tenth of the tokens of two rows in three are weighted.
func BenchmarkCredits(b *testing.B) {
	for _, rows := range []int{10_000} { // the command's own benchmark has 100,000
		b.Run(fmt.Sprintf("rows=%d/tokens=200", rows), func(b *testing.B) { benchmarkCredits(b, rows) })
	}
}

func benchmarkCredits(b *testing.B, rows int) {
	const length = 50
	s := openTest(b, filepath.Join(b.TempDir(), "ledger.db"))
	run := testRun(b, s, rows/length/4, 4)
	work := make(chan harness.EpisodeRef)
	var wg sync.WaitGroup
	for range 64 { // many at once, so that they share commits
		wg.Go(func() {
			for ref := range work {
				g := newGame(uint64(ref.ID), 200)
				all := make([]harness.Step, length)
				for i := range all {
					all[i] = g.step()
				}
				if err := record(b, s.Recorder(run.ID), ref, all); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, ref := range pending(b, s, run.ID) {
		work <- ref
	}
	close(work)
	wg.Wait()
	var read, write, back time.Duration
	n := 0
	for b.Loop() {
		start := time.Now()
		src := sources(b, s, run.ID)
		read += time.Since(start)
		credits := randomCredits(src, 1)
		start = time.Now()
		pass, err := s.AddCreditPass(b.Context(), testPass(run.ID, fmt.Sprint("key-", n)), credits)
		if err != nil {
			b.Fatal(err)
		}
		write += time.Since(start)
		start = time.Now()
		if got, err := s.Credits(b.Context(), pass.ID, 0); err != nil || len(got) != rows {
			b.Fatal(len(got), err)
		}
		back += time.Since(start)
		n++
	}
	for name, d := range map[string]time.Duration{"read-s": read, "write-s": write, "readback-s": back} {
		b.ReportMetric(d.Seconds()/float64(n), name)
	}
}

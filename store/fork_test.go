package store

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hindsightrl/harness"
)

// branch makes the steps of a leaf of parent, as they should be read back: the parent's before the fork,
// a step that begins with the parent's tokens, and length-1 steps more.
func branch(parent []harness.Step, fork harness.Fork, seed uint64, length int) []harness.Step {
	all := []harness.Step(nil)
	for _, s := range parent[:fork.Step] {
		s.Shared, s.SharedTokens = true, 0
		if s.Tokens != nil {
			s.SharedTokens = len(s.Tokens.IDs)
		}
		all = append(all, s)
	}
	g := newGame(seed, 0)
	if parent[0].Tokens != nil {
		g.tokens = len(parent[0].Tokens.IDs)
	}
	g.index, g.prompt = fork.Step, parent[fork.Step].Prompt
	for i := range length {
		s := g.step()
		s.Reward, s.PolicyTime, s.EnvTime = float64(seed%7), 0, 0
		if i == 0 {
			s.Anchor, s.Admissible = parent[fork.Step].Anchor, parent[fork.Step].Admissible
		}
		if s.Tokens != nil && i == 0 {
			s.SharedTokens = fork.Token
			head, mine := parent[fork.Step].Tokens, s.Tokens
			mine.PromptIDs = head.PromptIDs
			mine.IDs = slices.Concat(head.IDs[:fork.Token], mine.IDs[fork.Token:])
			mine.Logprobs = slices.Concat(head.Logprobs[:fork.Token], mine.Logprobs[fork.Token:])
			mine.Entropies = slices.Concat(head.Entropies[:fork.Token], mine.Entropies[fork.Token:])
			mine.Versions = slices.Concat(head.Versions[:fork.Token], mine.Versions[fork.Token:])
		}
		all = append(all, s)
	}
	return all
}

func recordLeaf(tb testing.TB, rec *Recorder, ref harness.EpisodeRef, fork harness.Fork, steps []harness.Step) {
	tb.Helper()
	id, recorded, err := rec.BeginLeaf(tb.Context(), ref, fork)
	if err != nil {
		tb.Fatal(err)
	}
	if d := cmp.Diff(steps[:max(len(recorded), fork.Step)], recorded, cmpopts.EquateEmpty()); d != "" {
		tb.Fatalf("what the leaf begins with (-want +got):\n%s", d)
	}
	for _, st := range steps[len(recorded):] {
		if err := rec.Step(tb.Context(), id, st); err != nil {
			tb.Fatal(err)
		}
	}
	if err := rec.Finish(tb.Context(), id, outcome(steps)); err != nil {
		tb.Fatal(err)
	}
}

func played(seed uint64, tokens, length int) []harness.Step {
	g := newGame(seed, tokens)
	var all []harness.Step
	for range length {
		s := g.step()
		s.PolicyTime, s.EnvTime = 0, 0
		all = append(all, s)
	}
	return all
}

// A random tree, leaves of leaves among it, comes back whole from every reader.
func TestATreeComesBackWhole(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := newTest(t)
		const size = 9
		run := testRun(t, s, 1, size)
		refs, rec := pending(t, s, run.ID), s.Recorder(run.ID)
		tokens := []int{0, 25}[seed%2]
		want := [][]harness.Step{played(seed, tokens, 6)}
		forks := []harness.Fork{{}}
		if err := record(t, rec, refs[0], want[0]); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < size-1; i++ {
			p := r.IntN(i)
			f := harness.Fork{Parent: refs[p].ID, Step: forks[p].Step + r.IntN(len(want[p])-forks[p].Step)}
			if tokens > 0 {
				f.Token = r.IntN(tokens)
			}
			if p > 0 && !f.After(forks[p]) {
				f.Step = len(want[p]) - 1
				f.Token = max(f.Token, forks[p].Token+1)
				if f.Token >= max(tokens, 1) || !f.After(forks[p]) {
					p, f = 0, harness.Fork{Parent: refs[0].ID, Step: 2}
				}
			}
			forks = append(forks, f)
			want = append(want, branch(want[p], f, seed*100+uint64(i), 1+r.IntN(4)))
			recordLeaf(t, rec, refs[i], f, want[i])
		}
		if err := rec.Unused(t.Context(), refs[size-1:], "the token budget is spent"); err != nil {
			t.Fatal(err)
		}
		treeReadBack(t, s, run, refs, forks, want)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func treeReadBack(t *testing.T, s *Store, run Run, refs []harness.EpisodeRef, forks []harness.Fork, want [][]harness.Step) {
	t.Helper()
	clean(t, s)
	group, err := s.GroupEpisodes(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(group) != len(want) || len(pending(t, s, run.ID)) != 0 {
		t.Fatalf("the group has %d episodes, want %d", len(group), len(want))
	}
	sources, err := s.CreditSources(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	feed, err := s.FeedSteps(t.Context(), run.ID, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range group {
		if i > 0 && (g.Fork == nil || *g.Fork != forks[i]) || i == 0 && g.Fork != nil {
			t.Errorf("episode %d: fork %v, want %v", i, g.Fork, forks[i])
		}
		if d := cmp.Diff(want[i], g.Steps); d != "" {
			t.Fatalf("episode %d (-want +got):\n%s", i, d)
		}
		for _, st := range want[i] {
			src, f := sources[0], feed[0]
			sources, feed = sources[1:], feed[1:]
			if src.Episode != refs[i].ID || src.Index != st.Index || src.Anchor != st.Anchor || src.Shared != st.Shared || (src.Fork == nil) != (i == 0) {
				t.Errorf("credit source %+v of step %d of episode %d", src, st.Index, i)
			}
			if f.Episode != refs[i].ID || f.Shared != st.SharedTokens || (f.Fork == nil) != (i == 0) {
				t.Errorf("feed step %+v of step %d of episode %d", f, st.Index, i)
			}
			if d := cmp.Diff(st.Tokens, f.Tokens); d != "" {
				t.Errorf("tokens of the feed's step %d of episode %d (-want +got):\n%s", st.Index, i, d)
			}
			if st.Tokens != nil && (src.Tokens != len(st.Tokens.IDs) || !slices.Equal(src.Entropies, st.Tokens.Entropies)) {
				t.Errorf("entropies of step %d of episode %d differ", st.Index, i)
			}
		}
	}
	if len(sources)+len(feed) != 0 {
		t.Errorf("%d credit sources and %d feed steps too many", len(sources), len(feed))
	}
	places, err := s.UnusedPlaces(t.Context(), run.ID)
	if d := cmp.Diff([]UnusedPlace{{0, len(want), "the token budget is spent"}}, places); d != "" || err != nil {
		t.Errorf("unused places: %v (-want +got):\n%s", err, d)
	}
}

// A leaf that an interruption cut off goes on after what it holds, the shared steps among it.
func TestALeafIsResumed(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 2)
	refs, rec := pending(t, s, run.ID), s.Recorder(run.ID)
	root := played(1, 20, 5)
	if err := record(t, rec, refs[0], root); err != nil {
		t.Fatal(err)
	}
	fork := harness.Fork{Parent: refs[0].ID, Step: 2, Token: 7}
	want := branch(root, fork, 5, 3)
	id, recorded, err := rec.BeginLeaf(t.Context(), refs[1], fork)
	if err != nil || len(recorded) != 2 {
		t.Fatalf("%d steps, %v", len(recorded), err)
	}
	if err := rec.Step(t.Context(), id, want[2]); err != nil {
		t.Fatal(err)
	}
	again, recorded, err := rec.BeginLeaf(t.Context(), refs[1], fork)
	if err != nil || again != id {
		t.Fatalf("attempt %d, %v; want %d", again, err, id)
	}
	if d := cmp.Diff(want[:3], recorded); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	other := fork
	other.Token++
	if _, _, err := rec.BeginLeaf(t.Context(), refs[1], other); err == nil || !strings.Contains(err.Error(), "begun with another fork") {
		t.Errorf("got %v", err)
	}
	recordLeaf(t, rec, refs[1], fork, want)
	e, err := s.Episode(t.Context(), refs[1].ID)
	if err != nil || e.Fork == nil || *e.Fork != fork || e.Outcome.Steps != 5 {
		t.Errorf("%+v, %v", e, err)
	}
	clean(t, s)
}

func TestForksThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 2, 4)
	refs, rec := pending(t, s, run.ID), s.Recorder(run.ID)
	root := played(1, 20, 3)
	if err := record(t, rec, refs[0], root); err != nil {
		t.Fatal(err)
	}
	fork := harness.Fork{Parent: refs[0].ID, Step: 1, Token: 4}
	recordLeaf(t, rec, refs[1], fork, branch(root, fork, 5, 2))
	for want, f := range map[string]harness.Fork{
		"it names no parent":                      {Step: 1},
		"neither can be negative":                 {Parent: 1, Step: -1},
		"not in the ledger":                       {Parent: 99, Step: 1},
		"of another group":                        {Parent: refs[4].ID},
		"only a done episode":                     {Parent: refs[3].ID},
		"the parent has no such step":             {Parent: refs[0].ID, Step: 3},
		"the parent's response has no such token": {Parent: refs[0].ID, Step: 2, Token: 20},
		"shares that place with its own parent":   {Parent: refs[1].ID, Step: 1, Token: 4},
	} {
		if _, _, err := rec.BeginLeaf(t.Context(), refs[2], f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %s", f, err, want)
		}
	}
	for want, change := range map[string]func(*harness.Step){
		"fewer tokens":      func(s *harness.Step) { s.Tokens = nil },
		"prompt tokens":     func(s *harness.Step) { s.Tokens.PromptIDs = s.Tokens.PromptIDs[1:] },
		"its tokens":        func(s *harness.Step) { s.Tokens.IDs = slices.Concat([]int32{-1}, s.Tokens.IDs[1:]) },
		"log-probabilities": func(s *harness.Step) { s.Tokens.Logprobs = nil },
		"entropies":         func(s *harness.Step) { s.Tokens.Entropies = slices.Concat([]float32{9}, s.Tokens.Entropies[1:]) },
		"policy versions":   func(s *harness.Step) { s.Tokens.Versions = slices.Concat([]int32{9}, s.Tokens.Versions[1:]) },
	} {
		id, _, err := rec.BeginLeaf(t.Context(), refs[2], fork)
		if err != nil {
			t.Fatal(err)
		}
		st := branch(root, fork, 6, 1)[1]
		change(&st)
		if err := rec.Step(t.Context(), id, st); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := rec.Unused(t.Context(), refs[1:2], "x"); err == nil || !strings.Contains(err.Error(), "was attempted") {
		t.Errorf("got %v", err)
	}
	if err := rec.Unused(t.Context(), refs[3:4], ""); err == nil {
		t.Error("a place was given up for no reason")
	}
	if err := errors.Join(rec.Unused(t.Context(), refs[3:4], "x"), rec.Unused(t.Context(), refs[3:4], "x")); err != nil {
		t.Errorf("given up twice: %v", err)
	}
}

// Shared steps cost a few bytes each: no prompt, response or token is stored again.
func TestSharedStepsAreNotStoredTwice(t *testing.T) {
	t.Parallel()
	const length, leaves = 20, 30
	size := func(at int) int64 { // of a ledger with leaves that have one step of their own, after so many shared ones
		path := filepath.Join(t.TempDir(), "ledger.db")
		s, err := Open(t.Context(), path, Config{Now: testClock()})
		if err != nil {
			t.Fatal(err)
		}
		run := testRun(t, s, 1, leaves+1)
		refs, rec := pending(t, s, run.ID), s.Recorder(run.ID)
		root := played(1, 60, length)
		if err := record(t, rec, refs[0], root); err != nil {
			t.Fatal(err)
		}
		f := harness.Fork{Parent: refs[0].ID, Step: at}
		for _, ref := range refs[1:] {
			recordLeaf(t, rec, ref, f, branch(root, f, 3, 1))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	if per := (size(length-1) - size(0)) / (leaves * (length - 1)); per > 120 {
		t.Errorf("a shared step takes %d bytes, want a row of numbers and no more", per)
	}
}

// What a tree's dump says does not depend on the order in which its episodes were recorded.
func TestDumpOfATreeDependsOnWhatHappened(t *testing.T) {
	t.Parallel()
	dump := func(order []int, interrupt bool) string {
		s := newTest(t)
		run := testRun(t, s, 1, 4)
		refs, rec := pending(t, s, run.ID), s.Recorder(run.ID)
		root := played(1, 20, 4)
		if err := record(t, rec, refs[0], root); err != nil {
			t.Fatal(err)
		}
		for _, i := range order {
			f := harness.Fork{Parent: refs[0].ID, Step: i, Token: 3}
			if interrupt {
				if _, _, err := rec.BeginLeaf(t.Context(), refs[i], f); err != nil {
					t.Fatal(err)
				}
			}
			recordLeaf(t, rec, refs[i], f, branch(root, f, uint64(i), 2))
		}
		if err := rec.Unused(t.Context(), refs[3:], "no fork is left"); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := s.DumpCanonical(t.Context(), run.ID, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	a, b := dump([]int{1, 2}, false), dump([]int{2, 1}, true)
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("(-one order +the other):\n%s", d)
	}
	for _, want := range []string{"fork parent=0 step=2 token=3", " shared step=true tokens=20", " shared step=false tokens=3", `unused group=0 sample=3 reason="no fork is left"`} {
		if !strings.Contains(a, want) {
			t.Errorf("the dump lacks %q", want)
		}
	}
}

func TestCheckFindsABrokenTree(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "whole.db")
	s, err := Open(context.Background(), whole, Config{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	run := testRun(t, s, 1, 4)
	refs, rec := pending(t, s, run.ID), s.Recorder(run.ID)
	root := played(1, 20, 4)
	if err := record(t, rec, refs[0], root); err != nil {
		t.Fatal(err)
	}
	f := harness.Fork{Parent: refs[0].ID, Step: 2, Token: 3}
	leaf := branch(root, f, 2, 2)
	recordLeaf(t, rec, refs[1], f, leaf)
	f2 := harness.Fork{Parent: refs[1].ID, Step: 3}
	recordLeaf(t, rec, refs[2], f2, branch(leaf, f2, 3, 1))
	if err := errors.Join(rec.Unused(t.Context(), refs[3:], "over"), s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sql, want string
		repair    bool
	}{
		{"UPDATE forks SET parent_id = 2 WHERE attempt_id = 2", "forks 2: its parent is attempt 2, which is done", false},
		{"UPDATE forks SET step = 9 WHERE attempt_id = 2", "forks 2: it forks at step 9, token 3, which attempt 1 does not have", false},
		{"UPDATE forks SET token = 20 WHERE attempt_id = 2", "forks 2: it forks at step 2, token 20, which attempt 1 does not have", false},
		{"UPDATE forks SET step = 1 WHERE attempt_id = 3", "forks 3: it forks where attempt 2 shares with its own parent", false},
		{"UPDATE forks SET step = 1 WHERE attempt_id = 2", "forks 2: it shares 2 steps, the fork is at step 1", false},
		{"DELETE FROM forks WHERE attempt_id = 3", "it is shared, and its attempt has no fork", false},
		{"UPDATE steps SET shared_id = 2 WHERE shared_id = 1", "it is shared, and the parent has another step there", false},
		{"UPDATE steps SET reward = 4 WHERE shared_id = 1 AND attempt_id = 2", "it differs from step 1, whose content it shares", true},
		{"INSERT INTO tokens (step_id, n, n_prompt, top_k) SELECT id, 0, 0, 0 FROM steps WHERE shared_id = 1 AND attempt_id = 2", "it is shared and has tokens of its own", true},
		{"UPDATE unused SET sample = 0", "unused: sample 0 of group 1 is an episode", false},
		{"DELETE FROM unused", "groups 1: it holds 3 episodes, the group size is 4", false},
		{"UPDATE steps SET response = x'' WHERE id = 1", "attempt 3: response: blob does not decode", false},
		{"UPDATE steps SET shared_id = 999 WHERE shared_id = 1", "refers to a row of steps that is absent", false},
	} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		copyFile(t, whole, path)
		shell(t, path, "PRAGMA foreign_keys = 0; PRAGMA ignore_check_constraints = 1; "+c.sql)
		s, err := OpenReadOnly(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Check(t.Context())
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(found, func(v Violation) bool { return strings.Contains(v.String(), c.want) })
		if at < 0 || found[at].Repairable != c.repair {
			t.Errorf("%s: got %v, want %s (repairable %v)", c.sql, found, c.want, c.repair)
		}
	}
}

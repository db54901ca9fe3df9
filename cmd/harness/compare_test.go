package main

import (
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

// scored is a run whose tasks' finished episodes have these scores, of which the rewards are ten times as high.
func scored(name string, hash string, scores map[string][]float64) *runOnTasks {
	r := &runOnTasks{Run: store.Run{Name: name}, Ledger: name + ".db", byTask: map[string][]store.Episode{}, hashes: map[string]string{}}
	for id, of := range scores {
		task := harness.Task{Env: "e", Split: "s", ID: id, Hash: hash}
		if len(of) == 0 {
			r.add(store.Episode{EpisodeRef: harness.EpisodeRef{Task: task}, Status: harness.StatusFailed})
		}
		for _, score := range of {
			r.add(store.Episode{
				EpisodeRef: harness.EpisodeRef{Task: task}, Status: harness.StatusDone,
				Outcome: &harness.Outcome{Score: score, Reward: 10 * score, Steps: 1},
			})
		}
	}
	return r
}

// TestGroupsOfOtherSizesAreEqual: what only the rounding of a mean tells apart is no change.
func TestGroupsOfOtherSizesAreEqual(t *testing.T) {
	t.Parallel()
	a := scored("a", "", map[string][]float64{"x": {0.7}, "y": {0.1, 0.7, 0.2}})
	b := scored("b", "", map[string][]float64{"x": {0.7, 0.7, 0.7}, "y": {0.7, 0.2, 0.1}})
	c := &compareCommand{top: 5}
	got, err := c.compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range got.Sets[0].Measures {
		if d.Equal != 2 || d.Higher+d.Lower != 0 || d.Mean != 0 {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if len(got.Changed) != 0 {
		t.Errorf("changed: %+v", got.Changed)
	}
}

// TestHintsOfRunsWithoutAnEnd: the hint names the run that has no finished episode.
func TestHintsOfRunsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	none := map[string][]float64{"x": nil}
	some := map[string][]float64{"x": {1}}
	for _, v := range []struct {
		a, b map[string][]float64
		want string
	}{
		{some, none, "harness runs b --db b.db"},
		{none, some, "harness runs a --db a.db"},
		{none, none, "harness runs a --db a.db; harness runs b --db b.db"},
	} {
		_, err := (&compareCommand{}).compare(scored("a", "", v.a), scored("b", "", v.b))
		if err == nil || errext.Hint(err) != v.want {
			t.Errorf("%v, hint %q, want %q", err, errext.Hint(err), v.want)
		}
	}
}

// TestContentThatNobodyHashed: a task without a hash may be the other run's.
func TestContentThatNobodyHashed(t *testing.T) {
	t.Parallel()
	some := map[string][]float64{"x": {1}}
	for _, v := range []struct {
		a, b   string
		shared bool
	}{{"", "", true}, {"1", "1", true}, {"1", "", true}, {"", "1", true}, {"1", "2", false}} {
		got, err := (&compareCommand{}).compare(scored("a", v.a, some), scored("b", v.b, some))
		if (err == nil) != v.shared || (got.OtherContent == 0) != v.shared {
			t.Errorf("hashes %q and %q: %v, %d of other content", v.a, v.b, err, got.OtherContent)
		}
	}
}

// TestRewardsThatOverflow: differences that no number holds are an error that says of what, not one of JSON.
func TestRewardsThatOverflow(t *testing.T) {
	t.Parallel()
	a := scored("a", "", map[string][]float64{"x": {1.7e307}, "y": {-1.7e307}})
	b := scored("b", "", map[string][]float64{"x": {-1.7e307}, "y": {1.7e307}})
	_, err := (&compareCommand{}).compare(a, b)
	if err == nil || !strings.Contains(err.Error(), "too far apart") || !strings.Contains(errext.Hint(err), "harness runs b --db b.db") {
		t.Errorf("got %v, hint %q", err, errext.Hint(err))
	}
}

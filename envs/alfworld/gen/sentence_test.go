package gen

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		goal goal
		want []string
	}{
		{goalOf(t, Place, "Apple", "CounterTop"), []string{"get an apple and put it on a countertop", "put an apple on a countertop"}},
		{goalOf(t, PickTwo, "CD", "Safe"), []string{
			"find two things of the kind cd and put both in one safe",
			"put a cd and another cd in a safe, both in the same place",
		}},
		{goalOf(t, Look, "AlarmClock", "FloorLamp"), []string{
			"hold an alarmclock in the light of a floorlamp",
			"take an alarmclock and look at it by the light of a floorlamp",
		}},
		{goalOf(t, Clean, "Egg", "Microwave"), []string{"put a clean egg in a microwave", "wash an egg, then put it in a microwave"}},
		{goalOf(t, Heat, "Egg", "Ottoman"), []string{"heat an egg, then put it on an ottoman", "put a hot egg on an ottoman"}},
		{goalOf(t, Cool, "Pan", "StoveBurner"), []string{"cool a pan, then put it on a stoveburner", "put a cold pan on a stoveburner"}},
	} {
		rng := rand.New(rand.NewPCG(1, 1))
		var got []string
		for range 40 {
			if s := sentence(rng, c.goal); !slices.Contains(got, s) {
				got = append(got, s)
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.goal.task, d)
		}
	}
}

func TestWeighted(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	counts := make([]int, 3)
	for range 4000 {
		counts[weighted(rng, []int{1, 0, 3})]++
	}
	if counts[1] != 0 || counts[0] < 850 || counts[0] > 1150 {
		t.Errorf("draws %v, want about 1000, 0, 3000", counts)
	}
}

func TestStreamsAreApart(t *testing.T) {
	t.Parallel()
	seen := map[uint64]string{}
	for _, parts := range [][]any{{}, {"a"}, {"a", "b"}, {"ab"}, {1}, {11}, {1, 1}, {"a", "b", 1}} {
		for _, purpose := range []string{"x", "xa", "y"} {
			v := stream(purpose, parts...).Uint64()
			if other, twice := seen[v]; twice {
				t.Errorf("%s %v draws as %s", purpose, parts, other)
			}
			seen[v] = purpose
			if stream(purpose, parts...).Uint64() != v {
				t.Errorf("%s %v does not repeat itself", purpose, parts)
			}
		}
	}
}

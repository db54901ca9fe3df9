package harness_test

import (
	"testing"

	"github.com/hindsightrl/harness"
)

func TestForksAreOrderedAlongAPath(t *testing.T) {
	t.Parallel()
	at := func(step, token int) harness.Fork { return harness.Fork{Parent: 1, Step: step, Token: token} }
	for _, c := range []struct {
		a, b harness.Fork
		want bool
	}{{at(2, 0), at(1, 9), true}, {at(1, 9), at(2, 0), false}, {at(1, 3), at(1, 2), true}, {at(1, 2), at(1, 2), false}} {
		if got := c.a.After(c.b); got != c.want {
			t.Errorf("%v after %v: %v", c.a, c.b, got)
		}
	}
}

func TestForkValidateNamesThePlace(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]harness.Fork{
		"": {Parent: 1, Step: 3},
		"fork at episode 0, step 1, token 0: it names no parent":       {Step: 1},
		"fork at episode 1, step -1, token 0: neither can be negative": {Parent: 1, Step: -1},
	} {
		err := f.Validate()
		if got := ""; err != nil && err.Error() != want || err == nil && got != want {
			t.Errorf("%+v: got %v, want %q", f, err, want)
		}
	}
}

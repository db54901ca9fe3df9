package webshop

import (
	"fmt"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pyrand"
)

// span is a split: the goals from one index up to the next split's.
type span struct {
	name string
	from int
}

// spans are the splits of the variants: serl's workers validate on the first 500 goals; the original's
// baselines test on 500, evaluate on 1,000 more and train on the rest.
var spans = map[catalog.Variant][]span{
	catalog.SERL:      {{"val", 0}, {"train", 500}},
	catalog.Princeton: {{"test", 0}, {"eval", 500}, {"train", 1500}},
}

// Splits lists a variant's splits.
func Splits(v catalog.Variant) []string {
	var out []string
	for _, s := range spans[v] {
		out = append(out, s.name)
	}
	return out
}

func splitOf(v catalog.Variant, index int) string {
	name := ""
	for _, s := range spans[v] {
		if index >= s.from {
			name = s.name
		}
	}
	return name
}

// bounds are a split's first goal and the one behind its last, of n.
func bounds(v catalog.Variant, split string, n int) (from, to int, err error) {
	if split == "" {
		return 0, n, nil
	}
	for i, s := range spans[v] {
		if s.name != split {
			continue
		}
		to = n
		if i+1 < len(spans[v]) {
			to = min(n, spans[v][i+1].from)
		}
		if s.from >= to {
			return 0, 0, fmt.Errorf("split %q is empty: there are %d goals, and it begins at %d", split, n, s.from)
		}
		return s.from, to, nil
	}
	return 0, 0, errext.WithHint(fmt.Errorf("variant %s has no split %q", v, split), "it has: "+strings.Join(Splits(v), ", "))
}

// Assignment is what one worker of the serl variant plays after a reset.
type Assignment struct {
	Seed int64 // of the worker's process: prices, goals and their order
	Goal int   // index among that process's goals
}

// Schedule tells what the serl variant's workers play: one group of workers for each environment, one
// list for each reset, in the workers' order. All workers of a group share seed and goal; workers of
// other groups have other seeds and so another order of goals, for which reason the split by index
// does not keep goals of training and validation apart.
type Schedule struct {
	seed  int64
	envs  int
	group int
	from  int
	n     int
	rand  *pyrand.RandomState
}

// valSeed is what validation adds to the seed.
const valSeed = 1000

// NewSchedule plans for so many environments with groups of so many workers; goals is the number of
// all goals.
func NewSchedule(seed int64, envs, group, goals int, train bool) (*Schedule, error) {
	split := "val"
	if train {
		split = "train"
	} else {
		seed += valSeed
	}
	from, to, err := bounds(catalog.SERL, split, goals)
	switch {
	case err != nil:
		return nil, err
	case envs < 1 || group < 1:
		return nil, fmt.Errorf("%d environments in groups of %d", envs, group)
	case envs > to-from:
		return nil, fmt.Errorf("%d environments for the %d goals of split %q", envs, to-from, split)
	case seed < 0 || seed > 1<<32-1:
		return nil, fmt.Errorf("seed %d is not in the range of numpy's", seed)
	}
	return &Schedule{seed: seed, envs: envs, group: group, from: from, n: to - from, rand: pyrand.NewRandomState(uint32(seed))}, nil
}

// Next draws the next reset.
func (s *Schedule) Next() []Assignment {
	out := make([]Assignment, 0, s.envs*s.group)
	for i, k := range s.rand.Choice(s.n, s.envs) {
		for range s.group {
			out = append(out, Assignment{Seed: s.seed + int64(i), Goal: s.from + k})
		}
	}
	return out
}

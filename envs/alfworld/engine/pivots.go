package engine

import (
	"cmp"
	"slices"
)

// pivotIndex groups operators by one positive literal of their precondition, so that a step looks only
// at operators whose pivot is true. Pivots are taken from the predicates with the fewest true facts:
// where the agent is, before what the world is like.
type pivotIndex struct {
	ranges [][2]int // runs of facts that are pivots, as [from, to)
	at     []uint32 // ops[at[f]:at[f+1]] are the operators of fact f
	ops    []pivoted
	rest   []literalID
	always []int32 // operators without a positive literal
	free   []bits  // per fact: commands of operators that have no literal but the pivot; nil if none
}

// pivoted is an operator under its pivot: pivotIndex.rest[from:to] are the other literals.
type pivoted struct {
	cmd      int32
	from, to uint32
}

func newPivotIndex(g *Game) *pivotIndex {
	rank := pivotRanks(g)
	x := &pivotIndex{at: make([]uint32, g.facts.dynamic+1), free: make([]bits, g.facts.dynamic)}
	pivot := make([]int32, g.ops.len())
	for op := range pivot {
		pivot[op] = -1
		if g.ops.cmd[op] < 0 {
			continue
		}
		best := -1
		for _, l := range g.ops.preOf(op) {
			if f := l.fact(); !l.neg() && (best < 0 || rank[g.facts.pred[f]] < rank[g.facts.pred[best]]) {
				best = f
			}
		}
		switch {
		case best < 0:
			x.always = append(x.always, int32(op))
		case len(g.ops.preOf(op)) == 1:
			if x.free[best] == nil {
				x.free[best] = newBits(len(g.commands.text))
			}
			x.free[best].set(int(g.ops.cmd[op]))
		default:
			pivot[op] = int32(best)
			x.at[best+1]++
		}
	}
	x.collect(g, pivot)
	return x
}

func (x *pivotIndex) collect(g *Game, pivot []int32) {
	for f := range g.facts.dynamic {
		x.at[f+1] += x.at[f]
	}
	x.ops = make([]pivoted, x.at[g.facts.dynamic])
	x.rest = make([]literalID, 0, len(g.ops.pre))
	next := slices.Clone(x.at)
	for op, f := range pivot {
		if f < 0 {
			continue
		}
		from := uint32(len(x.rest))
		for _, l := range g.ops.preOf(op) {
			if l != makeLiteral(f, false) {
				x.rest = append(x.rest, l)
			}
		}
		x.ops[next[f]] = pivoted{g.ops.cmd[op], from, uint32(len(x.rest))}
		next[f]++
	}
	for f := range g.facts.dynamic {
		if x.at[f] == x.at[f+1] && x.free[f] == nil {
			continue
		}
		if n := len(x.ranges); n > 0 && x.ranges[n-1][1] == f {
			x.ranges[n-1][1] = f + 1
		} else {
			x.ranges = append(x.ranges, [2]int{f, f + 1})
		}
	}
}

// pivotRanks orders predicates by how many facts can be true at once, as far as that shows: an action
// set that never adds more facts of a predicate than it deletes keeps to the number at the start.
func pivotRanks(g *Game) []int {
	type score struct{ pred, grows, facts int }
	scores := make([]score, len(g.world.preds))
	for p := range scores {
		scores[p] = score{pred: p, facts: g.facts.ranges[p][1] - g.facts.ranges[p][0]}
	}
	for p, grows := range g.world.growing() {
		if grows {
			scores[p].grows = 1
		}
	}
	slices.SortFunc(scores, func(a, b score) int {
		return cmp.Or(cmp.Compare(a.grows, b.grows), cmp.Compare(b.facts, a.facts), cmp.Compare(a.pred, b.pred))
	})
	rank := make([]int, len(scores))
	for i, s := range scores {
		rank[s.pred] = i
	}
	return rank
}

// growing says of each predicate whether some action adds more facts of it than it deletes.
func (w *world) growing() []bool {
	out := make([]bool, len(w.preds))
	for _, a := range w.domain.Actions {
		net := make(map[string]int)
		for _, e := range a.Effects {
			if e.Del {
				net[e.Pred]--
			} else {
				net[e.Pred]++
			}
		}
		for name, n := range net {
			out[w.predIDs[name]] = out[w.predIDs[name]] || n > 0
		}
	}
	return out
}

package engine

import (
	"slices"

	"github.com/hindsightrl/harness/envs/alfworld/pddl"
)

// goal is a conjunction of independent parts; each part holds if all literals of one of its
// alternatives do.
type goal struct {
	parts   [][][]literalID
	mask    bits // facts that the goal depends on
	trivial []bool
}

// goalPlans adds the goal's parts to the grounder as plans without an action and returns, for each
// part, its plans' numbers.
func goalPlans(gr *grounder, f *pddl.Formula) ([][]int, error) {
	var parts [][]int
	for _, part := range splitAnd(f) {
		cs, err := gr.w.normalise(part, nil)
		if err != nil {
			return nil, err
		}
		var plans []int
		for _, c := range cs {
			plans = append(plans, len(gr.plans))
			gr.plans = append(gr.plans, plan{conj: c, action: -1})
		}
		parts = append(parts, plans)
	}
	return parts, nil
}

func splitAnd(f *pddl.Formula) []*pddl.Formula {
	if f.Kind != pddl.And {
		return []*pddl.Formula{f}
	}
	var out []*pddl.Formula
	for _, k := range f.Kids {
		out = append(out, splitAnd(k)...)
	}
	return out
}

// goal collects the instances of the goal's parts.
func (b *builder) goal(parts [][]int, dynamic int) *goal {
	partOf := make(map[int32]int)
	for i, plans := range parts {
		for _, p := range plans {
			partOf[int32(p)] = i
		}
	}
	g := &goal{parts: make([][][]literalID, len(parts)), mask: newBits(dynamic), trivial: make([]bool, len(parts))}
	seen := make([]map[string]bool, len(parts))
	for _, in := range b.gr.instances {
		i, ok := partOf[in.plan]
		if !ok {
			continue
		}
		p := b.load(in)
		lits, ok := b.literals(&p.conj, nil)
		if !ok {
			continue
		}
		lits = slices.Clone(lits)
		slices.Sort(lits)
		key := string(keyOf(lits))
		if seen[i] == nil {
			seen[i] = make(map[string]bool)
		}
		if seen[i][key] {
			continue
		}
		seen[i][key] = true
		g.parts[i] = append(g.parts[i], lits)
		g.trivial[i] = g.trivial[i] || len(lits) == 0
		for _, l := range lits {
			g.mask.set(l.fact())
		}
	}
	return g
}

func keyOf(lits []literalID) []byte {
	out := make([]byte, 0, 4*len(lits))
	for _, l := range lits {
		out = append(out, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
	}
	return out
}

// holds reports whether the goal is reached.
func (g *goal) holds(facts bits) bool {
	for i, part := range g.parts {
		if g.trivial[i] {
			continue
		}
		if !slices.ContainsFunc(part, facts.holds) {
			return false
		}
	}
	return true
}

// possible reports whether every part has an alternative that could be reached at all.
func (g *goal) possible() bool {
	for _, part := range g.parts {
		if len(part) == 0 {
			return false
		}
	}
	return true
}

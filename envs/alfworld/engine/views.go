package engine

import (
	"slices"
	"strconv"
	"strings"
)

// view is what one conjunct of a query iterates: the facts of a predicate whose arguments have the
// wanted types, in the original's order, also by the entity at each position.
type view struct {
	all   []uint32
	byArg [][]uint32 // per position: concatenated lists
	start [][]uint32 // per position and entity: where its list starts; one more at the end
}

func (v *view) with(pos, entity int) []uint32 {
	s := v.start[pos]
	return v.byArg[pos][s[entity]:s[entity+1]]
}

// viewKey identifies a view by predicate and types.
func viewKey(pred int, types []string) string {
	return strconv.Itoa(pred) + "(" + strings.Join(types, ",") + ")"
}

// makeView collects the facts of a predicate for argument types. Facts of one signature are sorted by
// arguments; signatures come in the order in which the original walks the type hierarchy, which meets
// some of them twice where the hierarchy is deeper than one level.
func (c *compiler) makeView(pred int, types []string) *view {
	v := &view{}
	r := c.facts.ranges[pred]
	for _, sig := range c.w.signatures(types, c.typesAt(pred, len(types))) {
		for f := r[0]; f < r[1]; f++ {
			match := true
			for i, a := range c.facts.argsOf(f)[:len(types)] {
				match = match && c.w.types[a] == sig[i]
			}
			if match {
				v.all = append(v.all, uint32(f))
			}
		}
	}
	v.index(c.facts, len(types), len(c.w.ids))
	return v
}

func (v *view) index(t *factTable, arity, entities int) {
	v.byArg = make([][]uint32, arity)
	v.start = make([][]uint32, arity)
	for pos := range arity {
		s := make([]uint32, entities+1)
		for _, f := range v.all {
			s[t.argsOf(int(f))[pos]+1]++
		}
		for e := range entities {
			s[e+1] += s[e]
		}
		list := make([]uint32, len(v.all))
		at := slices.Clone(s)
		for _, f := range v.all {
			e := t.argsOf(int(f))[pos]
			list[at[e]] = f
			at[e]++
		}
		v.byArg[pos], v.start[pos] = list, s
	}
}

// typesAt lists the types that occur at each position of a predicate's facts.
func (c *compiler) typesAt(pred, arity int) []map[string]bool {
	out := make([]map[string]bool, arity)
	for i := range out {
		out[i] = make(map[string]bool)
	}
	r := c.facts.ranges[pred]
	for f := r[0]; f < r[1]; f++ {
		for i, a := range c.facts.argsOf(f)[:arity] {
			out[i][c.w.types[a]] = true
		}
	}
	return out
}

// maxSignatures bounds the walk over a type hierarchy.
const maxSignatures = 100_000

// signatures walks the signatures below types breadth first, keeping those that can occur. It is a
// faithful copy of the original's walk, which does not mark its first level as seen.
func (w *world) signatures(types []string, occur []map[string]bool) [][]string {
	var out [][]string
	keep := func(sig []string) {
		for i, t := range sig {
			if !occur[i][t] {
				return
			}
		}
		out = append(out, sig)
	}
	keep(types)
	seen := make(map[string]bool)
	queue := w.expand(types)
	for head := 0; head < len(queue) && head < maxSignatures; head++ {
		keep(queue[head])
		for _, next := range w.expand(queue[head]) {
			if key := strings.Join(next, ","); !seen[key] {
				seen[key] = true
				queue = append(queue, next)
			}
		}
	}
	return out
}

// expand replaces one type at a time by each of its subtypes.
func (w *world) expand(sig []string) [][]string {
	var out [][]string
	for i, t := range sig {
		for _, sub := range w.children(t) {
			next := slices.Clone(sig)
			next[i] = sub
			out = append(out, next)
		}
	}
	return out
}

// children lists the types below t, sorted by name.
func (w *world) children(t string) []string {
	if kids, ok := w.below[t]; ok {
		return kids
	}
	var kids []string
	for sub := range w.parent {
		if sub != t && w.isA(sub, t) {
			kids = append(kids, sub)
		}
	}
	slices.Sort(kids)
	w.below[t] = kids
	return kids
}

// hasType reports whether the domain knows a type.
func (w *world) hasType(t string) bool { return t == "object" || w.parent[t] != "" }

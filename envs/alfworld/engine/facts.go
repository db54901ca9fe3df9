package engine

import (
	"cmp"
	"slices"
	"sort"
)

// factTable is every fact that an episode can meet. Numbers below dynamic are bits of an episode's
// state; the rest is static and always true.
type factTable struct {
	pred    []uint16
	args    []uint16 // stride arguments per fact
	stride  int
	dynamic int
	ranges  [][2]int // by predicate: its facts' numbers [from, to)
}

func (t *factTable) argsOf(f int) []uint16 { return t.args[f*t.stride : (f+1)*t.stride] }

// find returns the number of an atom's fact, or -1.
func (t *factTable) find(a *atom) int {
	if int(a.pred) >= len(t.ranges) {
		return -1
	}
	from, to := t.ranges[a.pred][0], t.ranges[a.pred][1]
	i := from + sort.Search(to-from, func(i int) bool {
		return slices.Compare(t.argsOf(from+i), a.args[:t.stride]) >= 0
	})
	if i < to && slices.Equal(t.argsOf(i), a.args[:t.stride]) {
		return i
	}
	return -1
}

// literalID is a dynamic fact with a sign: the fact's number times two, plus one for a negation.
type literalID uint32

func (l literalID) fact() int { return int(l >> 1) }
func (l literalID) neg() bool { return l&1 != 0 }

func makeLiteral(fact int32, neg bool) literalID {
	l := literalID(fact) << 1
	if neg {
		l |= 1
	}
	return l
}

// sortFacts numbers the grounder's facts: dynamic ones first, then by predicate and arguments. It
// returns the table and the new number of each raw fact.
func sortFacts(w *world, facts []rawFact) (*factTable, []int32) {
	order := make([]int32, len(facts))
	for i := range order {
		order[i] = int32(i)
	}
	static := func(p uint16) int {
		if w.preds[p].dynamic() {
			return 0
		}
		return 1
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := &facts[a], &facts[b]
		if x.pred != y.pred {
			return cmp.Or(cmp.Compare(static(x.pred), static(y.pred)), cmp.Compare(x.pred, y.pred))
		}
		return slices.Compare(x.args[:], y.args[:])
	})
	t := &factTable{stride: 1, ranges: make([][2]int, len(w.preds))}
	for _, p := range w.preds {
		t.stride = max(t.stride, p.arity)
	}
	t.pred = make([]uint16, len(facts))
	t.args = make([]uint16, 0, len(facts)*t.stride)
	number := make([]int32, len(facts))
	for n, raw := range order {
		f := &facts[raw]
		number[raw] = int32(n)
		t.pred[n] = f.pred
		t.args = append(t.args, f.args[:t.stride]...)
		if r := &t.ranges[f.pred]; r[1] == 0 {
			r[0], r[1] = n, n+1
		} else {
			r[1] = n + 1
		}
		if static(f.pred) == 0 {
			t.dynamic++
		}
	}
	return t, number
}

// bits is a set of small numbers.
type bits []uint64

func newBits(n int) bits { return make(bits, wordsFor(n)) }

func wordsFor(n int) int { return (n + 63) / 64 }

func (b bits) has(i int) bool { return b[i>>6]>>(uint(i)&63)&1 != 0 }
func (b bits) set(i int)      { b[i>>6] |= 1 << (uint(i) & 63) }
func (b bits) clear(i int)    { b[i>>6] &^= 1 << (uint(i) & 63) }

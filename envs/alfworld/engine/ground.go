package engine

import "fmt"

const (
	maxOperators = 200_000    // ground operators; the largest ALFWorld kitchens have about 6,000
	maxJoins     = 20_000_000 // steps of the joins that look for them
)

// plan is a conj of an action (or of the goal, action -1) with the orders in which to join it.
type plan struct {
	conj
	action  int
	orders  [][]int // orders[i]: the positive literals in join order when literal i is given; last: none is given
	members [][]bool
	effects []schemaEffect
}

// schemaEffect is a simple effect of an action over its parameters.
type schemaEffect struct {
	when []conj // nil: unconditional
	lit  literal
}

type trigger struct{ plan, lit int }

// instance is a ground operator or goal: the plan with values for all its variables.
type instance struct {
	plan    int32
	binding uint32 // offset into grounder.bindings
	used    uint32 // offset into grounder.used: a raw fact per literal, then one per effect
}

// grounder finds every instance that is reachable when nothing is ever deleted: each fact, as it is
// reached, is joined with the facts before it.
type grounder struct {
	w         *world
	facts     []rawFact
	index     factIndex
	heads     [][]int32 // [pred*maxArity+pos][entity]: first visible fact
	byPred    [][]int32 // visible facts
	queue     []int32
	plans     []plan
	triggers  [][]trigger // by predicate
	instances []instance
	bindings  []uint16
	used      []int32

	binding []int32 // values of the current plan's variables, -1 = none
	chosen  []int32 // raw fact that each literal of the current plan is matched with, -1 = none
	given   int32   // the fact that triggered the current join, -1 = none
	atLit   int     // and the literal it is given for
	joins   int     // steps so far
	err     error
}

func newGrounder(w *world) *grounder {
	n := 4 * len(w.problem.Init)
	return &grounder{
		w: w, index: factIndex{make(map[uint64]int32, n), make(map[atom]int32)},
		facts: make([]rawFact, 0, n), bindings: make([]uint16, 0, 16*n), used: make([]int32, 0, 16*n),
	}
}

// add registers a fact and returns its number.
func (gr *grounder) add(a atom) int32 {
	arity := gr.w.preds[a.pred].arity
	if i, ok := gr.index.get(&a, arity); ok {
		return i
	}
	i := int32(len(gr.facts))
	gr.index.put(&a, arity, i)
	gr.facts = append(gr.facts, rawFact{atom: a})
	return i
}

// find returns the number of a literal's fact under the current binding, or -1.
func (gr *grounder) find(l literal) int32 {
	a := gr.ground(l)
	if f, ok := gr.index.get(&a, len(l.args)); ok {
		return f
	}
	return -1
}

// reach registers a fact as reached and queues it.
func (gr *grounder) reach(i int32) {
	if f := &gr.facts[i]; !f.reached {
		f.reached = true
		gr.queue = append(gr.queue, i)
	}
}

// show makes a fact visible to joins.
func (gr *grounder) show(i int32) {
	f := &gr.facts[i]
	f.visible = true
	gr.byPred[f.pred] = append(gr.byPred[f.pred], i)
	for pos := range gr.w.preds[f.pred].arity {
		slot := int(f.pred)*maxArity + pos
		if gr.heads[slot] == nil {
			gr.heads[slot] = make([]int32, len(gr.w.ids))
			for e := range gr.heads[slot] {
				gr.heads[slot][e] = -1
			}
		}
		f.next[pos] = gr.heads[slot][f.args[pos]]
		gr.heads[slot][f.args[pos]] = i
	}
}

// run grounds all plans from the initial facts.
func (gr *grounder) run() error {
	w := gr.w
	gr.heads = make([][]int32, len(w.preds)*maxArity)
	gr.byPred = make([][]int32, len(w.preds))
	gr.triggers = make([][]trigger, len(w.preds))
	for i := range gr.facts {
		if !w.preds[gr.facts[i].pred].dynamic() {
			gr.show(int32(i))
		} else {
			gr.reach(int32(i))
		}
	}
	for pi := range gr.plans {
		p := &gr.plans[pi]
		gr.prepare(p)
		triggered := false
		for li, l := range p.lits {
			if !l.neg && w.preds[l.pred].dynamic() {
				gr.triggers[l.pred] = append(gr.triggers[l.pred], trigger{pi, li})
				triggered = true
			}
		}
		if !triggered {
			gr.begin(pi, -1, -1)
		}
	}
	for head := 0; head < len(gr.queue) && gr.err == nil; head++ {
		f := gr.queue[head]
		gr.show(f)
		for _, t := range gr.triggers[gr.facts[f].pred] {
			gr.begin(t.plan, t.lit, f)
		}
	}
	return gr.err
}

// prepare chooses join orders: at each step the literal with the fewest unbound variables, static
// ones first.
func (gr *grounder) prepare(p *plan) {
	p.members = make([][]bool, len(p.vars))
	for i, v := range p.vars {
		p.members[i] = gr.w.ofType(v.Type)
	}
	p.orders = make([][]int, len(p.lits)+1)
	for first := range p.orders {
		bound := make([]bool, len(p.vars))
		used := make([]bool, len(p.lits))
		if first < len(p.lits) {
			if p.lits[first].neg {
				continue
			}
			used[first] = true
			bindVars(p.lits[first], bound)
		}
		for {
			best, bestCost := -1, 0
			for i, l := range p.lits {
				if l.neg || used[i] {
					continue
				}
				if cost := gr.joinCost(l, bound); best < 0 || cost < bestCost {
					best, bestCost = i, cost
				}
			}
			if best < 0 {
				break
			}
			used[best] = true
			bindVars(p.lits[best], bound)
			p.orders[first] = append(p.orders[first], best)
		}
	}
}

func bindVars(l literal, bound []bool) {
	for _, a := range l.args {
		if a >= 0 {
			bound[a] = true
		}
	}
}

func (gr *grounder) joinCost(l literal, bound []bool) int {
	free, fixed := 0, 0
	for _, a := range l.args {
		if a >= 0 && !bound[a] {
			free++
		} else {
			fixed++
		}
	}
	cost := 4 * free
	if free > 0 && fixed == 0 {
		cost += 40
	}
	if gr.w.preds[l.pred].dynamic() {
		cost++
	}
	return cost
}

// begin joins one plan, with fact f given for its literal lit (or nothing given).
func (gr *grounder) begin(pi, lit int, f int32) {
	p := &gr.plans[pi]
	gr.binding = gr.binding[:0]
	for range p.vars {
		gr.binding = append(gr.binding, -1)
	}
	gr.chosen = gr.chosen[:0]
	for range p.lits {
		gr.chosen = append(gr.chosen, -1)
	}
	gr.given, gr.atLit = f, lit
	if f < 0 {
		gr.join(pi, p.orders[len(p.lits)])
		return
	}
	var undo [maxArity]term
	if _, ok := gr.unify(p, p.lits[lit], &gr.facts[f].args, &undo); ok {
		gr.chosen[lit] = f
		gr.join(pi, p.orders[lit])
	}
}

// unify binds a literal's variables to a fact's arguments; undo lists the variables it bound.
func (gr *grounder) unify(p *plan, l literal, args *[maxArity]uint16, undo *[maxArity]term) (n int, ok bool) {
	for i, a := range l.args {
		v := int32(args[i])
		switch {
		case a < 0:
			if a != ^term(v) {
				return n, false
			}
		case gr.binding[a] < 0:
			if !p.members[a][v] {
				return n, false
			}
			gr.binding[a] = v
			undo[n] = a
			n++
		case gr.binding[a] != v:
			return n, false
		}
	}
	return n, true
}

func (gr *grounder) unbind(vars []term) {
	for _, v := range vars {
		gr.binding[v] = -1
	}
}

// value is a term's entity, or -1.
func (gr *grounder) value(t term) int32 {
	switch {
	case t >= 0:
		return gr.binding[t]
	case t == noEntity:
		return -1
	default:
		return int32(^t)
	}
}

// join extends the binding over the literals that are left.
func (gr *grounder) join(pi int, order []int) {
	p := &gr.plans[pi]
	if gr.tired() {
		return
	}
	if len(order) == 0 {
		gr.fill(pi, 0)
		return
	}
	li := order[0]
	l := p.lits[li]
	start, pos, full := int32(-1), -1, true
	for i, a := range l.args {
		if a == noEntity {
			return
		}
		if v := gr.value(a); v < 0 {
			full = false
		} else if pos < 0 {
			pos = i
			if h := gr.heads[l.pred*maxArity+i]; h != nil {
				start = h[v]
			}
		}
	}
	switch {
	case full:
		if f := gr.find(l); f >= 0 && gr.facts[f].visible && gr.fresh(li, f) {
			gr.chosen[li] = f
			gr.join(pi, order[1:])
		}
	case pos >= 0:
		for f := start; f >= 0; f = gr.facts[f].next[pos] {
			gr.try(pi, li, f, order)
		}
	default:
		for _, f := range gr.byPred[l.pred] {
			gr.try(pi, li, f, order)
		}
	}
}

// tired ends a search that has become too large, or has failed already.
func (gr *grounder) tired() bool {
	if gr.joins++; gr.joins > maxJoins && gr.err == nil {
		gr.err = fmt.Errorf("too many combinations of objects: %d join steps did not find all operators", maxJoins)
	}
	return gr.err != nil
}

// fresh keeps an instance that uses the given fact twice from being found twice: literals before the
// given one may not use it.
func (gr *grounder) fresh(li int, f int32) bool {
	return f != gr.given || li > gr.atLit
}

func (gr *grounder) try(pi, li int, f int32, order []int) {
	p := &gr.plans[pi]
	if !gr.fresh(li, f) {
		return
	}
	var undo [maxArity]term
	n, ok := gr.unify(p, p.lits[li], &gr.facts[f].args, &undo)
	if ok {
		gr.chosen[li] = f
		gr.join(pi, order[1:])
	}
	gr.unbind(undo[:n])
}

// ground is a literal's atom under the current binding.
func (gr *grounder) ground(l literal) atom {
	a := atom{pred: uint16(l.pred)}
	for i, t := range l.args {
		a.args[i] = uint16(gr.value(t))
	}
	return a
}

// fill gives variables that no positive literal binds every value of their type.
func (gr *grounder) fill(pi, from int) {
	if gr.tired() {
		return
	}
	p := &gr.plans[pi]
	for v := from; v < len(p.vars); v++ {
		if gr.binding[v] >= 0 {
			continue
		}
		for e, ok := range p.members[v] {
			if ok {
				gr.binding[v] = int32(e)
				gr.fill(pi, v+1)
			}
		}
		gr.binding[v] = -1
		return
	}
	gr.emit(pi)
}

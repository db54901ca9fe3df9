package engine

import (
	"fmt"

	"github.com/hindsightrl/harness/envs/alfworld/pddl"
)

// maxOperators bounds grounding.
const maxOperators = 2_000_000

// atom is a ground atom; unused arguments are 0.
type atom struct {
	pred uint16
	args [maxArity]uint16
}

// rawFact is a fact known to the grounder. A fact takes part in joins once it is visible; next chains
// the visible facts that share an argument at one position.
type rawFact struct {
	atom
	next    [maxArity]int32
	initial bool
	reached bool
	visible bool
}

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
}

// grounder finds every instance that is reachable when nothing is ever deleted: each fact, as it is
// reached, is joined with the facts before it.
type grounder struct {
	w         *world
	facts     []rawFact
	index     map[atom]int32
	heads     [][]int32 // [pred*maxArity+pos][entity]: first visible fact
	byPred    [][]int32 // visible facts
	queue     []int32
	plans     []plan
	triggers  [][]trigger // by predicate
	instances []instance
	bindings  []uint16

	binding []int32 // values of the current plan's variables, -1 = none
	given   int32   // the fact that triggered the current join, -1 = none
	atLit   int     // and the literal it is given for
	err     error
}

func newGrounder(w *world) *grounder {
	return &grounder{w: w, index: make(map[atom]int32, 4*len(w.problem.Init))}
}

// add registers a fact and returns its number.
func (gr *grounder) add(a atom) int32 {
	if i, ok := gr.index[a]; ok {
		return i
	}
	i := int32(len(gr.facts))
	gr.index[a] = i
	gr.facts = append(gr.facts, rawFact{atom: a})
	return i
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
	gr.given, gr.atLit = f, lit
	if f < 0 {
		gr.join(pi, p.orders[len(p.lits)])
		return
	}
	var undo [maxArity]term
	if n, ok := gr.unify(p, p.lits[lit], &gr.facts[f].args, &undo); ok {
		gr.join(pi, p.orders[lit])
	} else {
		gr.unbind(undo[:n])
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
	if gr.err != nil {
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
		if f, ok := gr.index[gr.ground(l)]; ok && gr.facts[f].visible && gr.fresh(p, li, f) {
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

// fresh keeps an instance that uses the given fact twice from being found twice: literals before the
// given one may not use it.
func (gr *grounder) fresh(p *plan, li int, f int32) bool {
	return f != gr.given || li > gr.atLit
}

func (gr *grounder) try(pi, li int, f int32, order []int) {
	p := &gr.plans[pi]
	if !gr.fresh(p, li, f) {
		return
	}
	var undo [maxArity]term
	n, ok := gr.unify(p, p.lits[li], &gr.facts[f].args, &undo)
	if ok {
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

// emit records an instance if its equalities and static negations hold, and reaches what it adds.
func (gr *grounder) emit(pi int) {
	p := &gr.plans[pi]
	for _, e := range p.eqs {
		if (gr.value(e.a) == gr.value(e.b) && e.a != noEntity) == e.neg {
			return
		}
	}
	for _, l := range p.lits {
		if !l.neg || gr.w.preds[l.pred].dynamic() || hasNoEntity(l) {
			continue
		}
		if _, ok := gr.index[gr.ground(l)]; ok {
			return
		}
	}
	if p.action >= 0 && gr.isNoop(p) {
		return
	}
	if len(gr.instances) >= maxOperators {
		gr.err = fmt.Errorf("the game has more than %d operators", maxOperators)
		return
	}
	gr.instances = append(gr.instances, instance{int32(pi), uint32(len(gr.bindings))})
	for _, v := range gr.binding {
		gr.bindings = append(gr.bindings, uint16(v))
	}
	for i := range p.effects {
		if l := p.effects[i].lit; !hasNoEntity(l) {
			if f := gr.add(gr.ground(l)); !l.neg {
				gr.reach(f)
			}
		}
	}
}

func hasNoEntity(l literal) bool {
	for _, a := range l.args {
		if a == noEntity {
			return true
		}
	}
	return false
}

// isNoop reports an operator that can change nothing: such operators do not exist in the original.
// An effect changes nothing if the precondition already demands its outcome, if an add overrides a
// delete, or if the fact can never differ.
func (gr *grounder) isNoop(p *plan) bool {
	for _, e := range p.effects {
		if hasNoEntity(e.lit) {
			continue
		}
		a := gr.ground(e.lit)
		if gr.demands(p, a, e.lit.neg) {
			continue
		}
		pred := &gr.w.preds[a.pred]
		f, known := gr.index[a]
		initial := known && gr.facts[f].initial
		switch {
		case !e.lit.neg && initial && !pred.deleted:
		case e.lit.neg && !initial && !pred.added:
		case e.lit.neg && gr.adds(p, a):
		default:
			return false
		}
	}
	return true
}

func (gr *grounder) demands(p *plan, a atom, neg bool) bool {
	for _, l := range p.lits {
		if l.neg == neg && l.pred == int(a.pred) && !hasNoEntity(l) && gr.ground(l) == a {
			return true
		}
	}
	return false
}

func (gr *grounder) adds(p *plan, a atom) bool {
	for _, e := range p.effects {
		if !e.lit.neg && e.when == nil && !hasNoEntity(e.lit) && gr.ground(e.lit) == a {
			return true
		}
	}
	return false
}

// plansFor compiles the actions.
func (gr *grounder) plansFor(actions []pddl.Action) error {
	for ai := range actions {
		a := &actions[ai]
		effects, err := gr.effects(a)
		if err != nil {
			return fmt.Errorf("action %s: %w", a.RawName, err)
		}
		cs, err := gr.w.normalise(a.Pre, a.Params)
		if err != nil {
			return fmt.Errorf("action %s: %w", a.RawName, err)
		}
		for _, c := range cs {
			gr.plans = append(gr.plans, plan{conj: c, action: ai, effects: effects})
		}
	}
	return nil
}

func (gr *grounder) effects(a *pddl.Action) ([]schemaEffect, error) {
	out := make([]schemaEffect, 0, len(a.Effects))
	for _, e := range a.Effects {
		f := &pddl.Formula{Kind: pddl.Atom, Pred: e.Pred, Args: e.Args, Line: e.Line}
		cs, err := gr.w.normalise(f, a.Params)
		if err != nil {
			return nil, err
		}
		se := schemaEffect{lit: cs[0].lits[0]}
		se.lit.neg = e.Del
		if e.When != nil {
			if se.when, err = gr.w.normalise(e.When, a.Params); err != nil {
				return nil, err
			}
			for _, c := range se.when {
				if len(c.vars) > c.nparams {
					return nil, &pddl.Error{Line: e.Line, Construct: "(when ...)", Reason: "(exists ...) inside the condition of an effect is not supported"}
				}
			}
			if se.when == nil {
				continue // the condition never holds
			}
		}
		out = append(out, se)
	}
	return out, nil
}

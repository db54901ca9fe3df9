package engine

import "fmt"

// emit records an instance if its equalities and static negations hold, and reaches what it adds.
func (gr *grounder) emit(pi int) {
	p := &gr.plans[pi]
	for _, e := range p.eqs {
		if (gr.value(e.a) == gr.value(e.b) && e.a != noEntity) == e.neg {
			return
		}
	}
	start := len(gr.used)
	gr.used = append(gr.used, gr.chosen...)
	lits := gr.used[start:]
	for i, l := range p.lits {
		if !l.neg || hasNoEntity(l) {
			continue
		}
		lits[i] = gr.find(l)
		if lits[i] >= 0 && !gr.w.preds[l.pred].dynamic() {
			gr.used = gr.used[:start]
			return
		}
	}
	for i := range p.effects {
		f := int32(-1)
		if l := p.effects[i].lit; !hasNoEntity(l) {
			f = gr.add(gr.ground(l))
		}
		gr.used = append(gr.used, f)
	}
	lits = gr.used[start : start+len(p.lits)]
	effects := gr.used[start+len(p.lits):]
	if p.action >= 0 && gr.isNoop(p, lits, effects) {
		gr.used = gr.used[:start]
		return
	}
	if len(gr.instances) >= maxOperators {
		gr.err = fmt.Errorf("the game has more than %d operators", maxOperators)
		return
	}
	gr.instances = append(gr.instances, instance{int32(pi), uint32(len(gr.bindings)), uint32(start)})
	for _, v := range gr.binding {
		gr.bindings = append(gr.bindings, uint16(v))
	}
	for i, f := range effects {
		if f >= 0 && !p.effects[i].lit.neg {
			gr.reach(f)
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
// delete, or if the fact can never differ. lits and effects are the raw facts of literals and effects.
func (gr *grounder) isNoop(p *plan, lits, effects []int32) bool {
	for i := range p.effects {
		f, neg := effects[i], p.effects[i].lit.neg
		if f < 0 || demands(p, lits, f, neg) {
			continue
		}
		pred := &gr.w.preds[gr.facts[f].pred]
		initial := gr.facts[f].initial
		switch {
		case !neg && initial && !pred.deleted:
		case neg && !initial && !pred.added:
		case neg && overridden(p, effects, f):
		default:
			return false
		}
	}
	return true
}

// demands reports whether the precondition holds only where fact f has the given sign.
func demands(p *plan, lits []int32, f int32, neg bool) bool {
	for i, used := range lits {
		if used == f && p.lits[i].neg == neg {
			return true
		}
	}
	return false
}

// overridden reports whether an unconditional effect adds f.
func overridden(p *plan, effects []int32, f int32) bool {
	for i, e := range effects {
		if e == f && !p.effects[i].lit.neg && p.effects[i].when == nil {
			return true
		}
	}
	return false
}

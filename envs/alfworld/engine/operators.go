package engine

import (
	"cmp"
	"slices"
)

// operators holds all ground operators in flat arrays, in operator order: by action, then arguments.
// One operator whose precondition has several disjuncts appears once per disjunct.
type operators struct {
	action []uint16
	argAt  []uint32 // args[argAt[i]:argAt[i+1]] are the parameters' entities
	args   []uint16
	preAt  []uint32
	pre    []literalID
	effAt  []uint32
	eff    []literalID // unconditional effects, deletes before adds
	when   map[int32][]whenEffect
	cmd    []int32 // command number, or -1 where the text depends on the state
}

// whenEffect is a conditional effect: it happens if all literals of some disjunct hold.
type whenEffect struct {
	cond [][]literalID
	eff  literalID
}

func (o *operators) len() int                    { return len(o.action) }
func (o *operators) argsOf(i int) []uint16       { return o.args[o.argAt[i]:o.argAt[i+1]] }
func (o *operators) preOf(i int) []literalID     { return o.pre[o.preAt[i]:o.preAt[i+1]] }
func (o *operators) effectsOf(i int) []literalID { return o.eff[o.effAt[i]:o.effAt[i+1]] }

// holds reports whether all literals are true in facts.
func (b bits) holds(lits []literalID) bool {
	for _, l := range lits {
		if uint64(l&1) == b[l>>7]>>(l>>1&63)&1 {
			return false
		}
	}
	return true
}

// builder turns the grounder's instances into operators and goals.
type builder struct {
	gr      *grounder
	number  []int32 // fact number of each raw fact
	scratch []literalID
}

// load puts an instance's values into the grounder's binding.
func (b *builder) load(in instance) *plan {
	p := &b.gr.plans[in.plan]
	b.gr.binding = b.gr.binding[:0]
	for _, v := range b.gr.bindings[in.binding : int(in.binding)+len(p.vars)] {
		b.gr.binding = append(b.gr.binding, int32(v))
	}
	return p
}

// literals resolves the dynamic literals of c under the loaded values; the result is valid until the
// next call. ok is false if a literal can never hold. Literals that always hold are left out. known
// lists the raw facts of the literals as far as they are known, -1 = look it up; it may be nil.
func (b *builder) literals(c *conj, known []int32) (lits []literalID, ok bool) {
	b.scratch = b.scratch[:0]
	for i, l := range c.lits {
		if hasNoEntity(l) {
			if !l.neg {
				return nil, false
			}
			continue
		}
		f := int32(-1)
		if known != nil {
			f = known[i]
		}
		if f < 0 {
			f = b.gr.find(l)
		}
		if !b.gr.w.preds[l.pred].dynamic() {
			if (f >= 0) == l.neg {
				return nil, false
			}
			continue
		}
		if f < 0 || !b.gr.facts[f].reached {
			if !l.neg {
				return nil, false
			}
			continue
		}
		if id := makeLiteral(b.number[f], l.neg); !slices.Contains(b.scratch, id) {
			b.scratch = append(b.scratch, id)
		}
	}
	return b.scratch, true
}

// equal reports whether c's equalities hold under the loaded values.
func (b *builder) equal(c *conj) bool {
	for _, e := range c.eqs {
		if (b.gr.value(e.a) == b.gr.value(e.b) && e.a != noEntity) == e.neg {
			return false
		}
	}
	return true
}

// sorted is an instance with the first part of its sort key.
type sorted struct {
	key uint64
	at  int32
}

// order sorts the instances of actions by action, then arguments.
func (b *builder) order() []sorted {
	out := make([]sorted, 0, len(b.gr.instances))
	for i, in := range b.gr.instances {
		p := &b.gr.plans[in.plan]
		if p.action < 0 {
			continue
		}
		key := uint64(p.action) << 48
		for k, v := range b.gr.bindings[in.binding : int(in.binding)+min(p.nparams, 3)] {
			key |= uint64(v) << (32 - 16*k)
		}
		out = append(out, sorted{key, int32(i)})
	}
	slices.SortFunc(out, func(x, y sorted) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return b.compare(b.gr.instances[x.at], b.gr.instances[y.at])
	})
	return out
}

func (b *builder) compare(x, y instance) int {
	p, q := &b.gr.plans[x.plan], &b.gr.plans[y.plan]
	xs := b.gr.bindings[x.binding : int(x.binding)+p.nparams]
	ys := b.gr.bindings[y.binding : int(y.binding)+q.nparams]
	return cmp.Or(slices.Compare(xs, ys), cmp.Compare(x.plan, y.plan), cmp.Compare(x.binding, y.binding))
}

// operators emits all instances of actions.
func (b *builder) operators() *operators {
	order := b.order()
	n := len(order)
	o := &operators{
		action: make([]uint16, 0, n), argAt: make([]uint32, 1, n+1), preAt: make([]uint32, 1, n+1), effAt: make([]uint32, 1, n+1),
		args: make([]uint16, 0, 5*n), pre: make([]literalID, 0, 3*n), eff: make([]literalID, 0, 4*n),
	}
	for _, s := range order {
		in := b.gr.instances[s.at]
		p := b.load(in)
		used := b.gr.used[in.used : int(in.used)+len(p.lits)+len(p.effects)]
		if lits, ok := b.literals(&p.conj, used[:len(p.lits)]); ok {
			o.pre = append(o.pre, lits...)
			b.emit(o, p, used[len(p.lits):])
		}
	}
	o.cmd = make([]int32, o.len())
	return o
}

// emit appends the operator of the loaded instance, whose precondition is already in place.
func (b *builder) emit(o *operators, p *plan, effects []int32) {
	for _, v := range b.gr.binding[:p.nparams] {
		o.args = append(o.args, uint16(v))
	}
	start := len(o.eff)
	for _, dels := range []bool{true, false} {
		for i := range p.effects {
			e := &p.effects[i]
			if e.lit.neg != dels || effects[i] < 0 {
				continue
			}
			id := makeLiteral(b.number[effects[i]], dels)
			switch {
			case e.when != nil:
				b.emitWhen(o, e.when, id)
			case dels && overridden(p, effects, effects[i]): // the add wins
			case !slices.Contains(o.eff[start:], id):
				o.eff = append(o.eff, id)
			}
		}
	}
	o.action = append(o.action, uint16(p.action))
	o.argAt = append(o.argAt, uint32(len(o.args)))
	o.preAt = append(o.preAt, uint32(len(o.pre)))
	o.effAt = append(o.effAt, uint32(len(o.eff)))
}

func (b *builder) emitWhen(o *operators, when []conj, id literalID) {
	w := whenEffect{eff: id}
	for i := range when {
		if lits, ok := b.literals(&when[i], nil); ok && b.equal(&when[i]) {
			w.cond = append(w.cond, slices.Clone(lits))
		}
	}
	if o.when == nil {
		o.when = make(map[int32][]whenEffect)
	}
	op := int32(o.len())
	o.when[op] = append(o.when[op], w)
}

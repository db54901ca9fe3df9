package engine

import (
	"slices"

	"github.com/hindsightrl/harness/envs/alfworld/grammar"
)

// usage is what a text reads.
type usage struct {
	dynamic bool  // facts that change
	slots   []int // parameters
	seen    map[*choiceNode]bool
}

// key identifies a rendering by action and the parameters that the template reads; exact is false
// where they are more than a key holds.
func (u *usage) key(action uint16, params []uint16) (key uint64, exact bool) {
	if len(u.slots) > 3 {
		return 0, false
	}
	key = uint64(action) << 48
	for i, s := range u.slots {
		key |= uint64(params[s]) << (16 * i)
	}
	return key, true
}

// usageOf walks a template. A query that binds something reads every parameter, as it may take none of
// them again.
func usageOf(n node, nparams int) usage {
	u := usage{seen: make(map[*choiceNode]bool)}
	u.walk(n, nparams)
	slices.Sort(u.slots)
	u.slots = slices.Compact(u.slots)
	return u
}

func (u *usage) slot(s, nparams int) {
	if s < nparams {
		u.slots = append(u.slots, s)
	}
}

func (u *usage) walk(n node, nparams int) {
	switch n := n.(type) {
	case attrNode:
		u.slot(n.slot, nparams)
	case *exprNode:
		u.expr(n.e, nparams)
	case seqNode:
		for _, m := range n {
			u.walk(m, nparams)
		}
	case *choiceNode:
		if u.seen[n] {
			return
		}
		u.seen[n] = true
		for _, r := range n.rules {
			if r.cond != nil {
				u.query(r.cond, nparams)
			}
			u.walk(r.body, nparams)
		}
	case *eachNode:
		u.query(n.query, nparams)
		u.walk(n.body, nparams)
	case *listNode:
		u.query(n.query, nparams)
		for _, m := range []node{n.body, n.empty, n.sep, n.last} {
			u.walk(m, nparams)
		}
	}
}

func (u *usage) expr(e *expr, nparams int) {
	if e == nil {
		return
	}
	if e.kind == grammar.Name || e.kind == grammar.Attr {
		u.slot(e.slot, nparams)
	}
	u.expr(e.a, nparams)
	u.expr(e.b, nparams)
}

func (u *usage) query(q *query, nparams int) {
	if q.width > 0 {
		for s := range nparams {
			u.slot(s, nparams)
		}
	}
	for _, c := range q.conjuncts {
		u.dynamic = u.dynamic || c.dynamic
		for _, s := range c.slots {
			u.slot(s, nparams)
		}
	}
}

package engine

// query is a compiled conjunction: a backtracking join over the facts, conjunct by conjunct.
type query struct {
	base      int // slots bound outside
	width     int // slots that the query binds
	conjuncts []conjunct
	err       error // why it cannot be asked
}

// conjunct is one predicate of a query.
type conjunct struct {
	view    *view
	slots   []int // slot of each argument
	bound   []int // positions whose slots are bound before this conjunct
	neg     bool  // explicit negated facts
	dynamic bool
}

// candidates picks the shortest list that a bound argument leaves.
func (c *conjunct) candidates(r *renderer) []uint32 {
	best := c.view.all
	if c.view.start == nil {
		return nil
	}
	for _, pos := range c.bound {
		e := r.frame[c.slots[pos]]
		if e&foreign != 0 {
			return nil
		}
		if l := c.view.with(pos, int(e)); len(l) < len(best) {
			best = l
		}
	}
	return best
}

func (c *conjunct) holds(r *renderer, fact int) bool {
	switch {
	case !c.dynamic:
		return true
	case c.neg:
		return r.neg.has(fact)
	default:
		return r.pos.has(fact)
	}
}

// run searches from conjunct k on. With first it stops at the first match and reports it; otherwise it
// appends the values that each match binds to r.rows.
func (q *query) run(r *renderer, k int, first bool) bool {
	if k == len(q.conjuncts) {
		if !first {
			if r.rows = append(r.rows, r.frame[q.base:]...); q.width == 0 {
				r.rows = append(r.rows, 0) // a row for the match itself
			}
		}
		return first
	}
	c := &q.conjuncts[k]
	depth := len(r.frame)
	for _, f := range c.candidates(r) {
		if !c.holds(r, int(f)) {
			continue
		}
		found := c.bind(r, r.g.facts.argsOf(int(f))) && q.run(r, k+1, first)
		r.frame = r.frame[:depth]
		if found {
			return true
		}
	}
	return false
}

// bind matches the arguments of a fact; different placeholders take different entities.
func (c *conjunct) bind(r *renderer, args []uint16) bool {
	for i, slot := range c.slots {
		e := args[i]
		if slot < len(r.frame) {
			if r.frame[slot] != e {
				return false
			}
			continue
		}
		for _, used := range r.frame {
			if used == e {
				return false
			}
		}
		r.frame = append(r.frame, e)
	}
	return true
}

// forEach renders body once per match, in order, with before called ahead of each.
func (q *query) forEach(r *renderer, before func(i, total int) error, body node) error {
	if q.err != nil {
		return q.err
	}
	start, depth := len(r.rows), len(r.frame)
	q.run(r, 0, false)
	stride := max(q.width, 1)
	matches := (len(r.rows) - start) / stride
	for i := range matches {
		err := before(i, matches)
		if err == nil {
			r.frame = append(r.frame, r.rows[start+i*stride:start+i*stride+q.width]...)
			err = body.render(r)
			r.frame = r.frame[:depth]
		}
		if err != nil {
			return err
		}
	}
	r.rows = r.rows[:start]
	return nil
}

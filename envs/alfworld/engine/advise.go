package engine

import (
	"errors"
	"slices"
)

// The errors of Advise.
var (
	ErrWon        = errors.New("the goal holds already")
	ErrImpossible = errors.New("the goal cannot be reached from here, whatever is done")
)

// Advise returns a command that brings the episode closer to its goal. It does not change the state,
// and the same state gives the same advice.
//
// It estimates from the current state what each fact costs if nothing were ever deleted, chooses the
// cheapest alternative of the goal, and follows the estimate's own plan backwards to an operator that
// is applicable now. Where several conditions are missing at once, it starts with one whose plan the
// others would not undo. Conditional effects are not planned with.
func (e *Episode) Advise() (string, error) {
	if e.won {
		return "", ErrWon
	}
	if !e.g.goal.possible() {
		return "", ErrImpossible
	}
	p := e.g.planner()
	defer e.g.planners.Put(p)
	p.estimate(e.plan)
	missing, ok := p.target()
	if !ok {
		return "", ErrImpossible
	}
	op := p.firstStep(missing)
	return e.textOf(op)
}

// textOf is the command of an applicable operator.
func (e *Episode) textOf(op int) (string, error) {
	if c := e.g.ops.cmd[op]; c >= 0 {
		return e.g.commands.text[c], nil
	}
	var params [maxSlots]uint16
	return e.g.commandText(&e.r, op, e.g.params(op, params[:0]))
}

// readerIndex lists, for each literal, the operators that have it as a precondition.
type readerIndex struct {
	at      []uint32
	ops     []int32
	empty   []int32 // operators without a dynamic precondition
	growing []bool  // by predicate
}

func (g *Game) buildReaders() {
	r := readerIndex{at: make([]uint32, 2*g.facts.dynamic+1), growing: g.world.growing()}
	for _, l := range g.ops.pre {
		r.at[l+1]++
	}
	for i := 1; i < len(r.at); i++ {
		r.at[i] += r.at[i-1]
	}
	r.ops = make([]int32, len(g.ops.pre))
	next := slices.Clone(r.at)
	for op := range g.ops.len() {
		pre := g.ops.preOf(op)
		if len(pre) == 0 {
			r.empty = append(r.empty, int32(op))
		}
		for _, l := range pre {
			r.ops[next[l]] = int32(op)
			next[l]++
		}
	}
	g.readers = r
}

const unreachable = 1 << 24

// planner holds the estimate from one state. It is reused; its size is that of the game.
type planner struct {
	g       *Game
	cost    []int32 // by literal
	by      []int32 // operator that the cost comes from, -1 for what holds now
	need    []uint16
	sum     []int32
	buckets [][]literalID
	plans   [][]int32
}

func (g *Game) planner() *planner {
	g.planning.Do(g.buildReaders)
	if p, ok := g.planners.Get().(*planner); ok {
		return p
	}
	n := 2 * g.facts.dynamic
	return &planner{g: g, cost: make([]int32, n), by: make([]int32, n), need: make([]uint16, g.ops.len()), sum: make([]int32, g.ops.len())}
}

// estimate computes what each literal costs from the given state: one more than all preconditions of
// its cheapest operator together. Costs are final in increasing order, as in Dijkstra's algorithm.
func (p *planner) estimate(state bits) {
	for i := range p.buckets {
		p.buckets[i] = p.buckets[i][:0]
	}
	for op := range p.need {
		p.need[op] = uint16(len(p.g.ops.preOf(op)))
		p.sum[op] = 1
	}
	for f := range p.g.facts.dynamic {
		now := makeLiteral(int32(f), !state.has(f))
		p.cost[now], p.by[now] = 0, -1
		p.cost[now^1], p.by[now^1] = unreachable, -1
		p.push(0, now)
	}
	for _, op := range p.g.readers.empty {
		p.fire(op)
	}
	for c := 0; c < len(p.buckets); c++ {
		for i := 0; i < len(p.buckets[c]); i++ {
			if l := p.buckets[c][i]; int(p.cost[l]) == c {
				p.settle(l)
			}
		}
	}
}

func (p *planner) push(cost int32, l literalID) {
	for int(cost) >= len(p.buckets) {
		p.buckets = append(p.buckets, nil)
	}
	p.buckets[cost] = append(p.buckets[cost], l)
}

// settle gives a literal's final cost to the operators that need it. A literal can be in its bucket
// once only: its cost falls each time it is pushed.
func (p *planner) settle(l literalID) {
	r := &p.g.readers
	for _, op := range r.ops[r.at[l]:r.at[l+1]] {
		p.sum[op] += p.cost[l]
		if p.need[op]--; p.need[op] == 0 {
			p.fire(op)
		}
	}
}

// maxCost bounds estimates, so that a sum over a long chain cannot grow the buckets without end.
const maxCost = 1 << 14

func (p *planner) fire(op int32) {
	c := p.sum[op]
	if c > maxCost {
		return
	}
	for _, l := range p.g.ops.effectsOf(int(op)) {
		if c < p.cost[l] {
			p.cost[l], p.by[l] = c, op
			p.push(c, l)
		}
	}
}

// target lists the literals that the cheapest alternative of each part of the goal still misses.
func (p *planner) target() (missing []literalID, ok bool) {
	for i, part := range p.g.goal.parts {
		if p.g.goal.trivial[i] {
			continue
		}
		best, bestCost := -1, int32(unreachable)
		for k, lits := range part {
			cost := int32(0)
			for _, l := range lits {
				cost += p.cost[l]
			}
			if cost < bestCost {
				best, bestCost = k, cost
			}
		}
		if best < 0 {
			return nil, false
		}
		missing = p.appendMissing(missing, part[best])
	}
	return missing, true
}

func (p *planner) appendMissing(out, lits []literalID) []literalID {
	for _, l := range lits {
		if p.cost[l] > 0 && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// firstStep follows the estimate's plan for the literals down to an operator that is applicable now.
// Each round's literals cost less than those before, so it ends.
func (p *planner) firstStep(missing []literalID) int {
	for {
		op := int(p.by[p.choose(missing)])
		missing = p.appendMissing(missing[:0:0], p.g.ops.preOf(op))
		if len(missing) == 0 {
			return op
		}
	}
}

// choose picks the literal to achieve first: the cheapest that no other has to come before.
func (p *planner) choose(lits []literalID) literalID {
	if len(lits) == 1 {
		return lits[0]
	}
	for len(p.plans) < len(lits) {
		p.plans = append(p.plans, nil)
	}
	for i, l := range lits {
		p.plans[i] = p.relaxed(p.plans[i][:0], l)
	}
	best, bestFree := -1, false
	for i, l := range lits {
		free := true
		for j := range lits {
			free = free && (i == j || !p.precedes(lits, j, i))
		}
		if best < 0 || free && !bestFree || free == bestFree && p.cost[l] < p.cost[lits[best]] {
			best, bestFree = i, free
		}
	}
	return lits[best]
}

// relaxed appends the operators of the estimate's plan for a literal.
func (p *planner) relaxed(out []int32, l literalID) []int32 {
	op := p.by[l]
	if p.cost[l] == 0 || op < 0 || slices.Contains(out, op) {
		return out
	}
	out = append(out, op)
	for _, q := range p.g.ops.preOf(int(op)) {
		out = p.relaxed(out, q)
	}
	return out
}

// precedes reports whether literal j has to be achieved before literal i: because j's plan would undo
// i, because j's plan holds all of i's (and knows where it belongs), because i's plan would take away
// what j's plan can use now, or because i's last operator would take away what j's last operator
// needs; and not the other way round as well.
func (p *planner) precedes(lits []literalID, j, i int) bool {
	if a, b := p.undoes(p.plans[j], lits[i]), p.undoes(p.plans[i], lits[j]); a != b {
		return a
	}
	if a, b := within(p.plans[i], p.plans[j]), within(p.plans[j], p.plans[i]); a != b {
		return a
	}
	if a, b := p.takes(p.plans[i], p.plans[j]), p.takes(p.plans[j], p.plans[i]); a != b {
		return a
	}
	oi, oj := p.plans[i][:1], p.plans[j][:1]
	a, b := p.conflicts(oi, oj), p.conflicts(oj, oi)
	return a && !b
}

// within reports whether every operator of a is in b.
func within(a, b []int32) bool {
	for _, op := range a {
		if !slices.Contains(b, op) {
			return false
		}
	}
	return true
}

// undoes reports whether a plan deletes a literal, or moves on from it: it sets another fact of a
// predicate whose facts only ever replace each other.
func (p *planner) undoes(plan []int32, l literalID) bool {
	pred := p.g.facts.pred[l.fact()]
	moves := !l.neg() && !p.g.readers.growing[pred]
	for _, op := range plan {
		for _, x := range p.g.ops.effectsOf(int(op)) {
			if x == l^1 || moves && !x.neg() && x != l && p.g.facts.pred[x.fact()] == pred {
				return true
			}
		}
	}
	return false
}

// takes reports whether plan a makes false something that holds now and that plan b needs.
func (p *planner) takes(a, b []int32) bool {
	for _, op := range a {
		for _, x := range p.g.ops.effectsOf(int(op)) {
			if p.cost[x^1] != 0 {
				continue
			}
			for _, other := range b {
				if slices.Contains(p.g.ops.preOf(int(other)), x^1) {
					return true
				}
			}
		}
	}
	return false
}

// conflicts reports whether an operator of a makes false what an operator of b needs.
func (p *planner) conflicts(a, b []int32) bool {
	for _, op := range a {
		for _, x := range p.g.ops.effectsOf(int(op)) {
			for _, other := range b {
				if slices.Contains(p.g.ops.preOf(int(other)), x^1) {
					return true
				}
			}
		}
	}
	return false
}

package engine

import (
	"strings"

	"github.com/hindsightrl/harness/envs/alfworld/grammar"
	"github.com/hindsightrl/harness/envs/alfworld/pddl"
)

// Explain says why a command has no effect in the current state: that no action is worded like it,
// that it names nothing there is, or the first precondition that fails, of the action that comes
// closest. It is "" for a command that is admissible. The words are made from the domain's own names.
func (e *Episode) Explain(command string) string {
	command = strings.TrimFunc(command, grammar.IsSpace)
	if e.operatorFor(command) >= 0 {
		return ""
	}
	best := verdict{text: "no action is worded like this"}
	for i := range e.g.domain.Actions {
		if t := e.g.actions[i].template; t != nil {
			best = e.explainAction(i, t, command, best)
		}
	}
	return best.text
}

// verdict is an explanation and how far its action came: more is closer.
type verdict struct {
	text  string
	reach int
}

// explainAction matches a command against one action's template.
func (e *Episode) explainAction(i int, t node, command string, best verdict) verdict {
	parts, ok := patternOf(t)
	if !ok {
		return best
	}
	a := &e.g.domain.Actions[i]
	for _, texts := range matchPattern(parts, command) {
		v := verdict{reach: 1}
		named := make([]int, len(a.Params)) // entity named for each parameter, or -1
		for p := range named {
			named[p] = -1
		}
		for k, slot := range slotsOf(parts) {
			ent := e.g.entityNamed(texts[k], a.Params[slot].Type)
			switch {
			case ent < 0:
				v.text = "there is no " + quoteName(texts[k])
			case !e.g.world.ofType(a.Params[slot].Type)[ent]:
				v.text = quoteName(texts[k]) + " is no " + a.Params[slot].Type
			default:
				v.reach++
				named[slot] = ent
				continue
			}
			break
		}
		if v.text == "" {
			v = e.firstUnmet(a, named)
		}
		if v.reach > best.reach {
			best = v
		}
	}
	return best
}

// entityNamed finds an entity by display name, one of the wanted type if there is any; -1 for none.
func (g *Game) entityNamed(name, typ string) int {
	found := -1
	for i := range g.entities {
		if g.entities[i].name == name && name != "" {
			if g.world.ofType(typ)[i] {
				return i
			}
			found = i
		}
	}
	return found
}

// firstUnmet evaluates an action's precondition literal by literal, what never changes first, keeping
// every way of binding the parameters that the command leaves open.
func (e *Episode) firstUnmet(a *pddl.Action, named []int) verdict {
	best := verdict{}
	cs, err := e.g.world.normalise(a.Pre, a.Params)
	if err != nil {
		return best
	}
	for i := range cs {
		if v := e.unmetIn(&cs[i], named); v.reach > best.reach {
			best = v
		}
	}
	return best
}

func (e *Episode) unmetIn(c *conj, named []int) verdict {
	start := make([]int, len(c.vars))
	for v := range start {
		start[v] = -1
		if v < len(named) {
			start[v] = named[v]
		}
	}
	ways := [][]int{start}
	reach := 2 + len(named)
	for _, dynamic := range []bool{false, true} {
		for _, neg := range []bool{false, true} {
			for li, l := range c.lits {
				if l.neg != neg || e.g.world.preds[l.pred].dynamic() != dynamic {
					continue
				}
				next := e.extend(c, l, ways)
				if len(next) == 0 {
					if dynamic {
						reach++ // what can change is the closer miss
					}
					return verdict{e.describe(c, li, ways[0], named), reach}
				}
				ways = next
				reach += 2
			}
		}
	}
	return verdict{"it would change nothing", reach + 1}
}

// maxWays bounds the bindings that an explanation follows.
const maxWays = 2000

// extend keeps the bindings under which a literal holds, and binds what it leaves open.
func (e *Episode) extend(c *conj, l literal, ways [][]int) [][]int {
	var out [][]int
	r := e.g.facts.ranges[l.pred]
	for _, w := range ways {
		if l.neg {
			if f, ok := e.g.factUnder(l, w); !ok || f < 0 || !e.isTrue(f) {
				out = append(out, w)
			}
			continue
		}
		for f := r[0]; f < r[1] && len(out) < maxWays; f++ {
			if !e.isTrue(f) {
				continue
			}
			if next, ok := e.g.matchFact(c, l, w, e.g.facts.argsOf(f)); ok {
				out = append(out, next)
			}
		}
	}
	return out
}

func (e *Episode) isTrue(f int) bool { return f >= e.g.facts.dynamic || e.plan.has(f) }

// factUnder is the number of a literal's fact under a binding, -1 if no such fact can be; ok is false
// if the binding leaves an argument open.
func (g *Game) factUnder(l literal, w []int) (f int, ok bool) {
	a := atom{pred: uint16(l.pred)}
	for i, t := range l.args {
		switch {
		case t == noEntity:
			return -1, true
		case t < 0:
			a.args[i] = uint16(^t)
		case w[t] < 0:
			return -1, false
		default:
			a.args[i] = uint16(w[t])
		}
	}
	return g.facts.find(&a), true
}

func (g *Game) matchFact(c *conj, l literal, w []int, args []uint16) ([]int, bool) {
	next := append([]int(nil), w...)
	for i, t := range l.args {
		v := int(args[i])
		switch {
		case t < 0:
			if t == noEntity || int(^t) != v {
				return nil, false
			}
		case next[t] < 0:
			if !g.world.ofType(c.vars[t].Type)[v] {
				return nil, false
			}
			next[t] = v
		case next[t] != v:
			return nil, false
		}
	}
	return next, true
}

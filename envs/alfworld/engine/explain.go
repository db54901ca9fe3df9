package engine

import (
	"strings"
	"unicode"

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

func quoteName(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "..."
	}
	return "\"" + strings.ToValidUTF8(s, "\uFFFD") + "\""
}

// part is a piece of a simple template: literal text, or a parameter's name where slot >= 0.
type part struct {
	text string
	slot int
}

// patternOf turns a template into parts. ok is false for a template that is more than text and names.
func patternOf(t node) (parts []part, ok bool) {
	switch n := t.(type) {
	case textNode:
		return []part{{string(n), -1}}, true
	case attrNode:
		return []part{{"", n.slot}}, n.attr == attrName
	case *listNode:
		return patternOf(n.body)
	case *eachNode:
		return patternOf(n.body)
	case seqNode:
		for _, m := range n {
			sub, ok := patternOf(m)
			if !ok {
				return nil, false
			}
			parts = append(parts, sub...)
		}
		return parts, true
	}
	return nil, false
}

func slotsOf(parts []part) []int {
	var out []int
	for _, p := range parts {
		if p.slot >= 0 {
			out = append(out, p.slot)
		}
	}
	return out
}

// matchPattern finds the ways in which a command fits a pattern: the text at each name.
func matchPattern(parts []part, command string) [][]string {
	if len(parts) == 0 {
		if command == "" {
			return [][]string{nil}
		}
		return nil
	}
	p, rest := parts[0], parts[1:]
	if p.slot < 0 {
		after, ok := strings.CutPrefix(command, p.text)
		if !ok {
			return nil
		}
		return matchPattern(rest, after)
	}
	if len(rest) == 0 {
		if command == "" {
			return nil
		}
		return [][]string{{command}}
	}
	var out [][]string
	if rest[0].slot >= 0 || rest[0].text == "" {
		return nil // nothing separates two names
	}
	const most = 8 // readings of one command
	for at := 0; len(out) < most; {
		n := strings.Index(command[at:], rest[0].text)
		if n < 0 {
			break
		}
		at += n
		for _, m := range matchPattern(rest, command[at:]) {
			out = append(out, append([]string{command[:at]}, m...))
		}
		at++
	}
	return out
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

// describe words a literal that does not hold.
func (e *Episode) describe(c *conj, li int, w, named []int) string {
	l := c.lits[li]
	words := predicateWords(e.g.spelling(l.pred))
	if len(l.args) == 1 && len(words) > 0 {
		last := words[len(words)-1]
		if words[0] == "is" {
			words = words[1:]
		} else if len(words) > 1 || !strings.HasSuffix(last, "ed") && !strings.HasSuffix(last, "ble") {
			words = nil
		}
		if len(words) > 0 {
			not := "not "
			if l.neg {
				not = ""
			}
			return "the " + e.argument(c, l.args[0], w, named) + " is " + not + strings.Join(words, " ")
		}
	}
	args := make([]string, len(l.args))
	for i, t := range l.args {
		args[i] = e.argument(c, t, w, named)
	}
	text := e.g.spelling(l.pred) + "(" + strings.Join(args, ", ") + ")"
	if l.neg {
		return "needs " + text + " to be false"
	}
	return "needs " + text
}

// argument words a term: an entity's name; where the command does not name it but a fact that never
// changes ties it to something that the command names, by that ("the location of the drawer 1").
func (e *Episode) argument(c *conj, t term, w, named []int) string {
	if t < 0 {
		if t == noEntity {
			return "nothing"
		}
		return e.g.display(int(^t))
	}
	if w[t] < 0 {
		if only := e.g.only(c.vars[t].Type); only >= 0 {
			return e.g.display(only)
		}
		return "some " + c.vars[t].Type
	}
	if int(t) < len(named) && named[t] >= 0 {
		return e.g.display(w[t])
	}
	for _, l := range c.lits {
		if l.neg || e.g.world.preds[l.pred].dynamic() || len(l.args) != 2 {
			continue
		}
		for i, other := range l.args {
			if l.args[1-i] == t && other >= 0 && int(other) < len(named) && named[other] >= 0 {
				return "the " + c.vars[t].Type + " of the " + e.g.display(named[other])
			}
		}
	}
	return e.g.display(w[t])
}

// only is the one entity of a type, or -1.
func (g *Game) only(typ string) int {
	found := -1
	for i, ok := range g.world.ofType(typ) {
		if ok && found >= 0 {
			return -1
		}
		if ok {
			found = i
		}
	}
	return found
}

func (g *Game) display(ent int) string {
	if name := strings.TrimSpace(g.entities[ent].name); name != "" {
		return name
	}
	return g.entities[ent].id
}

// spelling is a predicate as the domain writes it.
func (g *Game) spelling(pred int) string {
	name := g.world.preds[pred].name
	for _, p := range g.domain.Predicates {
		if p.Name == name {
			return p.Raw
		}
	}
	return name
}

// predicateWords splits camelCase and separators into lower-case words.
func predicateWords(s string) []string {
	var words []string
	var cur strings.Builder
	flush := func() {
		if cur.Len() > 0 {
			words = append(words, strings.ToLower(cur.String()))
			cur.Reset()
		}
	}
	for _, r := range s {
		switch {
		case r == '_' || r == '-':
			flush()
			continue
		case unicode.IsUpper(r):
			flush()
		}
		cur.WriteRune(r)
	}
	flush()
	return words
}

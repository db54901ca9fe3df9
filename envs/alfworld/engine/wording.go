package engine

import (
	"strings"
	"unicode"
)

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

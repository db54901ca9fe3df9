package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/envs/alfworld/pddl"
)

const (
	maxArity    = 6       // arguments of a predicate
	maxEntities = 1 << 15 // the top bit of an entity number marks a parameter of another type
)

// world holds what a game is about before any text: entities, types, predicates and initial facts. It
// is built by Compile and dropped after it, except for what Game keeps.
type world struct {
	domain  *pddl.Domain
	problem *pddl.Problem

	ids     []string // entity ids, sorted
	types   []string // declared type of each entity
	byID    map[string]int
	parent  map[string]string // type -> parent; "object" has none
	below   map[string][]string
	members map[string][]bool // type -> which entities are of it, subtypes included

	preds   []predicate
	predIDs map[string]int
	sealed  bool // shared by now: caches are no longer written
}

type predicate struct {
	name    string
	arity   int
	added   bool // some action adds it
	deleted bool // some action deletes it
}

func (p *predicate) dynamic() bool { return p.added || p.deleted }

func newWorld(d *pddl.Domain, p *pddl.Problem) (*world, error) {
	w := &world{
		domain: d, problem: p,
		byID: make(map[string]int), parent: make(map[string]string), below: make(map[string][]string),
		members: make(map[string][]bool), predIDs: make(map[string]int),
	}
	for _, t := range d.Types {
		if t.Name != "object" && w.parent[t.Name] == "" {
			w.parent[t.Name] = t.Type
		}
	}
	if err := w.checkTypes(); err != nil {
		return nil, err
	}
	if err := w.addEntities(); err != nil {
		return nil, err
	}
	for _, a := range d.Actions {
		for _, e := range a.Effects {
			id, err := w.predicate(e.Pred, len(e.Args), e.Line)
			if err != nil {
				return nil, err
			}
			w.preds[id].added = w.preds[id].added || !e.Del
			w.preds[id].deleted = w.preds[id].deleted || e.Del
		}
	}
	return w, nil
}

// checkTypes refuses a hierarchy that runs in a circle; an undeclared parent is a root of its own.
func (w *world) checkTypes() error {
	for t := range w.parent {
		slow := t
		for n, p := 0, w.parent[t]; p != ""; n, p = n+1, w.parent[p] {
			if p == slow || n > len(w.parent) {
				return fmt.Errorf("type %q is its own ancestor", t)
			}
		}
	}
	return nil
}

func (w *world) addEntities() error {
	all := slices.Concat(w.domain.Constants, w.problem.Objects)
	slices.SortStableFunc(all, func(a, b pddl.Typed) int { return strings.Compare(a.Name, b.Name) })
	if len(all) >= maxEntities {
		return fmt.Errorf("the problem has %d objects, at most %d are supported", len(all), maxEntities-1)
	}
	for i, o := range all {
		if i > 0 && all[i-1].Name == o.Name {
			return fmt.Errorf("object %q is declared twice", o.Name)
		}
		id := strings.Clone(o.Name) // a part of the file's text would keep all of it in memory
		w.byID[id] = i
		w.ids = append(w.ids, id)
		w.types = append(w.types, w.typeName(o.Type))
	}
	return nil
}

// typeName is one copy of a type's name.
func (w *world) typeName(t string) string {
	for _, d := range w.domain.Types {
		if d.Name == t {
			return d.Name
		}
	}
	return strings.Clone(t)
}

// isA reports whether type t is want or below it.
func (w *world) isA(t, want string) bool {
	for ; t != ""; t = w.parent[t] {
		if t == want {
			return true
		}
	}
	return want == "object"
}

// ofType says which entities are of a type. A type that nobody declared has none: the original finds
// no object for it either, which is how a stray comma in a type name disables a condition.
func (w *world) ofType(t string) []bool {
	if m, ok := w.members[t]; ok {
		return m
	}
	m := make([]bool, len(w.ids))
	for i, et := range w.types {
		m[i] = w.isA(et, t)
	}
	if !w.sealed {
		w.members[t] = m
	}
	return m
}

func (w *world) entityTerm(name string) term {
	if i, ok := w.byID[name]; ok {
		return ^term(i)
	}
	return noEntity
}

// predicate returns a predicate's number and makes one for a new name.
func (w *world) predicate(name string, arity, line int) (int, error) {
	if id, ok := w.predIDs[name]; ok {
		if w.preds[id].arity != arity {
			return 0, &pddl.Error{Line: line, Construct: name, Reason: fmt.Sprintf("used with %d arguments here and %d elsewhere", arity, w.preds[id].arity)}
		}
		return id, nil
	}
	switch {
	case arity > maxArity:
		return 0, &pddl.Error{Line: line, Construct: name, Reason: fmt.Sprintf("has %d arguments, at most %d are supported", arity, maxArity)}
	case strings.HasPrefix(name, "not_"):
		return 0, &pddl.Error{Line: line, Construct: name, Reason: "a predicate must not start with not_, which names negated facts in grammars"}
	}
	w.predIDs[name] = len(w.preds)
	w.preds = append(w.preds, predicate{name: name, arity: arity})
	return len(w.preds) - 1, nil
}

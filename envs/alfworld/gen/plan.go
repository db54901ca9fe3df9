package gen

import (
	"fmt"
	"slices"
)

// planner plays commands on a scene and checks each against the rules of the domain, so that the
// command list it leaves is one that the engines take.
type planner struct {
	s        *scene
	names    names
	at       place
	opened   map[int]bool
	in       []int // fixture of each item, -1 in the hand
	held     int   // item in the hand, -1 none
	treated  map[int]bool
	lit      map[int]bool
	commands []string
}

func newPlanner(s *scene, n names) *planner {
	p := &planner{
		s: s, names: n, at: s.start, held: -1,
		opened: map[int]bool{}, treated: map[int]bool{}, lit: map[int]bool{},
	}
	for _, it := range s.items {
		p.in = append(p.in, it.in)
	}
	return p
}

func (p *planner) say(format string, args ...any) {
	p.commands = append(p.commands, fmt.Sprintf(format, args...))
}

// visit walks to a fixture. Where its place has been reached already there is nothing to do: the
// engines know no walk from a place to itself.
func (p *planner) visit(f int) {
	if p.at == p.s.fixtures[f].at {
		return
	}
	p.at = p.s.fixtures[f].at
	p.say("go to %s", p.names.fixtures[f])
}

// reach visits a fixture and opens it where it is closed.
func (p *planner) reach(f int) {
	p.visit(f)
	if p.s.fixtures[f].kind.openable && !p.opened[f] {
		p.opened[f] = true
		p.say("open %s", p.names.fixtures[f])
	}
}

// fetch brings an item into the hand.
func (p *planner) fetch(i int) error {
	f := p.in[i]
	if p.held >= 0 || f < 0 || p.s.items[i].kind.has(lamp) {
		return fmt.Errorf("take %s: holding item %d, it lies in fixture %d", p.names.items[i], p.held, f)
	}
	p.reach(f)
	p.in[i], p.held = -1, i
	p.say("take %s from %s", p.names.items[i], p.names.fixtures[f])
	return nil
}

// drop puts the item in the hand down at a fixture.
func (p *planner) drop(f int) error {
	if p.held < 0 || !p.s.fixtures[f].kind.holds(p.s.items[p.held].kind) {
		return fmt.Errorf("move item %d to %s: not in the hand or not accepted", p.held, p.names.fixtures[f])
	}
	p.reach(f)
	p.say("move %s to %s", p.names.items[p.held], p.names.fixtures[f])
	p.in[p.held], p.held = f, -1
	return nil
}

// treat cleans, heats or cools the item in the hand at a fixture.
func (p *planner) treat(t treatment, f int) error {
	if p.held < 0 || p.s.fixtures[f].kind.name != t.appliance || !p.s.items[p.held].kind.has(t.needs) {
		return fmt.Errorf("%s item %d with %s: cannot", t.verb, p.held, p.names.fixtures[f])
	}
	p.visit(f)
	p.say("%s %s with %s", t.verb, p.names.items[p.held], p.names.fixtures[f])
	p.treated[p.held] = true
	return nil
}

// light uses a lamp.
func (p *planner) light(i int) error {
	if !p.s.items[i].kind.has(lamp) {
		return fmt.Errorf("use %s: no lamp", p.names.items[i])
	}
	p.visit(p.in[i])
	p.say("use %s", p.names.items[i])
	p.lit[i] = true
	return nil
}

// done reports whether the goal holds. Things in a fridge count as cold from the start, as in the
// problem's facts.
func (p *planner) done(g goal) bool {
	if g.task == Look {
		return p.held >= 0 && p.s.items[p.held].kind == g.what && p.lampHere(g.lamp)
	}
	arrived := make([]int, len(p.s.fixtures))
	for i, it := range p.s.items {
		if it.kind != g.what || p.in[i] < 0 || p.s.fixtures[p.in[i]].kind != g.where {
			continue
		}
		if _, needed := treatments[g.task]; !needed || p.treated[i] || g.task == Cool && it.cold {
			arrived[p.in[i]]++
		}
	}
	return slices.Max(arrived) >= g.copies()
}

// lampHere reports whether a used lamp of the kind is within reach.
func (p *planner) lampHere(kind thingKind) bool {
	for i := range p.lit {
		if p.s.items[i].kind == kind && p.s.fixtures[p.in[i]].at == p.at {
			return true
		}
	}
	return false
}

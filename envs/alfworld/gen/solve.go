package gen

import (
	"errors"
	"fmt"
)

// errNoPlan says that none of the ways to the goal that were tried works; a scene made by setScene
// always has one.
var errNoPlan = errors.New("no plan reaches the goal")

// solve returns the shortest of the straightforward plans: every choice of thing, appliance and
// destination is played, and the first of the shortest wins. It fails where the goal holds from the
// start, for then there is no task.
func solve(s *scene, g goal, n names) ([]string, error) {
	if newPlanner(s, n).done(g) {
		return nil, fmt.Errorf("goal %s holds at the start", g.task)
	}
	var best []string
	for _, steps := range routes(s, g) {
		p := newPlanner(s, n)
		if err := play(p, steps); err != nil {
			return nil, err
		}
		if p.done(g) && (best == nil || len(p.commands) < len(best)) {
			best = p.commands
		}
	}
	if best == nil {
		return nil, errNoPlan
	}
	return best, nil
}

// step is one thing that a route does with the planner.
type step func(*planner) error

func play(p *planner, steps []step) error {
	for _, do := range steps {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// routes lists the ways to the goal that solve compares.
func routes(s *scene, g goal) [][]step {
	things, targets := s.itemsOf(g.what), s.fixturesOf(g.where.name)
	var out [][]step
	switch g.task {
	case Look:
		for _, i := range things {
			for _, l := range s.itemsOf(g.lamp) {
				out = append(out, []step{fetch(i), light(l)})
			}
		}
	case PickTwo:
		for _, i := range things {
			for _, j := range things {
				for _, f := range targets {
					if i != j {
						out = append(out, []step{fetch(i), drop(f), fetch(j), drop(f)})
					}
				}
			}
		}
	case Place:
		for _, i := range things {
			for _, f := range targets {
				out = append(out, []step{fetch(i), drop(f)})
			}
		}
	default:
		t := treatments[g.task]
		for _, i := range things {
			for _, a := range s.fixturesOf(t.appliance) {
				for _, f := range targets {
					out = append(out, []step{fetch(i), treat(t, a), drop(f)})
				}
			}
		}
	}
	return out
}

func fetch(item int) step            { return func(p *planner) error { return p.fetch(item) } }
func drop(fixture int) step          { return func(p *planner) error { return p.drop(fixture) } }
func light(item int) step            { return func(p *planner) error { return p.light(item) } }
func treat(t treatment, at int) step { return func(p *planner) error { return p.treat(t, at) } }

// itemsOf lists the things of a kind by index.
func (s *scene) itemsOf(k thingKind) []int {
	var out []int
	for i, it := range s.items {
		if it.kind == k {
			out = append(out, i)
		}
	}
	return out
}

// fixturesOf lists the furniture of a name by index.
func (l layout) fixturesOf(name string) []int {
	var out []int
	for i, f := range l.fixtures {
		if f.kind.name == name {
			out = append(out, i)
		}
	}
	return out
}

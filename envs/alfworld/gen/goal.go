package gen

import (
	"fmt"
	"math/rand/v2"
)

// goal is what a game asks for.
type goal struct {
	task  TaskType
	what  thingKind
	where furnitureKind // the zero value in look-at tasks
	lamp  thingKind     // the zero value in all other tasks
}

// treatment is what a task does to its thing on the way: the property that this needs and the
// appliance that does it.
type treatment struct {
	needs     property
	appliance string
	verb      string // of the command
}

var treatments = map[TaskType]treatment{
	Clean: {washable, "SinkBasin", "clean"},
	Heat:  {warmable, "Microwave", "heat"},
	Cool:  {chillable, "Fridge", "cool"},
}

// copies is how many things of the goal's kind the task needs.
func (g goal) copies() int {
	if g.task == PickTwo {
		return 2
	}
	return 1
}

// avoid names the furniture where things of the goal's kind must not lie at the start: their
// destination, where nothing happens to them on the way; the fridge, where cooling is asked for.
func (g goal) avoid() string {
	switch g.task {
	case Place, PickTwo:
		return g.where.name
	case Cool:
		return "Fridge"
	}
	return ""
}

// possible reports whether the goal can be set in the empty scene.
func (g goal) possible(s *scene) bool {
	t := treatments[g.task]
	return g.what.has(t.needs) && g.where.name != t.appliance && g.where.holds(g.what) &&
		s.space(g.what, g.avoid()) >= g.copies()
}

// drawGoal draws a goal for the empty scene: first the kind of thing, then where to, so that things
// with many destinations are asked for no more often than others.
func drawGoal(rng *rand.Rand, t TaskType, s *scene) (goal, error) {
	var byThing [][]goal
	for _, span := range blueprints[s.layout.room].things {
		kind, _ := thing(span.kind)
		if options := goalsFor(t, kind, s); len(options) > 0 {
			byThing = append(byThing, options)
		}
	}
	if len(byThing) == 0 {
		return goal{}, fmt.Errorf("no goal for %s in %s %d", t, s.layout.room, s.number)
	}
	options := byThing[rng.IntN(len(byThing))]
	return options[rng.IntN(len(options))], nil
}

// goalsFor lists the task's possible goals with things of one kind.
func goalsFor(t TaskType, kind thingKind, s *scene) []goal {
	if kind.has(lamp) {
		return nil
	}
	if t == Look {
		return lampGoals(kind, s)
	}
	var out []goal
	for _, f := range furnitureKinds {
		if g := (goal{task: t, what: kind, where: f}); s.has(f.name) && g.possible(s) {
			out = append(out, g)
		}
	}
	return out
}

// lampGoals are the look-at goals: one for each kind of lamp that the room has for certain and that
// finds a place in it.
func lampGoals(kind thingKind, s *scene) []goal {
	var out []goal
	for _, span := range blueprints[s.layout.room].things {
		l, _ := thing(span.kind)
		if l.has(lamp) && span.min > 0 && s.space(l, "") > 0 && s.space(kind, "") > 0 {
			out = append(out, goal{task: Look, what: kind, lamp: l})
		}
	}
	return out
}

// has reports whether furniture of the name stands in the room.
func (l layout) has(name string) bool {
	for _, f := range l.fixtures {
		if f.kind.name == name {
			return true
		}
	}
	return false
}

// setScene draws a goal for the room and lays out the things: first the goal's, which need their
// places, then the rest.
func setScene(rng *rand.Rand, t TaskType, l layout) (*scene, goal, error) {
	s := newScene(l)
	g, err := drawGoal(rng, t, s)
	if err != nil {
		return nil, goal{}, err
	}
	if g.task == Look && !s.put(rng, g.lamp, "") {
		return nil, goal{}, fmt.Errorf("no place for a %s in %s %d", g.lamp.name, l.room, l.number)
	}
	for i := range g.copies() + rng.IntN(3) {
		if !s.put(rng, g.what, g.avoid()) && i < g.copies() {
			return nil, goal{}, fmt.Errorf("no place for a %s in %s %d", g.what.name, l.room, l.number)
		}
	}
	s.fill(rng, g.what.name, g.lamp.name)
	return s, g, nil
}

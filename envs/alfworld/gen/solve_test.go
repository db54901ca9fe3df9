package gen

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tiny is a kitchen with a table, a cabinet, a sink, a fridge and a lamp's table; the cabinet shares
// the table's location.
func tiny(t *testing.T, things map[string]int) *scene {
	t.Helper()
	l := layout{room: Kitchen, number: 31, start: place{9, 9, 0, 30}}
	for i, name := range []string{"DiningTable", "Cabinet", "SinkBasin", "Fridge", "SideTable"} {
		kind, ok := furniture(name)
		if !ok {
			t.Fatalf("no furniture %q", name)
		}
		at := place{i, 0, 0, 60}
		if name == "Cabinet" {
			at = l.fixtures[0].at
		}
		l.fixtures = append(l.fixtures, fixture{kind: kind, at: at, id: mangle(name, 100*i, kind.height, 0)})
	}
	s := newScene(l)
	for _, k := range thingKinds { // in the table's order, for a map has none
		if in, ok := things[k.name]; ok {
			s.items = append(s.items, item{kind: k, in: in, id: mangle(k.name, 0, 50, in), cold: in == 3})
		}
	}
	return s
}

func goalOf(t *testing.T, task TaskType, what, where string) goal {
	t.Helper()
	k, _ := thing(what)
	g := goal{task: task, what: k}
	if task == Look {
		g.lamp, _ = thing(where)
	} else {
		g.where, _ = furniture(where)
	}
	return g
}

func TestSolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		things map[string]int
		goal   goal
		want   []string
	}{
		{
			"the neighbour needs no walk",
			map[string]int{"Mug": 0},
			goalOf(t, Place, "Mug", "Cabinet"),
			[]string{"go to diningtable 1", "take mug 1 from diningtable 1", "open cabinet 1", "move mug 1 to cabinet 1"},
		},
		{
			"clean",
			map[string]int{"Mug": 4},
			goalOf(t, Clean, "Mug", "DiningTable"),
			[]string{
				"go to sidetable 1", "take mug 1 from sidetable 1", "go to sinkbasin 1",
				"clean mug 1 with sinkbasin 1", "go to diningtable 1", "move mug 1 to diningtable 1",
			},
		},
		{
			"what is cold already",
			map[string]int{"Apple": 3},
			goalOf(t, Cool, "Apple", "SinkBasin"),
			[]string{
				"go to fridge 1", "open fridge 1", "take apple 1 from fridge 1",
				"cool apple 1 with fridge 1", "go to sinkbasin 1", "move apple 1 to sinkbasin 1",
			},
		},
		{
			"look",
			map[string]int{"Book": 0, "DeskLamp": 4},
			goalOf(t, Look, "Book", "DeskLamp"),
			[]string{"go to diningtable 1", "take book 1 from diningtable 1", "go to sidetable 1", "use desklamp 1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := tiny(t, c.things)
			got, err := solve(s, c.goal, newNames(s))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("plan (-want +got):\n%s", d)
			}
		})
	}
}

func TestSolveTakesTheShortestOfTwoAndTwo(t *testing.T) {
	t.Parallel()
	s := tiny(t, nil)
	mug, _ := thing("Mug")
	for i, in := range []int{4, 1, 0} {
		s.items = append(s.items, item{kind: mug, in: in, id: mangle("Mug", i, 50, 0)})
	}
	got, err := solve(s, goalOf(t, PickTwo, "Mug", "SinkBasin"), newNames(s))
	if err != nil {
		t.Fatal(err)
	}
	// The mug of the closed cabinet costs one command more.
	if len(got) != 8 || strings.Contains(strings.Join(got, "\n"), "cabinet") {
		t.Errorf("plan %q", got)
	}
}

func TestSolveRefuses(t *testing.T) {
	t.Parallel()
	s := tiny(t, map[string]int{"Mug": 0})
	if _, err := solve(s, goalOf(t, Place, "Mug", "DiningTable"), newNames(s)); err == nil ||
		!strings.Contains(err.Error(), "holds at the start") {
		t.Errorf("a goal that holds: %v", err)
	}
	if _, err := solve(s, goalOf(t, Place, "Cup", "Cabinet"), newNames(s)); !errors.Is(err, errNoPlan) {
		t.Errorf("a thing that is not there: %v", err)
	}
	if _, err := solve(s, goalOf(t, PickTwo, "Mug", "Cabinet"), newNames(s)); !errors.Is(err, errNoPlan) {
		t.Errorf("two things where there is one: %v", err)
	}
}

// The planner refuses what the engines would refuse.
func TestPlannerKeepsTheRules(t *testing.T) {
	t.Parallel()
	s := tiny(t, map[string]int{"Mug": 0, "Book": 0, "DeskLamp": 4})
	book, mug, light := s.itemsOf(kindOf(t, "Book"))[0], s.itemsOf(kindOf(t, "Mug"))[0], s.itemsOf(kindOf(t, "DeskLamp"))[0]
	for name, try := range map[string]func(*planner) error{
		"drop with empty hands":  func(p *planner) error { return p.drop(0) },
		"treat with empty hands": func(p *planner) error { return p.treat(treatments[Clean], 2) },
		"pick up a lamp":         func(p *planner) error { return p.fetch(light) },
		"use a mug":              func(p *planner) error { return p.light(mug) },
		"carry two": func(p *planner) error {
			if err := p.fetch(mug); err != nil {
				return nil
			}
			return p.fetch(book)
		},
		"clean a book": func(p *planner) error {
			if err := p.fetch(book); err != nil {
				return nil
			}
			return p.treat(treatments[Clean], 2)
		},
		"clean in a fridge": func(p *planner) error {
			if err := p.fetch(mug); err != nil {
				return nil
			}
			return p.treat(treatments[Clean], 3)
		},
		"a book into the fridge": func(p *planner) error {
			if err := p.fetch(book); err != nil {
				return nil
			}
			return p.drop(3)
		},
	} {
		if err := try(newPlanner(s, newNames(s))); err == nil {
			t.Errorf("%s: allowed", name)
		}
	}
}

func kindOf(t *testing.T, name string) thingKind {
	t.Helper()
	k, ok := thing(name)
	if !ok {
		t.Fatalf("no thing %q", name)
	}
	return k
}

package gen

import (
	"slices"
	"strings"
	"testing"
)

func TestFurnitureAcceptsKnownThings(t *testing.T) {
	t.Parallel()
	groups := map[string]bool{}
	for _, k := range thingKinds {
		groups[k.group] = true
	}
	for _, f := range furnitureKinds {
		words := strings.Fields(f.accepts)
		for _, w := range words {
			name, minus := strings.CutPrefix(w, "-")
			kind, known := thing(name)
			if !known && (minus || !groups[name]) {
				t.Errorf("%s accepts %q, which is no kind and no group", f.name, w)
			}
			if minus && !slices.Contains(words, kind.group) {
				t.Errorf("%s takes %s out, but not in with its group %q", f.name, name, kind.group)
			}
		}
	}
}

func TestTablesNameEachKindOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range thingKinds {
		if seen[k.name] || seen[k.group] {
			t.Errorf("thing %s or its group %q is named twice", k.name, k.group)
		}
		seen[k.name] = true
	}
	for _, f := range furnitureKinds {
		if seen[f.name] {
			t.Errorf("furniture %s is named twice", f.name)
		}
		seen[f.name] = true
	}
	if _, ok := thing("Spaceship"); ok {
		t.Error("thing finds a spaceship")
	}
	if _, ok := furniture("Spaceship"); ok {
		t.Error("furniture finds a spaceship")
	}
}

func TestBlueprintsAreConsistent(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, room := range Rooms() {
		b := blueprints[room]
		for _, s := range slices.Concat(b.furniture, b.things) {
			if s.min < 0 || s.max < max(1, s.min) {
				t.Errorf("%s: %s has the range %d to %d", room, s.kind, s.min, s.max)
			}
			used[s.kind] = true
		}
		for _, s := range b.furniture {
			if _, ok := furniture(s.kind); !ok {
				t.Errorf("%s: unknown furniture %q", room, s.kind)
			}
		}
		for _, s := range b.things {
			kind, ok := thing(s.kind)
			if !ok {
				t.Errorf("%s: unknown thing %q", room, s.kind)
			}
			home := slices.ContainsFunc(b.furniture, func(f span) bool {
				k, _ := furniture(f.kind)
				return f.min > 0 && k.room > 0 && k.holds(kind)
			})
			if s.min > 0 && !home {
				t.Errorf("%s: %s is always there and has no home that always is", room, s.kind)
			}
		}
	}
	for _, k := range thingKinds {
		if !used[k.name] {
			t.Errorf("no room has a %s", k.name)
		}
	}
	for _, f := range furnitureKinds {
		if !used[f.name] {
			t.Errorf("no room has a %s", f.name)
		}
	}
}

func TestCompanionsAreFurniture(t *testing.T) {
	t.Parallel()
	for _, c := range companions {
		for _, name := range []string{c.kind, c.host} {
			if _, ok := furniture(name); !ok {
				t.Errorf("companion %q is no furniture", name)
			}
		}
		if c.percent < 1 || c.percent > 100 || c.most < 2 {
			t.Errorf("companion %+v: bad numbers", c)
		}
	}
}

// Every appliance stands in each room that suits its task, whatever the floor plan.
func TestRoomsHaveWhatTheirTasksNeed(t *testing.T) {
	t.Parallel()
	for _, room := range Rooms() {
		for _, task := range TaskTypes() {
			tr, ok := treatments[task]
			if !ok || !Suits(task, room) {
				continue
			}
			for plan := firstPlan; plan <= lastHeldPlan; plan++ {
				if l := newLayout(room, blueprints[room].base+plan); !l.has(tr.appliance) {
					t.Errorf("%s %d has no %s", room, plan, tr.appliance)
				}
			}
		}
	}
}

package gen

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLayoutIsAFunctionOfItsNumber(t *testing.T) {
	t.Parallel()
	for _, room := range Rooms() {
		n := blueprints[room].base + 40
		a, b := newLayout(room, n), newLayout(room, n)
		if d := cmp.Diff(ids(a), ids(b)); d != "" {
			t.Errorf("%s %d differs from itself:\n%s", room, n, d)
		}
		if cmp.Equal(ids(a), ids(newLayout(room, n+1))) {
			t.Errorf("%s %d and %d are the same room", room, n, n+1)
		}
	}
}

func ids(l layout) []string {
	out := l.places()
	for _, f := range l.fixtures {
		out = append(out, f.id+" "+f.at.id())
	}
	return out
}

var (
	fixtureID = regexp.MustCompile(`^[A-Z][A-Za-z]+(_bar__(plus|minus)_\d\d_dot_\d\d){3}(_bar_(Sink|Bathtub)Basin)?$`)
	placeID   = regexp.MustCompile(`^loc(_bar_(_minus_)?\d+){2}_bar_[0-3]_bar_(_minus_)?\d+$`)
)

// Over all floor plans: ids are unique and well formed, the agent starts away from all furniture, and
// a fair part of the rooms has furniture that shares a location.
func TestLayouts(t *testing.T) {
	t.Parallel()
	rooms, shared, sizes := 0, 0, map[Room]map[int]bool{}
	for _, room := range Rooms() {
		sizes[room] = map[int]bool{}
		for plan := firstPlan; plan <= lastHeldPlan; plan++ {
			l := newLayout(room, blueprints[room].base+plan)
			seen, at := map[string]bool{}, map[place]int{}
			for _, f := range l.fixtures {
				if !fixtureID.MatchString(f.id) || !placeID.MatchString(f.at.id()) {
					t.Errorf("%s %d: ids %q at %q are ill formed", room, plan, f.id, f.at.id())
				}
				if seen[f.id] {
					t.Errorf("%s %d: id %q twice", room, plan, f.id)
				}
				seen[f.id] = true
				at[f.at]++
			}
			if at[l.start] > 0 {
				t.Errorf("%s %d: the agent starts at furniture", room, plan)
			}
			rooms++
			if len(at) < len(l.fixtures) {
				shared++
			}
			for p, n := range at {
				if n > 4 {
					t.Errorf("%s %d: %d pieces share %q", room, plan, n, p.id())
				}
			}
			sizes[room][len(l.fixtures)] = true
		}
		if len(sizes[room]) < 6 {
			t.Errorf("%s comes in %d sizes only", room, len(sizes[room]))
		}
	}
	if shared*2 < rooms {
		t.Errorf("furniture shares a location in %d of %d rooms, want at least half", shared, rooms)
	}
}

func TestMangle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		x, y, z int
		want    string
	}{
		{"Mug", 5, 100, -1234, "Mug_bar__plus_00_dot_05_bar__plus_01_dot_00_bar__minus_12_dot_34"},
		{"SinkBasin", -5, 80, 0, "Sink_bar__minus_00_dot_05_bar__plus_00_dot_80_bar__plus_00_dot_00_bar_SinkBasin"},
	} {
		if got := mangle(c.name, c.x, c.y, c.z); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := (place{-3, 0, 2, 60}).id(); got != "loc_bar__minus_3_bar_0_bar_2_bar_60" {
		t.Errorf("location id %s", got)
	}
}

func TestHeldOutRoomsOccurNowhereElse(t *testing.T) {
	t.Parallel()
	plans := map[string]map[int]bool{}
	for _, split := range []string{"train", "valid_seen", "valid_unseen"} {
		plans[split] = map[int]bool{}
		games, err := Generate(3, Config{Split: split, Count: 60})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range games {
			plans[split][g.Plan] = true
		}
	}
	for _, split := range []string{"train", "valid_seen"} {
		for plan := range plans[split] {
			if plans["valid_unseen"][plan] {
				t.Errorf("floor plan %d is in %s and in valid_unseen", plan, split)
			}
		}
	}
}

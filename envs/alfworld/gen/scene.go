package gen

import (
	"math/rand/v2"
	"slices"
)

// item is one object in the room.
type item struct {
	kind thingKind
	in   int // index of the fixture that it lies in or on
	id   string
	cold bool // it lies in a fridge and can be cold
}

// scene is a furnished room with things in it.
type scene struct {
	layout
	items []item
	room  []int // room left in each fixture
	used  map[string]bool
}

func newScene(l layout) *scene {
	s := &scene{layout: l, room: make([]int, len(l.fixtures)), used: map[string]bool{}}
	for i, f := range l.fixtures {
		s.room[i] = f.kind.room
	}
	return s
}

// homes are the fixtures where a thing of the kind may be put at the start: they accept it, have room
// left and are not of the avoided kind. weights says how readily each is chosen.
func (s *scene) homes(k thingKind, avoid string) (fixtures, weights []int) {
	for i, f := range s.fixtures {
		if s.room[i] > 0 && f.kind.name != avoid && f.kind.holds(k) {
			fixtures = append(fixtures, i)
			weights = append(weights, f.kind.room)
		}
	}
	return fixtures, weights
}

// space counts how many things of the kind still find a home.
func (s *scene) space(k thingKind, avoid string) int {
	n := 0
	fixtures, _ := s.homes(k, avoid)
	for _, i := range fixtures {
		n += s.room[i]
	}
	return n
}

// put lays one thing of the kind somewhere and reports whether there was a home for it.
func (s *scene) put(rng *rand.Rand, k thingKind, avoid string) bool {
	fixtures, weights := s.homes(k, avoid)
	if len(fixtures) == 0 {
		return false
	}
	i := fixtures[weighted(rng, weights)]
	f := s.fixtures[i]
	it := item{kind: k, in: i, cold: f.kind.name == "Fridge" && k.has(chillable)}
	for {
		it.id = mangle(k.name, f.x+between(rng, -25, 25), f.kind.height+between(rng, 0, 12), f.z+between(rng, -25, 25))
		if !s.used[it.id] {
			break
		}
	}
	s.used[it.id] = true
	s.room[i]--
	s.items = append(s.items, it)
	return true
}

// fill adds the room's usual things, except those of the kinds in without. Where there is no room left
// for one, it is left out.
func (s *scene) fill(rng *rand.Rand, without ...string) {
	spans := blueprints[s.layout.room].things
	for _, i := range rng.Perm(len(spans)) {
		if slices.Contains(without, spans[i].kind) {
			continue
		}
		kind, _ := thing(spans[i].kind)
		for range between(rng, spans[i].min, spans[i].max) {
			s.put(rng, kind, "")
		}
	}
}

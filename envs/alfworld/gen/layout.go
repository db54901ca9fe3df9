package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// place is a spot to stand: a grid cell (quarters of a metre), a heading in quarter turns and a tilt
// of the head in degrees, as ALFWorld's location ids have them.
type place struct{ x, z, turn, tilt int }

// id is the location's name in the PDDL problem.
func (p place) id() string {
	return strings.Join([]string{"loc", signed(p.x), signed(p.z), signed(p.turn), signed(p.tilt)}, "_bar_")
}

// fixture is one piece of furniture.
type fixture struct {
	kind furnitureKind
	at   place
	x, z int // its own position, cm
	id   string
}

// layout is a room with its furniture and nothing in it.
type layout struct {
	room     Room
	number   int // floor plan number
	fixtures []fixture
	start    place // where the agent stands at the start: at no furniture
}

// The floor plan numbers of a kind of room, added to its base. They lie above those that ALFWorld
// uses, so that no generated room passes for one of its rooms.
const (
	firstPlan, lastPlan         = 31, 80
	firstHeldPlan, lastHeldPlan = 81, 99
)

// heldOut is the split whose rooms occur in no other.
const heldOut = "valid_unseen"

// drawPlan draws a floor plan number for a game of the split.
func drawPlan(rng *rand.Rand, room Room, split string) int {
	base := blueprints[room].base
	if split == heldOut {
		return base + between(rng, firstHeldPlan, lastHeldPlan)
	}
	return base + between(rng, firstPlan, lastPlan)
}

// newLayout furnishes the room of a number. It is a function of its arguments alone.
func newLayout(room Room, number int) layout {
	b := builder{
		rng:   stream("layout", room, number),
		taken: map[place]int{},
		used:  map[string]bool{},
		out:   layout{room: room, number: number},
	}
	b.width, b.depth = between(b.rng, 9, 16), between(b.rng, 9, 16)
	for _, s := range blueprints[room].furniture {
		kind, _ := furniture(s.kind)
		for range between(b.rng, s.min, s.max) {
			b.add(kind)
		}
	}
	b.out.start = b.freePlace(2)
	b.out.start.tilt = 30
	return b.out
}

// builder holds the state of newLayout.
type builder struct {
	rng          *rand.Rand
	width, depth int           // half extents, quarters of a metre
	taken        map[place]int // location -> pieces that share it
	used         map[string]bool
	out          layout
}

// add puts one piece of furniture somewhere: beside a companion, or at a place of its own.
func (b *builder) add(kind furnitureKind) {
	at, shared := b.companionPlace(kind)
	if !shared {
		at = b.freePlace(b.rng.IntN(4))
		at.tilt = 60
		if kind.height >= 90 {
			at.tilt = 45 - 15*b.rng.IntN(2)
		}
	}
	b.taken[at]++
	f := fixture{kind: kind, at: at}
	for {
		f.x = at.x*25 + between(b.rng, -60, 60)
		f.z = at.z*25 + between(b.rng, -60, 60)
		f.id = mangle(kind.name, f.x, kind.height, f.z)
		if !b.used[f.id] {
			break
		}
	}
	b.used[f.id] = true
	b.out.fixtures = append(b.out.fixtures, f)
}

// companionPlace decides whether the piece shares another's location, and whose.
func (b *builder) companionPlace(kind furnitureKind) (place, bool) {
	for _, c := range companions {
		if c.kind != kind.name || b.rng.IntN(100) >= c.percent {
			continue
		}
		var hosts []place
		for _, f := range b.out.fixtures {
			if f.kind.name == c.host && b.taken[f.at] < c.most {
				hosts = append(hosts, f.at)
			}
		}
		if len(hosts) > 0 {
			return hosts[b.rng.IntN(len(hosts))], true
		}
	}
	return place{}, false
}

// freePlace draws a cell and heading that nothing uses yet. A cell and heading count as used with any
// tilt, so that locations differ by more than the head.
func (b *builder) freePlace(turn int) place {
	for {
		p := place{x: between(b.rng, -b.width, b.width), z: between(b.rng, -b.depth, b.depth), turn: turn}
		free := true
		for q := range b.taken {
			if q.x == p.x && q.z == p.z && q.turn == p.turn {
				free = false
			}
		}
		if free {
			return p
		}
	}
}

// signed spells an integer in an id: minus signs are words there.
func signed(n int) string {
	if n < 0 {
		return fmt.Sprintf("_minus_%d", -n)
	}
	return fmt.Sprint(n)
}

// metres spells a length of n cm in an id, always with sign and two digits on both sides of the dot.
func metres(n int) string {
	sign := "_plus_"
	if n < 0 {
		sign, n = "_minus_", -n
	}
	return fmt.Sprintf("%s%02d_dot_%02d", sign, n/100, n%100)
}

// mangle is the id of a thing or a piece of furniture at a position in cm. A basin is a part of what
// it is named for: Sink_bar_…_bar_SinkBasin.
func mangle(name string, x, y, z int) string {
	owner, basin := strings.CutSuffix(name, "Basin")
	id := strings.Join([]string{owner, metres(x), metres(y), metres(z)}, "_bar_")
	if basin {
		id += "_bar_" + name
	}
	return id
}

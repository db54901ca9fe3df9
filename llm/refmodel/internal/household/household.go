// Package household is a small text game in the manner of ALFWorld: rooms with receptacles, things to
// find, clean, heat, cool, carry and look at, and an expert who knows where everything is. The
// reference model is tuned and tested on it, so that neither needs an environment package.
package household

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// thing is a receptacle or an object, e.g. "cabinet 2".
type thing struct {
	kind, name string
	closable   bool
	open       bool
	inside     []*thing // a receptacle's objects
	hot, cold  bool
	clean      bool
}

// Game is one room and one task. It is not safe for concurrent use.
type Game struct {
	Task       string // the instruction
	receptacle []*thing
	at         *thing // nil in the middle of the room
	held       *thing
	lit        bool

	want, where, process string // goal: kind of object, kind of receptacle, "" or heat, cool, clean, look
	count                int
}

var rooms = []struct {
	receptacles []string // kinds, with how many at most
	objects     []string
}{
	{
		[]string{"cabinet*6", "drawer*3", "countertop*3", "fridge", "microwave", "sinkbasin", "stoveburner*4", "garbagecan", "shelf*2", "diningtable"},
		[]string{"apple", "bread", "egg", "lettuce", "potato", "tomato", "bowl", "cup", "mug", "plate", "pan", "pot", "fork", "knife", "spoon", "spatula", "saltshaker", "peppershaker", "dishsponge"},
	},
	{
		[]string{"bed", "desk*2", "drawer*5", "shelf*4", "sidetable*2", "safe", "garbagecan", "dresser"},
		[]string{"book", "pen", "pencil", "cd", "cellphone", "creditcard", "keychain", "laptop", "mug", "bowl", "alarmclock", "pillow", "watch"},
	},
	{
		[]string{"cabinet*4", "countertop", "sinkbasin*2", "toilet", "bathtubbasin", "towelholder", "garbagecan", "shelf*2", "drawer*2"},
		[]string{"soapbar", "soapbottle", "cloth", "spraybottle", "toiletpaper", "candle", "tissuebox", "towel", "handtowel"},
	},
	{
		[]string{"sofa", "armchair*2", "coffeetable", "sidetable*3", "shelf*3", "drawer*4", "dresser", "garbagecan"},
		[]string{"remotecontrol", "newspaper", "pillow", "vase", "statue", "box", "laptop", "book", "keychain", "watch", "creditcard", "plate"},
	},
}

var closable = []string{"cabinet", "drawer", "fridge", "microwave", "safe"}

// New makes the game of a seed.
func New(seed uint64) *Game {
	r := rand.New(rand.NewPCG(seed, 7))
	room := int(seed % uint64(len(rooms)))
	g := &Game{}
	for _, spec := range rooms[room].receptacles {
		kind, most, many := strings.Cut(spec, "*")
		n := 1
		if many {
			n += r.IntN(int(most[0] - '0'))
		}
		for i := range n {
			g.receptacle = append(g.receptacle, &thing{kind: kind, name: fmt.Sprintf("%s %d", kind, i+1), closable: slices.Contains(closable, kind)})
		}
	}
	numbers := map[string]int{}
	for range 12 + r.IntN(8) {
		kind := rooms[room].objects[r.IntN(len(rooms[room].objects))]
		numbers[kind]++
		g.put(r, &thing{kind: kind, name: fmt.Sprintf("%s %d", kind, numbers[kind])})
	}
	if room == 1 || room == 3 {
		g.put(r, &thing{kind: "desklamp", name: "desklamp 1"})
	}
	g.choose(r, room, rooms[room].objects, numbers)
	return g
}

func (g *Game) put(r *rand.Rand, o *thing) {
	at := g.receptacle[r.IntN(len(g.receptacle))]
	at.inside = append(at.inside, o)
}

// choose sets a goal that the room allows and that does not hold yet.
func (g *Game) choose(r *rand.Rand, room int, kinds []string, numbers map[string]int) {
	for {
		g.want = kinds[r.IntN(len(kinds))]
		g.where = g.receptacle[r.IntN(len(g.receptacle))].kind
		g.count, g.process = 1, ""
		if numbers[g.want] == 0 {
			continue
		}
		switch r.IntN(4) {
		case 1:
			if numbers[g.want] > 1 {
				g.count = 2
			}
		case 2, 3:
			g.process = [][]string{{"heat", "cool", "clean"}, {"look"}, {"clean"}, {"look"}}[room][r.IntN(map[bool]int{true: 3, false: 1}[room == 0])]
		}
		if g.where == "microwave" && g.process == "heat" || g.where == "fridge" && g.process == "cool" || g.where == "sinkbasin" && g.process == "clean" || g.Won() {
			continue
		}
		break
	}
	adjective := map[string]string{"heat": "hot ", "cool": "cool ", "clean": "clean "}[g.process]
	switch {
	case g.process == "look":
		g.Task = fmt.Sprintf("look at %s under the desklamp.", g.want)
	case g.count == 2:
		g.Task = fmt.Sprintf("put two %s in %s.", g.want, g.where)
	case r.IntN(2) == 0:
		g.Task = fmt.Sprintf("put a %s%s in %s.", adjective, g.want, g.where)
	default:
		g.Task = fmt.Sprintf("put some %s%s on %s.", adjective, g.want, g.where)
	}
}

// Won reports whether the goal holds.
func (g *Game) Won() bool {
	if g.process == "look" {
		return g.lit && g.held != nil && g.held.kind == g.want
	}
	for _, r := range g.receptacle {
		n := 0
		for _, o := range r.inside {
			if r.kind == g.where && o.kind == g.want && g.done(o) {
				n++
			}
		}
		if n >= g.count {
			return true
		}
	}
	return false
}

func (g *Game) done(o *thing) bool {
	return g.process == "" || g.process == "look" || g.process == "heat" && o.hot || g.process == "cool" && o.cold || g.process == "clean" && o.clean
}

// Intro is the first observation.
func (g *Game) Intro() string {
	return "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see " +
		list(g.receptacle) + ".\n\nYour task is to: " + g.Task
}

func list(things []*thing) string {
	if len(things) == 0 {
		return "nothing"
	}
	names := make([]string, len(things))
	for i, t := range things {
		names[i] = "a " + t.name
	}
	if len(names) > 1 {
		names[len(names)-1] = "and " + names[len(names)-1]
	}
	return strings.Join(names, ", ")
}

func (g *Game) look(r *thing) string {
	switch {
	case r.closable && !r.open:
		return "The " + r.name + " is closed."
	case r.closable:
		return "The " + r.name + " is open. In it, you see " + list(r.inside) + "."
	}
	return "On the " + r.name + ", you see " + list(r.inside) + "."
}

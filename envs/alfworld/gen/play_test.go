package gen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hindsightrl/harness/envs/alfworld/engine"
	"github.com/hindsightrl/harness/envs/alfworld/pddl"
)

// compile makes a game ready for the native engine.
func compile(tb testing.TB, domain *pddl.Domain, g Game) *engine.Game {
	tb.Helper()
	compiled, err := engine.CompileWith(domain, engine.Source{Domain: Domain(), Problem: g.Problem, Grammar: g.Grammar()})
	if err != nil {
		tb.Fatalf("%s: %v", g.Path(), err)
	}
	return compiled
}

func mustDomain(tb testing.TB) *pddl.Domain {
	tb.Helper()
	d, err := pddl.ParseDomain(Domain())
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// The engine takes every command of a walkthrough, and the game is won by the last one and not before.
func TestWalkthroughsWinInTheEngine(t *testing.T) {
	t.Parallel()
	seeds := 200
	if testing.Short() {
		seeds = 40
	}
	domain, rng := mustDomain(t), rand.New(rand.NewPCG(12, 0))
	for i := range seeds {
		seed := rng.Uint64()
		g := mustGenerate(t, seed, Config{Count: 1, First: i})[0]
		if err := playThrough(compile(t, domain, g).NewEpisode(), g.Walkthrough); err != nil {
			t.Fatalf("seed %d, index %d, %s: %v", seed, i, g.Path(), err)
		}
	}
}

// playThrough plays commands that are to win with the last one.
func playThrough(e *engine.Episode, commands []string) error {
	if r := e.Reset(); r.Won {
		return fmt.Errorf("won at the start")
	}
	for i, c := range commands {
		r, err := e.Step(c)
		if err != nil {
			return err
		}
		last := i == len(commands)-1
		if !r.Applied || r.Won != last {
			return fmt.Errorf("command %d of %d, %q: applied %v, won %v: %s", i+1, len(commands), c, r.Applied, r.Won, r.Observation)
		}
	}
	return nil
}

// The texts that programs read, one of each, as the engine expands them.
func TestTexts(t *testing.T) {
	t.Parallel()
	l := layout{room: Kitchen, number: 31, start: place{9, 9, 0, 30}}
	for i, name := range []string{"CounterTop", "CoffeeMachine", "Cabinet", "Fridge", "Microwave", "SinkBasin", "SideTable"} {
		kind, _ := furniture(name)
		at := place{i, 0, 0, 60}
		if name == "CoffeeMachine" {
			at = l.fixtures[0].at
		}
		l.fixtures = append(l.fixtures, fixture{kind: kind, at: at, id: mangle(name, 100*i, kind.height, 0)})
	}
	s := newScene(l)
	for i, name := range []string{"Apple", "Knife", "Mug", "DeskLamp"} {
		in := 0
		if name == "DeskLamp" {
			in = 6
		}
		s.items = append(s.items, item{kind: kindOf(t, name), in: in, id: mangle(name, i, 50, 0)})
	}
	g := Game{Sentence: "put a hot apple in a cabinet", Problem: problem("p", s, goalOf(t, Heat, "Apple", "Cabinet"))}
	e := compile(t, mustDomain(t), g).NewEpisode()

	const room = "a cabinet 1, a coffeemachine 1, a countertop 1, a fridge 1, a microwave 1, a sidetable 1, and a sinkbasin 1"
	want := "-= Welcome to a Hindsight household =-\n\nYou stand in the middle of the room. Looking around, you see " +
		room + ".\n\nYour task is to: put a hot apple in a cabinet."
	if r := e.Reset(); r.Observation != want {
		t.Errorf("introduction\n got %q\nwant %q", r.Observation, want)
	}
	for _, step := range [][2]string{
		{"look", "You stand in the middle of the room. Looking around, you see nothing."},
		{"inventory", "Your hands are empty."},
		{"go to countertop 1", "You arrive at countertop 1. On the countertop 1, you see a apple 1, a knife 1, and a mug 1."},
		{"go to coffeemachine 1", "Nothing happens."},
		{"look", "In front of you: the coffeemachine 1, and countertop 1. Around it, you see nothing."},
		{"take knife 1 from countertop 1", "You take the knife 1 from the countertop 1."},
		{"take mug 1 from countertop 1", "Nothing happens."},
		{"look", "In front of you: the coffeemachine 1, and countertop 1. Around it, you see nothing."},
		{"inventory", "In your hand: a knife 1."},
		{"examine knife 1", "The knife 1 looks as it always does."},
		{"slice apple 1 with knife 1", "You cut the apple 1 into slices, using the knife 1."},
		{"go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."},
		{"clean knife 1 with sinkbasin 1", "You wash the knife 1 in the sinkbasin 1. It is clean now."},
		{"examine knife 1", "The knife 1 is clean."},
		{"move knife 1 to sinkbasin 1", "You leave the knife 1 at the sinkbasin 1."},
		{"go to countertop 1", "You arrive at countertop 1. On the countertop 1, you see a apple 1, and a mug 1."},
		{"take apple 1 from countertop 1", "You take the apple 1 from the countertop 1."},
		{"examine apple 1", "The apple 1 is sliced."},
		{"go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed."},
		{"cool apple 1 with fridge 1", "You chill the apple 1 in the fridge 1. It is cold now."},
		{"examine apple 1", "The apple 1 is cold, and it is sliced."},
		{"open fridge 1", "You open the fridge 1. The fridge 1 is open. In it, you see nothing."},
		{"close fridge 1", "You shut the fridge 1."},
		{"go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see a knife 1."},
		{"clean apple 1 with sinkbasin 1", "You wash the apple 1 in the sinkbasin 1. It is clean now."},
		{"examine apple 1", "The apple 1 is cold and clean, and it is sliced."},
		{"go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed."},
		{"heat apple 1 with microwave 1", "You warm the apple 1 up in the microwave 1. It is hot now."},
		{"examine apple 1", "The apple 1 is hot and clean, and it is sliced."},
		{"go to sidetable 1", "You arrive at sidetable 1. On the sidetable 1, you see a desklamp 1."},
		{"use desklamp 1", "You switch the desklamp 1 on."},
		{"take desklamp 1 from sidetable 1", "Nothing happens."},
		{"go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is closed."},
		{"move apple 1 to cabinet 1", "Nothing happens."},
		{"open cabinet 1", "You open the cabinet 1. The cabinet 1 is open. In it, you see nothing."},
		{"move apple 1 to cabinet 1", "Nothing happens."}, // cabinets take no food
	} {
		r, err := e.Step(step[0])
		if err != nil {
			t.Fatal(err)
		}
		if r.Observation != step[1] {
			t.Errorf("%s\n got %q\nwant %q", step[0], r.Observation, step[1])
		}
	}
}

// Every verb of the help text is a command of some game, and no game has other verbs.
func TestHelpNamesEveryVerb(t *testing.T) {
	t.Parallel()
	domain, verbs := mustDomain(t), map[string]bool{}
	for _, g := range mustGenerate(t, 4, Config{Count: 6}) {
		e := compile(t, domain, g).NewEpisode()
		e.Reset()
		rng := rand.New(rand.NewPCG(13, 0))
		for range 400 {
			commands := e.Admissible(nil)
			for _, c := range commands {
				verbs[verbOf(c)] = true
			}
			if _, err := e.Step(drawVerb(rng, commands)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{"clean", "close", "cool", "examine", "go", "heat", "help", "inventory", "look", "move", "open", "slice", "take", "use"}
	var got []string
	for v := range verbs {
		got = append(got, v)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("verbs %v, want %v", got, want)
	}
}

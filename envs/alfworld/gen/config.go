package gen

import (
	"fmt"
	"slices"
	"strings"
)

// TaskType is one of the six household tasks, spelled as in traj_data.json.
type TaskType string

// The six tasks.
const (
	Place   TaskType = "pick_and_place_simple"
	Look    TaskType = "look_at_obj_in_light"
	Clean   TaskType = "pick_clean_then_place_in_recep"
	Heat    TaskType = "pick_heat_then_place_in_recep"
	Cool    TaskType = "pick_cool_then_place_in_recep"
	PickTwo TaskType = "pick_two_obj_and_place"
)

// TaskTypes lists the six tasks in the order in which Generate takes turns with them.
func TaskTypes() []TaskType { return []TaskType{Place, Look, Clean, Heat, Cool, PickTwo} }

// Room is a kind of room.
type Room string

// The four kinds of room.
const (
	Kitchen    Room = "kitchen"
	LivingRoom Room = "livingroom"
	Bedroom    Room = "bedroom"
	Bathroom   Room = "bathroom"
)

// Rooms lists the kinds of room.
func Rooms() []Room { return []Room{Kitchen, LivingRoom, Bedroom, Bathroom} }

// Suits says whether the task can be set in the room: heating and cooling need a kitchen, cleaning a
// sink, looking at something a lamp.
func Suits(t TaskType, r Room) bool {
	switch t {
	case Place, PickTwo:
		return slices.Contains(Rooms(), r)
	case Look:
		return r == LivingRoom || r == Bedroom
	case Clean:
		return r == Kitchen || r == Bathroom
	case Heat, Cool:
		return r == Kitchen
	}
	return false
}

// MaxGames bounds one call of Generate: a game takes about 25 kB of memory. More are made in several
// calls, by Config.First.
const MaxGames = 10_000

// Config says which games to make. The zero value asks for nothing: Count has no default.
type Config struct {
	Split string     // folder under json_2.1.1; "" = "train". "valid_unseen" draws rooms of its own
	Count int        // number of games, 1 to MaxGames
	Types []TaskType // tasks, taken in turn; empty = all six
	Rooms []Room     // kinds of room, each task taking those that suit it in turn; empty = all four
	First int        // index of the first game: [First, First+Count) of the same endless sequence
}

// withDefaults fills what was left out.
func (c Config) withDefaults() Config {
	if c.Split == "" {
		c.Split = "train"
	}
	if len(c.Types) == 0 {
		c.Types = TaskTypes()
	}
	if len(c.Rooms) == 0 {
		c.Rooms = Rooms()
	}
	return c
}

// Validate reports a configuration that no games can be made for.
func (c Config) Validate() error {
	c = c.withDefaults()
	if c.Count < 1 || c.Count > MaxGames {
		return fmt.Errorf("count %d is outside 1 to %d", c.Count, MaxGames)
	}
	if c.First < 0 {
		return fmt.Errorf("first index %d is negative", c.First)
	}
	if c.Split == "." || c.Split == ".." || strings.ContainsAny(c.Split, "/\\\x00") {
		return fmt.Errorf("split %q is no folder name", c.Split)
	}
	if strings.Contains(c.Split, "movable") || strings.Contains(c.Split, "Sliced") {
		return fmt.Errorf("split %q: loaders skip every path with this word", c.Split)
	}
	for _, r := range c.Rooms {
		if !slices.Contains(Rooms(), r) {
			return fmt.Errorf("unknown room %q (one of %v)", r, Rooms())
		}
	}
	for _, t := range c.Types {
		if !slices.Contains(TaskTypes(), t) {
			return fmt.Errorf("unknown task type %q (one of %v)", t, TaskTypes())
		}
		if len(c.roomsFor(t)) == 0 {
			return fmt.Errorf("task %s cannot be set in %v", t, c.Rooms)
		}
	}
	return nil
}

// roomsFor are the configured rooms that suit t.
func (c Config) roomsFor(t TaskType) []Room {
	var out []Room
	for _, r := range c.Rooms {
		if Suits(t, r) {
			out = append(out, r)
		}
	}
	return out
}

// pick is the task and room of the game at an index: tasks take turns, and within a task its rooms do.
func (c Config) pick(index int) (TaskType, Room) {
	t := c.Types[index%len(c.Types)]
	rooms := c.roomsFor(t)
	return t, rooms[(index/len(c.Types))%len(rooms)]
}

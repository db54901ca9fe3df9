package gen

import (
	"strings"
	"testing"
)

func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"nothing asked for", Config{}, "count 0 is outside 1 to 10000"},
		{"too many", Config{Count: MaxGames + 1}, "count 10001 is outside"},
		{"negative start", Config{Count: 1, First: -1}, "first index -1 is negative"},
		{"split with folder", Config{Count: 1, Split: "../x"}, `split "../x" is no folder name`},
		{"split is parent", Config{Count: 1, Split: ".."}, `split ".." is no folder name`},
		{"split that loaders skip", Config{Count: 1, Split: "Sliced"}, `split "Sliced": loaders skip`},
		{"unknown room", Config{Count: 1, Rooms: []Room{"cellar"}}, `unknown room "cellar"`},
		{"unknown task", Config{Count: 1, Types: []TaskType{"sing"}}, `unknown task type "sing"`},
		{
			"heat in a bathroom",
			Config{Count: 1, Types: []TaskType{Heat}, Rooms: []Room{Bathroom}},
			"task pick_heat_then_place_in_recep cannot be set in [bathroom]",
		},
		{
			"lamp in a kitchen",
			Config{Count: 1, Types: []TaskType{Place, Look}, Rooms: []Room{Kitchen}},
			"task look_at_obj_in_light cannot be set in [kitchen]",
		},
		{
			"all tasks in a bedroom",
			Config{Count: 1, Rooms: []Room{Bedroom}},
			"task pick_clean_then_place_in_recep cannot be set in [bedroom]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			games, err := Generate(1, c.cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if games != nil {
				t.Errorf("%d games beside the error", len(games))
			}
		})
	}
}

func TestSuits(t *testing.T) {
	t.Parallel()
	want := map[TaskType]string{
		Place: "kitchen livingroom bedroom bathroom", PickTwo: "kitchen livingroom bedroom bathroom",
		Look: "livingroom bedroom", Clean: "kitchen bathroom", Heat: "kitchen", Cool: "kitchen", "sing": "",
	}
	for task, rooms := range want {
		var got []string
		for _, r := range Rooms() {
			if Suits(task, r) {
				got = append(got, string(r))
			}
		}
		if strings.Join(got, " ") != rooms {
			t.Errorf("%s suits %v, want %s", task, got, rooms)
		}
	}
	if Suits(Place, "cellar") {
		t.Error("a task suits a room that does not exist")
	}
}

func TestTasksAndRoomsTakeTurns(t *testing.T) {
	t.Parallel()
	games, err := Generate(5, Config{Count: 48})
	if err != nil {
		t.Fatal(err)
	}
	tasks, rooms := map[TaskType]int{}, map[TaskType]map[Room]int{}
	for _, g := range games {
		tasks[g.Task]++
		if rooms[g.Task] == nil {
			rooms[g.Task] = map[Room]int{}
		}
		rooms[g.Task][g.Room]++
		if !Suits(g.Task, g.Room) {
			t.Errorf("%s in a %s", g.Task, g.Room)
		}
	}
	for _, task := range TaskTypes() {
		if tasks[task] != 8 {
			t.Errorf("%d games of %s, want 8", tasks[task], task)
		}
		for room, n := range rooms[task] {
			if want := 8 / len(rooms[task]); n != want {
				t.Errorf("%s: %d games in a %s, want %d", task, n, room, want)
			}
		}
	}
}

package gen

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGenerateIsDeterministic(t *testing.T) {
	t.Parallel()
	a := mustGenerate(t, 42, Config{Count: 12})
	if d := cmp.Diff(a, mustGenerate(t, 42, Config{Count: 12})); d != "" {
		t.Errorf("the same call gave other games:\n%s", d)
	}
	if d := cmp.Diff(a[5:9], mustGenerate(t, 42, Config{Count: 4, First: 5})); d != "" {
		t.Errorf("a stretch differs from the whole:\n%s", d)
	}
	other := mustGenerate(t, 43, Config{Count: 12})
	split := mustGenerate(t, 42, Config{Count: 12, Split: "valid_seen"})
	for i := range a {
		if a[i].Problem == other[i].Problem || a[i].Problem == split[i].Problem {
			t.Errorf("game %d is equal under another seed or split", i)
		}
	}
}

func mustGenerate(tb testing.TB, seed uint64, cfg Config) []Game {
	tb.Helper()
	games, err := Generate(seed, cfg)
	if err != nil {
		tb.Fatalf("seed %d, %+v: %v", seed, cfg, err)
	}
	return games
}

// Every task in every room that suits it, many times.
func TestGenerateEveryCombination(t *testing.T) {
	t.Parallel()
	for _, task := range TaskTypes() {
		for _, room := range Rooms() {
			if !Suits(task, room) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", task, room), func(t *testing.T) {
				t.Parallel()
				cfg := Config{Count: 20, Types: []TaskType{task}, Rooms: []Room{room}}
				targets := map[string]bool{}
				for _, g := range mustGenerate(t, 1, cfg) {
					checkGame(t, g)
					targets[g.Target] = true
					if g.Task != task || g.Room != room {
						t.Errorf("%s is of %s in a %s", g.Path(), g.Task, g.Room)
					}
				}
				if len(targets) < 3 { // a bathroom has three kinds of things to wash
					t.Errorf("20 games ask for %d kinds of things only", len(targets))
				}
			})
		}
	}
}

// Any seed gives games that are whole: 200 seeds, all tasks.
func TestGenerateProperty(t *testing.T) {
	t.Parallel()
	seeds := 200
	if testing.Short() {
		seeds = 40
	}
	rng := rand.New(rand.NewPCG(11, 0))
	for range seeds {
		seed, first := rng.Uint64(), rng.IntN(1000)
		for _, g := range mustGenerate(t, seed, Config{Count: 2, First: first}) {
			checkGame(t, g)
		}
		if t.Failed() {
			t.Fatalf("seed %d, first %d", seed, first)
		}
	}
}

var (
	trialForm    = regexp.MustCompile(`^trial_T[0-9a-f]{16}_\d{5,}$`)
	folderForm   = regexp.MustCompile(`^[a-z_]+-[A-Za-z]+-None-[A-Za-z]+-\d+$`)
	sentenceForm = regexp.MustCompile(`^[a-z][a-z, ]+[a-z]$`)
)

// checkGame checks a game's fields against each other, as far as that needs no engine.
func checkGame(t *testing.T, g Game) {
	t.Helper()
	if !trialForm.MatchString(g.Trial) || !folderForm.MatchString(g.Name) {
		t.Errorf("path %q is ill formed", g.Path())
	}
	end := g.Destination + g.Lamp
	if want := fmt.Sprintf("%s-%s-None-%s-%d", g.Task, g.Target, end, g.Plan); g.Name != want {
		t.Errorf("folder %q, want %q", g.Name, want)
	}
	if (g.Lamp != "") != (g.Task == Look) || (g.Destination != "") == (g.Task == Look) {
		t.Errorf("%s: destination %q and lamp %q", g.Name, g.Destination, g.Lamp)
	}
	for _, word := range []string{g.Target, end} {
		if !strings.Contains(g.Sentence, strings.ToLower(word)) {
			t.Errorf("sentence %q does not name %q", g.Sentence, word)
		}
	}
	if !sentenceForm.MatchString(g.Sentence) {
		t.Errorf("sentence %q is ill formed", g.Sentence)
	}
	if n := strings.Count(g.Grammar(), "Your task is to: "+g.Sentence+"."); n != 1 {
		t.Errorf("the grammar has the task %d times", n)
	}
	if strings.Contains(g.Grammar(), taskMark) {
		t.Error("the mark is left in the grammar")
	}
	checkProblem(t, g)
}

// checkProblem: parentheses match, every name in a fact is declared, no name twice.
func checkProblem(t *testing.T, g Game) {
	t.Helper()
	if o, c := strings.Count(g.Problem, "("), strings.Count(g.Problem, ")"); o != c {
		t.Errorf("%s: %d opening and %d closing parentheses", g.Path(), o, c)
	}
	_, rest, _ := strings.Cut(g.Problem, "(:objects\n")
	objects, rest, _ := strings.Cut(rest, ")\n(:init\n")
	init, _, _ := strings.Cut(rest, ")\n(:goal")
	declared := map[string]bool{}
	for line := range strings.Lines(objects) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), " - ")
		key := strings.ToLower(name) // the engines fold case
		if !ok || declared[key] {
			t.Errorf("%s: declaration %q is ill formed or repeated", g.Path(), line)
		}
		declared[key] = true
	}
	facts := map[string]bool{}
	for line := range strings.Lines(init) {
		words := strings.Fields(strings.Trim(strings.TrimSpace(line), "()"))
		if len(words) < 2 || facts[line] {
			t.Errorf("%s: fact %q is ill formed or repeated", g.Path(), line)
		}
		facts[line] = true
		for _, w := range words[min(1, len(words)):] {
			if !declared[strings.ToLower(w)] {
				t.Errorf("%s: %q in fact %q is not declared", g.Path(), w, line)
			}
		}
	}
}

func TestGameFiles(t *testing.T) {
	t.Parallel()
	for _, g := range mustGenerate(t, 9, Config{Count: 6}) {
		raw, err := g.GameJSON()
		if err != nil {
			t.Fatal(err)
		}
		var game struct {
			Domain      string   `json:"pddl_domain"`
			Grammar     string   `json:"grammar"`
			Problem     string   `json:"pddl_problem"`
			Solvable    bool     `json:"solvable"`
			Walkthrough []string `json:"walkthrough"`
		}
		if err := json.Unmarshal(raw, &game); err != nil {
			t.Fatal(err)
		}
		if game.Domain != Domain() || game.Grammar != g.Grammar() || game.Problem != g.Problem || !game.Solvable {
			t.Errorf("%s: game file differs from the game", g.Path())
		}
		if d := cmp.Diff(g.Walkthrough, game.Walkthrough); d != "" {
			t.Errorf("walkthrough (-want +got):\n%s", d)
		}

		raw, err = g.TrajJSON()
		if err != nil {
			t.Fatal(err)
		}
		var traj map[string]any
		if err := json.Unmarshal(raw, &traj); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"task_id": g.Trial, "task_type": string(g.Task),
			"pddl_params": map[string]any{
				"mrecep_target": "", "object_sliced": false, "object_target": g.Target,
				"parent_target": g.Destination, "toggle_target": g.Lamp,
			},
			"scene":            map[string]any{"floor_plan": fmt.Sprintf("FloorPlan%d", g.Plan)},
			"turk_annotations": map[string]any{"anns": []any{map[string]any{"task_desc": g.Sentence + "."}}},
		}
		if d := cmp.Diff(want, traj); d != "" {
			t.Errorf("traj_data (-want +got):\n%s", d)
		}
	}
}

// A goal's things never lie where they are to be brought, and there are enough of them.
func TestScenesLeaveSomethingToDo(t *testing.T) {
	t.Parallel()
	for i := range 300 {
		task, room := Config{}.withDefaults().pick(i)
		rng := stream("test", i)
		s, g, err := setScene(rng, task, newLayout(room, drawPlan(rng, room, "train")))
		if err != nil {
			t.Fatalf("scene %d: %v", i, err)
		}
		things := s.itemsOf(g.what)
		if len(things) < g.copies() {
			t.Errorf("scene %d: %d of %s for %s", i, len(things), g.what.name, task)
		}
		for _, it := range things {
			if name := s.fixtures[s.items[it].in].kind.name; name == g.avoid() {
				t.Errorf("scene %d: a %s lies in the %s, to which %s brings it", i, g.what.name, name, task)
			}
		}
		for f, left := range s.room {
			if left < 0 {
				t.Errorf("scene %d: the %s is overfull", i, s.fixtures[f].kind.name)
			}
		}
	}
}

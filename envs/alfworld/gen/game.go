package gen

import (
	"bytes"
	_ "embed" // the domain and the grammar
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

//go:embed assets/domain.pddl
var domainText string

//go:embed assets/grammar.twl2
var grammarText string

// taskMark is where the grammar takes the task sentence.
const taskMark = "@TASK@"

// Game is one generated game.
type Game struct {
	Split       string   // folder under json_2.1.1
	Task        TaskType // the task's family
	Room        Room
	Plan        int      // floor plan number: which room it is
	Name        string   // task folder, "pick_and_place_simple-Mug-None-Desk-331"
	Trial       string   // trial folder, made of the seed and the index
	Sentence    string   // the task in words, without a stop at the end
	Target      string   // kind of the thing that is asked for, "Mug"
	Destination string   // kind of furniture where it goes, "Desk"; "" in look-at tasks
	Lamp        string   // kind of lamp in look-at tasks; "" else
	Problem     string   // PDDL problem
	Walkthrough []string // commands from the start to the win
}

// Domain is the PDDL domain that all games share.
func Domain() string { return domainText }

// Grammar is the game's text grammar (.twl2) with its task sentence filled in.
func (g Game) Grammar() string { return strings.Replace(grammarText, taskMark, g.Sentence, 1) }

// Path is the game's folder under json_2.1.1, with forward slashes.
func (g Game) Path() string { return path.Join(g.Split, g.Name, g.Trial) }

// The files of a game's folder.
const (
	GameFile = "game.tw-pddl"
	TrajFile = "traj_data.json"
)

// GameJSON is the content of game.tw-pddl.
func (g Game) GameJSON() ([]byte, error) {
	return encode(struct {
		Domain      string   `json:"pddl_domain"`
		Grammar     string   `json:"grammar"`
		Problem     string   `json:"pddl_problem"`
		Solvable    bool     `json:"solvable"`
		Walkthrough []string `json:"walkthrough"`
	}{domainText, g.Grammar(), g.Problem, true, g.Walkthrough})
}

// TrajJSON is the content of traj_data.json: the keys that loaders and scripted experts read. There
// are no recorded trajectories behind a generated game, so the keys for them are left out.
func (g Game) TrajJSON() ([]byte, error) {
	type params struct {
		Movable string `json:"mrecep_target"`
		Sliced  bool   `json:"object_sliced"`
		Object  string `json:"object_target"`
		Parent  string `json:"parent_target"`
		Toggle  string `json:"toggle_target"`
	}
	type scene struct {
		Plan string `json:"floor_plan"`
	}
	type annotation struct {
		Task string `json:"task_desc"`
	}
	type annotations struct {
		List []annotation `json:"anns"`
	}
	return encode(struct {
		ID          string      `json:"task_id"`
		Type        TaskType    `json:"task_type"`
		Params      params      `json:"pddl_params"`
		Scene       scene       `json:"scene"`
		Annotations annotations `json:"turk_annotations"`
	}{
		g.Trial, g.Task,
		params{Object: g.Target, Parent: g.Destination, Toggle: g.Lamp},
		scene{fmt.Sprintf("FloorPlan%d", g.Plan)},
		annotations{[]annotation{{g.Sentence + "."}}},
	})
}

// encode writes v as one line of JSON, with < and > as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode game: %w", err)
	}
	return b.Bytes(), nil
}

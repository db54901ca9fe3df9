package alfworld

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// The six task types, in the original's numbering.
const (
	Place   = "pick_and_place_simple"
	Look    = "look_at_obj_in_light"
	Clean   = "pick_clean_then_place_in_recep"
	Heat    = "pick_heat_then_place_in_recep"
	Cool    = "pick_cool_then_place_in_recep"
	PickTwo = "pick_two_obj_and_place"
)

// TaskTypes lists the task types.
func TaskTypes() []string { return []string{Place, Look, Clean, Heat, Cool, PickTwo} }

// content is a game file's JSON.
type content struct {
	Domain      string   `json:"pddl_domain"`
	Grammar     string   `json:"grammar"`
	Problem     string   `json:"pddl_problem"`
	Solvable    *bool    `json:"solvable"`
	Walkthrough []string `json:"walkthrough"`
}

// parseContent reads a game file.
func parseContent(data []byte) (*content, error) {
	var c content
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("the game file is not the JSON object it should be: %w", err)
	}
	for _, part := range []struct{ key, text string }{
		{"pddl_domain", c.Domain}, {"pddl_problem", c.Problem}, {"grammar", c.Grammar},
	} {
		if part.text == "" {
			return nil, fmt.Errorf("the game file has no %q", part.key)
		}
	}
	return &c, nil
}

// hashOf is the task hash of a game file.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// The reasons for which a game is not listed; they are the original's.
var (
	errNoTraj      = errors.New("no traj_data.json")
	errNoGame      = errors.New("no game.tw-pddl")
	errMovable     = errors.New("movable or sliced task, which the text engine does not support")
	errUnsolvable  = errors.New("marked as not solvable")
	errNotChecked  = errors.New("no \"solvable\" key: nobody checked whether it can be solved")
	errUnknownType = errors.New("unknown task type")
)

// taskType reads traj_data.json and applies the original's filter to a trial.
func taskType(fsys fs.FS, id string) (string, error) {
	data, err := fs.ReadFile(fsys, path.Join(id, trajFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoTraj
	}
	if err != nil {
		return "", err
	}
	if strings.Contains(id, "movable") || strings.Contains(id, "Sliced") {
		return "", errMovable
	}
	var traj struct {
		TaskType string `json:"task_type"`
	}
	if err := json.Unmarshal(data, &traj); err != nil {
		return "", fmt.Errorf("traj_data.json is not valid: %w", err)
	}
	for _, t := range TaskTypes() {
		if t == traj.TaskType {
			return t, nil
		}
	}
	return "", fmt.Errorf("%w %q", errUnknownType, traj.TaskType)
}

// readGame reads a trial's game file and checks that it may be played.
func readGame(fsys fs.FS, id string) ([]byte, error) {
	data, err := fs.ReadFile(fsys, path.Join(id, gameFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoGame
	}
	return data, err
}

// checkSolvable is the last part of the filter.
func checkSolvable(solvable *bool) error {
	switch {
	case solvable == nil:
		return errNotChecked
	case !*solvable:
		return errUnsolvable
	}
	return nil
}

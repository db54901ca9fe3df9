package harness

import (
	"fmt"
	"strings"
)

// Task is one thing to be done in one environment. Two tasks with equal Env, ID and Hash are the
// same task on any machine.
type Task struct {
	Env   string `json:"env"`             // environment name: "alfworld", "webshop", …
	ID    string `json:"id"`              // name inside the environment, stable across machines
	Split string `json:"split,omitempty"` // "train", "valid_seen", …
	Type  string `json:"type,omitempty"`  // task family, the row of a summary table
	Seed  int64  `json:"seed,omitempty"`  // environment seed, for environments that draw
	Hash  string `json:"hash,omitempty"`  // SHA-256 of the task's assets, hex; "" where there are none
}

// Key names the task within a run: "env/id", and "env/id#seed" where a seed is set.
func (t Task) Key() string {
	if t.Seed != 0 {
		return fmt.Sprintf("%s/%s#%d", t.Env, t.ID, t.Seed)
	}
	return t.Env + "/" + t.ID
}

// Validate reports a task that no environment could open.
func (t Task) Validate() error {
	switch {
	case strings.TrimSpace(t.Env) == "":
		return fmt.Errorf("task %q: no environment named", t.ID)
	case strings.TrimSpace(t.ID) == "":
		return fmt.Errorf("task of %q: no id", t.Env)
	}
	return nil
}

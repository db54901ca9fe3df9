package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Panel is a named, ordered list of tasks. Its hash covers every task's identity and content hash in
// order, so that two machines with equal panel hashes run the same tasks.
type Panel struct {
	Name  string `json:"name"`
	Tasks []Task `json:"tasks"`
}

// Hash is the panel's content hash: SHA-256 over its tasks in order, hex. The name does not count.
func (p Panel) Hash() string {
	h := sha256.New()
	for _, t := range p.Tasks {
		writeFields(h, t.Env, t.ID, t.Split, t.Type, fmt.Sprint(t.Seed), t.Hash)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Validate reports the first task that could not run and the first that is listed twice.
func (p Panel) Validate() error {
	if len(p.Tasks) == 0 {
		return fmt.Errorf("panel %q: no tasks", p.Name)
	}
	seen := make(map[string]int, len(p.Tasks))
	for i, t := range p.Tasks {
		if err := t.Validate(); err != nil {
			return fmt.Errorf("panel %q, task %d: %w", p.Name, i, err)
		}
		if j, dup := seen[t.Key()]; dup {
			return fmt.Errorf("panel %q: task %d repeats task %d (%s)", p.Name, i, j, t.Key())
		}
		seen[t.Key()] = i
	}
	return nil
}

// writeFields hashes each field with its length before it, so that no two lists of fields collide.
func writeFields(w io.Writer, fields ...string) {
	for _, f := range fields {
		fmt.Fprintf(w, "%d:%s", len(f), f)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/store"
)

// TestImportedRunScoresAlike writes a run down as verifiers would, imports it, and scores both with the same
// teacher: every number of the teacher and the student is the same.
func TestImportedRunScoresAlike(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, theirs, file := filepath.Join(dir, "ours.db"), filepath.Join(dir, "theirs.db"), filepath.Join(dir, "traces.jsonl")
	mustRun(t, "rollout", "--db", ours, "--policy", "refmodel", "--name", "r", "--tasks", "2", "--group", "2", "--max-steps", "2", "--quiet")
	if err := os.WriteFile(file, asTraces(t, ours), 0o600); err != nil {
		t.Fatal(err)
	}
	said := mustRun(t, "import", "--db", theirs, "--format", "verifiers", file, "--name", "r", "--env", "alfworld", "--policy", "refmodel")
	wants(t, said, `^run r: 4 episodes in 2 groups, 0 of them failed, 8 steps, [0-9]+ response tokens$`)
	var rows [2][]map[string]any
	for i, db := range []string{ours, theirs} {
		mustRun(t, "score", "--db", db, "--run", "r", "--mode", "immediate_feedback", "--quiet")
		mustRun(t, "credit", "--db", db, "--run", "r", "--score", "immediate_feedback")
		out := mustRun(t, "export", "--db", db, "--run", "r", "--format", "jsonl", "--out", "-")
		for line := range strings.Lines(out) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			kept := map[string]any{}
			for _, name := range []string{"group", "sample", "step", "prompt_ids", "response_ids", "logprobs", "student_logprobs", "teacher_logprobs", "base_advantage"} {
				kept[name] = row[name]
			}
			rows[i] = append(rows[i], kept)
		}
		wants(t, mustRun(t, "db", "check", "--db", db), `: 0 violations`)
	}
	if len(rows[0]) != 8 || rows[0][0]["teacher_logprobs"] == nil {
		t.Fatalf("%d rows: %v", len(rows[0]), rows[0])
	}
	if diff := cmp.Diff(rows[0], rows[1]); diff != "" {
		t.Errorf("(-ours +imported)\n%s", diff)
	}
}

// asTraces writes a run's episodes as traces: each step is a branch of its own, for its prompt is rendered
// anew.
func asTraces(t *testing.T, path string) []byte {
	t.Helper()
	db, err := store.Open(t.Context(), path, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out bytes.Buffer
	for ep, err := range db.Episodes(t.Context(), 1, store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		steps, err := db.EpisodeSteps(t.Context(), ep.ID)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []map[string]any
		add := func(parent any, role, content string, ids []int32, sampled bool, logprobs []float32) int {
			mask := make([]bool, len(ids))
			for i := range mask {
				mask[i] = sampled
			}
			nodes = append(nodes, map[string]any{
				"parent": parent, "message": map[string]string{"role": role, "content": content}, "sampled": sampled,
				"token_ids": ids, "mask": mask, "logprobs": logprobs,
			})
			return len(nodes) - 1
		}
		for _, st := range steps {
			var parent any
			ids := st.Tokens.PromptIDs
			for _, m := range st.Prompt {
				parent, ids = add(parent, m.Role, m.Content, ids, false, nil), nil
			}
			add(add(parent, "assistant", st.Response, st.Tokens.IDs, true, st.Tokens.Logprobs), "user", st.Feedback, nil, false, nil)
		}
		err = json.NewEncoder(&out).Encode(map[string]any{
			"task": map[string]any{"type": "T", "key": ep.Task.ID, "data": map[string]any{}}, "agent": map[string]any{"name": "agent"},
			"ok": true, "rewards": map[string]any{"r": map[string]any{"score": ep.Outcome.Reward}}, "nodes": nodes,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// TestImportGoesOn: an import that was stopped is finished by the same command, and leaves the same rows as
// one that was not.
func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	var lines strings.Builder
	for i := range 6 {
		fmt.Fprintf(&lines, `{"example_id":%d,"prompt":"q","completion":"a%d","reward":%d}`+"\n", i%2, i, i)
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	whole, part := filepath.Join(dir, "whole.db"), filepath.Join(dir, "part.db")
	args := []string{"import", "--format", "verifiers", file, "--name", "r", "--db"}
	mustRun(t, append(args, whole)...)

	// What a process leaves that is killed while it writes the third episode.
	c := &importCommand{st: never(t), g: memoryGlobals(&buffer{}, &buffer{}, nil), format: "verifiers", name: "r", wonAt: 1, files: []string{file}}
	sum, err := c.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), part, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.open(t.Context(), db, sum)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.SetRunState(t.Context(), run.ID, store.RunRunning, ""); err != nil {
		t.Fatal(err)
	}
	refs, err := db.Pending(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Recorder(run.ID).Begin(t.Context(), refs[0]); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	wants(t, mustRun(t, append(args, part)...), `^run r: 6 episodes in 2 groups`)
	dump := func(path string) string {
		db, err := store.Open(t.Context(), path, store.Config{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var b bytes.Buffer
		if err := db.DumpCanonical(t.Context(), 1, &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if diff := cmp.Diff(dump(whole), dump(part)); diff != "" {
		t.Errorf("(-at once +in two parts)\n%s", diff)
	}
	_, logs, code := inProcess(t, append(args, part)...)
	if code != exitFailed || !strings.Contains(logs, "holds these files already") {
		t.Errorf("a third time: exit %d\n%s", code, logs)
	}
}

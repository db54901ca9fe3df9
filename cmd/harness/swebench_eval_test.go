package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded"
	"github.com/hindsightrl/harness/envs/swebench/embedded/embtest"
	"github.com/hindsightrl/harness/envs/swebench/eval"
	"github.com/hindsightrl/harness/store"
)

// evaluated runs the command with --json and reads what it prints.
func evaluated(t *testing.T, args ...string) (eval.Summary, printed) {
	t.Helper()
	got := command(t, nil, append([]string{"swebench", "eval", "--json"}, args...)...)
	var s eval.Summary
	if err := json.Unmarshal([]byte(got.stdout), &s); err != nil {
		t.Fatalf("exit %d: %v\n%s\n%s", got.code, err, got.stdout, got.stderr)
	}
	return s, got
}

// The gold patches of the embedded instances resolve and the empty ones do not, in real containers.
func TestEvaluateTheEmbeddedInstances(t *testing.T) {
	t.Parallel()
	embtest.Open(t)
	dir := t.TempDir()
	for _, grader := range []string{"5.0.2", "4.1.0"} {
		out := filepath.Join(dir, grader)
		s, got := evaluated(t, "gold", "--out", out, "--grader", grader, "--workers", "2")
		if got.code != exitOK || s.Resolved() != 2 || s.Count(eval.Graded) != 2 || !strings.Contains(got.stderr, "2/2 hindsight__") {
			t.Errorf("%s: exit %d, %+v\n%s", grader, got.code, s, got.stderr)
		}
		var report map[string]any
		raw, err := os.ReadFile(filepath.Join(out, "gold.gold.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &report); err != nil || report["resolved_instances"] != 2.0 || report["schema_version"] != 2.0 {
			t.Errorf("%s: run report %s, %v", grader, raw, err)
		}
		if s, got = evaluated(t, "gold", "--out", out, "--grader", grader); s.Cached != 2 || s.Resolved() != 2 {
			t.Errorf("%s: the second time: %+v\n%s", grader, s, got.stderr)
		}
	}
	const preds = `{"instance_id":"hindsight__shiftplan-1","model_name_or_path":"none","model_patch":""}
{"instance_id":"hindsight__pathmatch-2","model_name_or_path":"none","model_patch":"--- a/.git/config\n+++ b/.git/config\n"}
`
	file := filepath.Join(dir, "preds.jsonl")
	if err := os.WriteFile(file, []byte(preds), 0o600); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "swebench", "eval", file, "--out", filepath.Join(dir, "none"))
	if got.code != exitOK || !strings.Contains(got.stdout, "empty  refused") || !strings.Contains(got.stderr, "hindsight__pathmatch-2: refused: it names \"a/.git/config\"") {
		t.Errorf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
}

// runWithPatches writes a run of the embedded instances whose episodes left patches; nil has not ended.
func runWithPatches(t *testing.T, group int, patches ...*string) (db string) {
	t.Helper()
	ctx := t.Context()
	data, err := embedded.Dataset()
	if err != nil {
		t.Fatal(err)
	}
	panel := harness.Panel{Name: "p"}
	for _, in := range data.Instances {
		panel.Tasks = append(panel.Tasks, swebench.TaskOf(in))
	}
	db = filepath.Join(t.TempDir(), "ledger.db")
	s, err := store.Open(ctx, db, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.CreateRun(ctx, store.RunSpec{Name: "repairs", Panel: panel, GroupSize: group, Policy: "expert", CodeVersion: "v"})
	if err != nil {
		t.Fatal(err)
	}
	refs, err := s.Pending(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	rec := s.Recorder(run.ID)
	for i, patch := range patches {
		if patch == nil {
			continue
		}
		id, _, err := rec.Begin(ctx, refs[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := rec.Artifact(ctx, id, harness.Artifact{Name: swebench.FilePatch, Content: *patch}); err != nil {
			t.Fatal(err)
		}
		if err := rec.Finish(ctx, id, harness.Outcome{Stop: harness.StopDone}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestEvaluateARun(t *testing.T) {
	t.Parallel()
	embtest.Open(t)
	data, err := embedded.Dataset()
	if err != nil {
		t.Fatal(err)
	}
	gold, nothing, odd := data.Instances[0].Patch, "", "I could not do it.\n"
	db := runWithPatches(t, 2, &nothing, &gold, &odd, nil)
	s, got := evaluated(t, "--run", "repairs", "--db", db, "--out", t.TempDir())
	if got.code != exitOK || s.RunID != "repairs" || !strings.Contains(got.stderr, "1 episode not finished") {
		t.Errorf("exit %d, %+v\n%s", got.code, s, got.stderr)
	}
	kinds := map[string][]eval.Kind{}
	for _, m := range s.Models {
		for _, o := range m.Outcomes {
			kinds[m.Name] = append(kinds[m.Name], o.Kind)
		}
	}
	want := map[string][]eval.Kind{"repairs.s1": {eval.EmptyPatch, eval.NotApplied}, "repairs.s2": {eval.Graded}}
	if diff := cmp.Diff(want, kinds); diff != "" || s.Resolved() != 1 {
		t.Errorf("%d resolved; kinds (-want +got):\n%s", s.Resolved(), diff)
	}
	if len(s.Models) == 2 && len(s.Models[0].Outcomes) == 2 && s.Models[0].Outcomes[1].ApplyFailure != swebench.ApplyEmpty {
		t.Errorf("%+v", s.Models[0].Outcomes[1])
	}
}

func TestEvaluateARunThatHasNoPatches(t *testing.T) {
	t.Parallel()
	db := runWithPatches(t, 1)
	got := command(t, nil, "swebench", "eval", "--run", "repairs", "--db", db)
	if got.code != exitFailed || !strings.Contains(got.stderr, `run "repairs" has no finished episode of swebench`) || !strings.Contains(got.stderr, "hint: harness rollout --env swebench") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}

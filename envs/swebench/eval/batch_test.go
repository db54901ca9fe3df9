package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/eval"
	"github.com/hindsightrl/harness/envs/swebench/grade"
)

func batch(t *testing.T, predictions ...swebench.Prediction) eval.Batch {
	t.Helper()
	return eval.Batch{
		Data: dataset(t, "i:1", nil, "a__b-1", "a__b-2", "a__b-3", "a__b-4"), Predictions: predictions, Root: t.TempDir(), RunID: "run",
		DatasetName: "mine", Split: "test", Workers: 2,
	}
}

func evaluate(t *testing.T, e *eval.Evaluator, b eval.Batch) *eval.Summary {
	t.Helper()
	sum, err := e.Run(t.Context(), t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestLayoutAndRunReport(t *testing.T) {
	t.Parallel()
	b := batch(t, prediction("a__b-1", goldPatch), prediction("a__b-2", ""), prediction("a__b-3", "--- a/.git/x\n"))
	sum := evaluate(t, evaluator(t, &boxes{}, config()), b)
	dir := filepath.Join(b.Root, "logs", "run_evaluation", "run", "org__model")
	if diff := cmp.Diff([]string{"a__b-1", "a__b-3"}, files(t, dir)); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	want := []string{"eval.sh", "outcome.json", "patch.diff", "report.json", "run_instance.log", "test_output.txt"}
	if diff := cmp.Diff(want, files(t, filepath.Join(dir, "a__b-1"))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"eval.sh", "outcome.json", "patch.diff", "run_instance.log"}, files(t, filepath.Join(dir, "a__b-3"))); diff != "" {
		t.Errorf("files of a refused patch (-want +got):\n%s", diff)
	}
	if got := read(t, dir, "a__b-1", "patch.diff"); got != goldPatch {
		t.Errorf("patch: %q", got)
	}
	if got := read(t, dir, "a__b-1", "eval.sh"); !strings.HasPrefix(got, "#!/bin/bash\nset -uxo pipefail\n") || !strings.Contains(got, "SWEBENCH_TEST_EXIT_CODE=$?") {
		t.Errorf("script: %q", got)
	}
	if got := read(t, dir, "a__b-1", "run_instance.log"); !strings.Contains(got, grade.MarkerApplied) || !strings.Contains(got, "resolved: true") {
		t.Errorf("log: %q", got)
	}
	var report map[string]struct {
		Resolved bool `json:"resolved"`
		Applied  bool `json:"patch_successfully_applied"`
	}
	if err := json.Unmarshal([]byte(read(t, dir, "a__b-1", "report.json")), &report); err != nil || !report["a__b-1"].Resolved || !report["a__b-1"].Applied {
		t.Errorf("report: %+v, %v", report, err)
	}
	if got := read(t, dir, "..", "run.json"); !strings.Contains(got, `"dataset": "mine"`) || !strings.Contains(got, `"split": "test"`) {
		t.Errorf("run.json: %s", got)
	}
	var run map[string]any
	if err := json.Unmarshal([]byte(read(t, b.Root, "org__model.run.json")), &run); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"total_instances": 4.0, "submitted_instances": 3.0, "completed_instances": 1.0, "resolved_instances": 1.0, "unresolved_instances": 0.0,
		"empty_patch_instances": 1.0, "error_instances": 1.0, "schema_version": 2.0,
		"error_ids": []any{"a__b-3"}, "empty_patch_ids": []any{"a__b-2"}, "incomplete_ids": []any{"a__b-4"},
	} {
		if diff := cmp.Diff(want, run[key]); diff != "" {
			t.Errorf("run report's %s (-want +got):\n%s", key, diff)
		}
	}
	if sum.Resolved() != 1 || sum.Count(eval.UnsafePatch) != 1 || sum.Open != 0 || sum.Models[0].Report != filepath.Join(b.Root, "org__model.run.json") {
		t.Errorf("summary: %+v", sum)
	}
}

func TestASecondRunEvaluatesWhatChanged(t *testing.T) {
	t.Parallel()
	fakes := &boxes{ids: map[string]string{"i:1": "sha256:1"}}
	b := batch(t, prediction("a__b-1", goldPatch), prediction("a__b-2", goldPatch), prediction("a__b-3", goldPatch))
	expect := func(what string, c eval.Config, b eval.Batch, takes, cached int) {
		t.Helper()
		before := fakes.taken()
		sum := evaluate(t, evaluator(t, fakes, c), b)
		if got := fakes.taken() - before; got != takes || sum.Cached != cached {
			t.Errorf("%s: %d evaluated and %d reused, want %d and %d", what, got, sum.Cached, takes, cached)
		}
	}
	expect("first", config(), b, 3, 0)
	expect("again", config(), b, 0, 3)
	changed := b
	changed.Predictions = slices.Clone(b.Predictions)
	changed.Predictions[1].Patch = strings.Replace(goldPatch, "result", "other", 2)
	expect("another patch", config(), changed, 1, 2)
	expect("the old patch", config(), b, 1, 2)
	older := config()
	older.Release = "4.1.0"
	expect("another grader", older, b, 3, 0)
	expect("the first grader", config(), b, 3, 0)
	relaxed := config()
	relaxed.Relax = []string{"network=bridge"}
	expect("other limits", relaxed, b, 3, 0)
	expect("the first limits", config(), b, 3, 0)
	fakes.mu.Lock()
	fakes.ids["i:1"] = "sha256:2"
	fakes.mu.Unlock()
	expect("another image", config(), b, 3, 0)
	fakes.mu.Lock()
	delete(fakes.ids, "i:1")
	fakes.mu.Unlock()
	expect("an image that is gone", config(), b, 0, 3)
	name := filepath.Join(b.Root, "logs", "run_evaluation", "run", "org__model", "a__b-1", "outcome.json")
	if err := os.WriteFile(name, []byte(`{"key":`), 0o644); err != nil {
		t.Fatal(err)
	}
	expect("a record that was cut short", config(), b, 1, 2)
	scripted := b
	scripted.Data = dataset(t, "i:1", map[string]any{"eval_script": script + "echo more\n"}, "a__b-1", "a__b-2", "a__b-3", "a__b-4")
	expect("another script", config(), scripted, 3, 0)
}

func TestTimeoutsAreTriedAgainWithMoreTimeOnly(t *testing.T) {
	t.Parallel()
	fakes := &boxes{tests: func(int) (container.Result, error) { return container.Result{TimedOut: true, ExitCode: -1}, nil }}
	b := batch(t, prediction("a__b-1", goldPatch))
	dir := filepath.Join(b.Root, "logs", "run_evaluation", "run", "org__model", "a__b-1")
	for i, tt := range []struct {
		limit time.Duration
		takes int
	}{{time.Minute, 1}, {time.Minute, 1}, {time.Second, 1}, {2 * time.Minute, 2}} {
		c := config()
		c.Timeout = tt.limit
		sum := evaluate(t, evaluator(t, fakes, c), b)
		if fakes.taken() != tt.takes || sum.Count(eval.TimedOut) != 1 {
			t.Errorf("%d: %d were evaluated, %+v", i, fakes.taken(), sum)
		}
	}
	if got := read(t, dir, "test_output.txt"); got != "\n\nTimeout error: 120 seconds exceeded." {
		t.Errorf("log: %q", got)
	}
	if slices.Contains(files(t, dir), "report.json") {
		t.Error("a report was written")
	}
}

func TestInfrastructureFailuresAreEvaluatedAnew(t *testing.T) {
	t.Parallel()
	broken := true
	fakes := &boxes{}
	fakes.take = func(int) error { // called with the fakes locked
		if broken {
			return errBroken
		}
		return nil
	}
	b := batch(t, prediction("a__b-1", goldPatch), prediction("a__b-2", goldPatch))
	c := config()
	c.Retries = -1
	sum := evaluate(t, evaluator(t, fakes, c), b)
	if sum.Count(eval.Infrastructure) != 2 || sum.Resolved() != 0 || fakes.taken() != 2 {
		t.Errorf("%+v", sum)
	}
	var run map[string]any
	if err := json.Unmarshal([]byte(read(t, sum.Models[0].Report)), &run); err != nil || run["unresolved_instances"] != 0.0 || run["error_instances"] != 2.0 || run["infra_failure_instances"] != 2.0 {
		t.Errorf("run report: %v, %v", run, err)
	}
	fakes.mu.Lock()
	broken = false
	fakes.mu.Unlock()
	if sum := evaluate(t, evaluator(t, fakes, c), b); sum.Resolved() != 2 || sum.Cached != 0 {
		t.Errorf("the second time: %+v", sum)
	}
}

func TestRepeatsShowFlakyTests(t *testing.T) {
	t.Parallel()
	fakes := &boxes{tests: func(take int) (container.Result, error) {
		switch take {
		case 2:
			return container.Result{Output: []byte(logOf("PASSED t.py::fix\nFAILED t.py::keep\n"))}, nil
		case 3:
			return container.Result{}, errBroken
		}
		return container.Result{Output: []byte(logOf("PASSED t.py::fix\nPASSED t.py::keep\n"))}, nil
	}}
	b := batch(t, prediction("a__b-1", goldPatch))
	b.Workers, b.Repeats = 1, 3
	c := config()
	c.Retries = -1
	sum := evaluate(t, evaluator(t, fakes, c), b)
	want := []eval.Flaky{{InstanceID: "a__b-1", Runs: 2, Resolved: 1, Tests: []eval.FlakyTest{{Name: "t.py::keep", Runs: 2, Passed: 1}}}}
	if diff := cmp.Diff(want, sum.Models[0].Flaky); diff != "" || sum.Resolved() != 1 {
		t.Errorf("flaky (-want +got):\n%s", diff)
	}
	// More repeats add to what is there; the one that the machine spoilt is made up for.
	b.Repeats = 5
	sum = evaluate(t, evaluator(t, fakes, c), b)
	if f := sum.Models[0].Flaky; fakes.taken() != 6 || sum.Cached != 2 || len(f) != 1 || f[0].Runs != 5 || f[0].Resolved != 4 {
		t.Errorf("%d evaluated, %+v", fakes.taken(), sum)
	}
	dir := filepath.Join(b.Root, "logs", "run_evaluation", "run", "org__model", "a__b-1")
	for _, repeat := range []string{"repeat-2", "repeat-3", "repeat-4", "repeat-5"} {
		read(t, dir, repeat, "report.json")
	}
}

func TestAStopLeavesTheRestForTheNextRun(t *testing.T) {
	t.Parallel()
	soft, cancel := context.WithCancel(t.Context())
	fakes := &boxes{}
	b := batch(t, prediction("a__b-1", goldPatch), prediction("a__b-2", goldPatch), prediction("a__b-3", goldPatch))
	b.Workers = 1
	b.Progress = func(int, int, eval.Outcome) { cancel() }
	e := evaluator(t, fakes, config())
	sum, err := e.Run(soft, t.Context(), b)
	if !errors.Is(err, eval.ErrStopped) || sum == nil || sum.Open != 2 || sum.Resolved() != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if _, err := os.Stat(filepath.Join(b.Root, "org__model.run.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a report of half a run was written: %v", err)
	}
	hard, cancelHard := context.WithCancel(t.Context())
	fakes.tests = func(int) (container.Result, error) {
		cancelHard()
		return container.Result{}, context.Canceled
	}
	b.Progress = nil
	if sum, err = e.Run(hard, hard, b); !errors.Is(err, eval.ErrStopped) || sum.Open != 2 {
		t.Errorf("stopped hard: %+v, %v", sum, err)
	}
	fakes.tests = nil
	if sum := evaluate(t, e, b); sum.Open != 0 || sum.Cached != 1 || sum.Resolved() != 3 {
		t.Errorf("the next run: %+v", sum)
	}
}

func TestManyModels(t *testing.T) {
	t.Parallel()
	other := prediction("a__b-1", goldPatch)
	other.Model = "other"
	b := batch(t, prediction("a__b-1", goldPatch), other, prediction("a__b-2", ""))
	sum := evaluate(t, evaluator(t, &boxes{}, config()), b)
	got := map[string]int{}
	for _, m := range sum.Models {
		got[m.Name] = len(m.Outcomes)
		read(t, m.Report)
	}
	if diff := cmp.Diff(map[string]int{"org/model": 2, "other": 1}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestBatchesThatCannotBe(t *testing.T) {
	t.Parallel()
	e := evaluator(t, &boxes{}, config())
	good := batch(t, prediction("a__b-1", goldPatch))
	shared := prediction("a__b-2", goldPatch)
	shared.Model = "org__model"
	for name, change := range map[string]func(*eval.Batch){
		"no data":          func(b *eval.Batch) { b.Data = nil },
		"a run id":         func(b *eval.Batch) { b.RunID = "../x" },
		"a nested run id":  func(b *eval.Batch) { b.RunID = "x/y" },
		"workers":          func(b *eval.Batch) { b.Workers = -1 },
		"two patches":      func(b *eval.Batch) { b.Predictions = append(b.Predictions, b.Predictions[0]) },
		"unknown instance": func(b *eval.Batch) { b.Predictions = []swebench.Prediction{prediction("x", "y")} },
		"a shared folder":  func(b *eval.Batch) { b.Predictions = append(b.Predictions, shared) },
		"a row without a script": func(b *eval.Batch) {
			b.Data = dataset(t, "i:1", map[string]any{"eval_script": nil}, "a__b-1")
		},
	} {
		b := good
		b.Predictions = slices.Clone(good.Predictions)
		change(&b)
		if _, err := e.Run(t.Context(), t.Context(), b); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	dir := filepath.Join(good.Root, "logs", "run_evaluation", "run")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := container.Hold(filepath.Join(dir, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := e.Run(t.Context(), t.Context(), good); !errors.Is(err, eval.ErrRunInUse) {
		t.Errorf("a run in use: %v", err)
	}
}

func TestImagesThatWerePulledAreForgotten(t *testing.T) {
	t.Parallel()
	fakes := &boxes{ids: map[string]string{}}
	b := batch(t, prediction("a__b-1", goldPatch))
	b.Repeats, b.Forget = 3, true
	evaluate(t, evaluator(t, fakes, config()), b)
	if diff := cmp.Diff([]string{"i:1"}, fakes.forgotten); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	here := &boxes{}
	b.Root = t.TempDir()
	if evaluate(t, evaluator(t, here, config()), b); len(here.forgotten) != 0 {
		t.Errorf("what was here before was removed: %q", here.forgotten)
	}
	stuck := &boxes{ids: map[string]string{}, forget: errBroken}
	b.Root = t.TempDir()
	sum := evaluate(t, evaluator(t, stuck, config()), b)
	if got := read(t, sum.Models[0].Report); !strings.Contains(got, "\"unremoved_images\": [\n        \"i:1\"\n    ]") {
		t.Errorf("run report: %s", got)
	}
	older := config()
	older.Release = "4.1.0"
	if sum := evaluate(t, evaluator(t, &boxes{}, older), b); strings.Contains(read(t, sum.Models[0].Report), "unremoved_images") {
		t.Error("4.1.0 lists what is left")
	}
}

func TestAnErrorEndsTheBatch(t *testing.T) {
	t.Parallel()
	fakes := &boxes{}
	b := batch(t, prediction("a__b-1", goldPatch), prediction("a__b-2", goldPatch), prediction("a__b-3", goldPatch))
	b.Workers = 1
	dir := filepath.Join(b.Root, "logs", "run_evaluation", "run", "org__model")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a__b-1"), nil, 0o644); err != nil { // in the way of the folder
		t.Fatal(err)
	}
	sum, err := evaluator(t, fakes, config()).Run(t.Context(), t.Context(), b)
	if err == nil || errors.Is(err, eval.ErrStopped) || !strings.Contains(err.Error(), "write results of a__b-1") || sum.Open != 3 || fakes.taken() != 1 {
		t.Errorf("%v, %+v, %d evaluated", err, sum, fakes.taken())
	}
}

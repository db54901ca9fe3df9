package swebench_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

func report(t *testing.T, release testlog.Release, left *swebench.Leftovers) *swebench.RunReport {
	t.Helper()
	p := func(id, patch string) swebench.Prediction {
		return swebench.Prediction{InstanceID: id, Model: "m/x", Patch: patch}
	}
	verdicts := map[string]swebench.Verdict{
		"solved": {Completed: true, Resolved: true}, "missed": {Completed: true, Infra: &grade.Infra{Reason: "missing_module"}},
		"broken": {Infra: &grade.Infra{Reason: "out_of_memory", Environment: true}},
	}
	data := dataset(t, "solved", "missed", "broken", "empty", "absent", "lost")
	all := []swebench.Prediction{p("solved", "d"), p("missed", "d"), p("broken", "d"), p("empty", ""), p("lost", "d")}
	return swebench.NewRunReport(data, all, verdicts, "r1", release, left)
}

func TestRunReport(t *testing.T) {
	t.Parallel()
	r := report(t, testlog.V502, &swebench.Leftovers{Containers: []string{"c2", "c1"}})
	want := `{
    "total_instances": 6,
    "submitted_instances": 5,
    "completed_instances": 2,
    "resolved_instances": 1,
    "unresolved_instances": 1,
    "infra_failure_instances": 1,
    "ambiguous_failure_instances": 1,
    "empty_patch_instances": 1,
    "error_instances": 2,
    "completed_ids": [
        "missed",
        "solved"
    ],
    "incomplete_ids": [
        "absent"
    ],
    "empty_patch_ids": [
        "empty"
    ],
    "submitted_ids": [
        "broken",
        "empty",
        "lost",
        "missed",
        "solved"
    ],
    "resolved_ids": [
        "solved"
    ],
    "unresolved_ids": [
        "missed"
    ],
    "infra_failure_ids": [
        "broken"
    ],
    "ambiguous_failure_ids": [
        "missed"
    ],
    "failure_reasons": {
        "broken": "out_of_memory",
        "missed": "missing_module"
    },
    "error_ids": [
        "broken",
        "lost"
    ],
    "schema_version": 2,
    "unstopped_instances": 2,
    "unstopped_containers": [
        "c1",
        "c2"
    ],
    "unremoved_images": []
}
`
	if diff := cmp.Diff(want, string(r.JSON())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.FileName() != "m__x.r1.json" {
		t.Errorf("file %s", r.FileName())
	}
}

func TestRunReportOfRelease4(t *testing.T) {
	t.Parallel()
	want := `{
    "total_instances": 6,
    "submitted_instances": 5,
    "completed_instances": 2,
    "resolved_instances": 1,
    "unresolved_instances": 1,
    "empty_patch_instances": 1,
    "error_instances": 2,
    "completed_ids": [
        "missed",
        "solved"
    ],
    "incomplete_ids": [
        "absent"
    ],
    "empty_patch_ids": [
        "empty"
    ],
    "submitted_ids": [
        "broken",
        "empty",
        "lost",
        "missed",
        "solved"
    ],
    "resolved_ids": [
        "solved"
    ],
    "unresolved_ids": [
        "missed"
    ],
    "error_ids": [
        "broken",
        "lost"
    ],
    "schema_version": 2
}
`
	if diff := cmp.Diff(want, string(report(t, testlog.V410, nil).JSON())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	p := swebench.Prediction{InstanceID: "a__b-1", Model: "m/x", Patch: "d"}
	if got, want := swebench.InstanceDir("root", "r1", p), filepath.FromSlash("root/logs/run_evaluation/r1/m__x/a__b-1"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	keys := map[string]bool{}
	other := p
	other.Patch = "e"
	for _, key := range []string{
		swebench.CacheKey(p, "s", "i", "o"), swebench.CacheKey(other, "s", "i", "o"), swebench.CacheKey(p, "s2", "i", "o"),
		swebench.CacheKey(p, "s", "i2", "o"), swebench.CacheKey(p, "s", "i", "o2"), swebench.CacheKey(p, "si", "", "o"),
	} {
		if keys[key] || len(key) != 64 {
			t.Errorf("key %s", key)
		}
		keys[key] = true
	}
	created := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	want := "{\n  \"dataset\": \"d\",\n  \"split\": \"test\",\n  \"task_repo\": null,\n  \"created_at\": \"2026-01-02T02:04:05+00:00\"\n}\n"
	if diff := cmp.Diff(want, string(swebench.RunMetadata("d", "test", "", created))); diff != "" {
		t.Errorf("run.json (-want +got):\n%s", diff)
	}
}

package grade_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

func TestReportOfAnUnresolvedRun(t *testing.T) {
	t.Parallel()
	s := spec()
	s.FailToPass = []string{"t::é \"x\"", "t::fix"}
	r := mustLog(t, s, run("PASSED t::fix\nPASSED t::keep\n"), grade.Options{})
	want := `{
    "o__r-1": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": true,
        "resolved": false,
        "infra_failure": false,
        "tests_status": {
            "FAIL_TO_PASS": {
                "success": [
                    "t::fix"
                ],
                "failure": [
                    "t::\u00e9 \"x\""
                ]
            },
            "PASS_TO_PASS": {
                "success": [
                    "t::keep"
                ],
                "failure": []
            },
            "FAIL_TO_FAIL": {
                "success": [],
                "failure": []
            },
            "PASS_TO_FAIL": {
                "success": [],
                "failure": []
            }
        }
    }
}`
	if diff := cmp.Diff(want, string(grade.Report("o__r-1", false, r, grade.Options{}))); diff != "" {
		t.Errorf("report.json (-want +got):\n%s", diff)
	}
}

func TestReportsWithoutTests(t *testing.T) {
	t.Parallel()
	broken := mustLog(t, spec(), "Cannot connect to the Docker daemon", grade.Options{})
	tests := []struct {
		name string
		none bool
		opt  grade.Options
		want string
	}{
		{"5.0.2", false, grade.Options{}, `{
    "i": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": false,
        "resolved": false,
        "infra_failure": true,
        "infra_failure_reason": "container_unavailable"
    }
}`},
		{"4.1.0", false, grade.Options{Release: testlog.V410}, `{
    "i": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": false,
        "resolved": false
    }
}`},
		{"no patch", true, grade.Options{}, `{
    "i": {
        "patch_is_None": true,
        "patch_exists": false,
        "patch_successfully_applied": false,
        "resolved": false,
        "infra_failure": false
    }
}`},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, string(grade.Report("i", tt.none, broken, tt.opt))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]string{
		run(all):                             "RESOLVED_FULL: 2 of 2 tests to fix pass, 1 of 1 kept",
		"":                                   "not graded: the markers around the test output are missing",
		run(all) + ">>>>> Test Exit Code: 2": "not graded: the tests ended with an error that no listed test explains (2)",
	} {
		if got := grade.Describe(mustLog(t, spec(), log, grade.Options{})); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

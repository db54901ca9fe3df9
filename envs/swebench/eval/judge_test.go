package eval_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	data := dataset(t, "i:1", nil, "a__b-1")
	flood := strings.Repeat("x\n", 1<<20)
	tests := []struct {
		name, patch, log string
		want             swebench.Judgement
		problem          string
	}{
		{"resolved", goldPatch, logOf("PASSED t.py::fix\nPASSED t.py::keep\n"), swebench.Judgement{
			Resolved: true, Status: "RESOLVED_FULL", FailToPass: swebench.Tally{Passed: 1}, PassToPass: swebench.Tally{Passed: 1},
		}, ""},
		{"broken", goldPatch, logOf("PASSED t.py::fix\nFAILED t.py::keep\n"), swebench.Judgement{
			Status: "RESOLVED_NO", FailToPass: swebench.Tally{Passed: 1}, PassToPass: swebench.Tally{Failed: []string{"t.py::keep"}},
		}, ""},
		{"not graded", goldPatch, "Killed\n", swebench.Judgement{}, "the log was not graded"},
		{"refused", "--- a/.git/x\n+++ b/.git/x\n", "", swebench.Judgement{}, "the patch is refused: it names"},
		{"long", goldPatch, logOf(flood + "PASSED t.py::fix\nPASSED t.py::keep\n"), swebench.Judgement{
			Resolved: true, Status: "RESOLVED_FULL", FailToPass: swebench.Tally{Passed: 1}, PassToPass: swebench.Tally{Passed: 1},
		}, ""},
	}
	for _, tt := range tests {
		e := evaluator(t, &boxes{tests: func(int) (container.Result, error) { return container.Result{Output: []byte(tt.log)}, nil }}, config())
		got, err := e.Judge(t.Context(), data.Instances[0], tt.patch)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if (got.Report != "") != strings.Contains(tt.log, "\n") || len(got.Output) > 1<<20+20 || tt.name != "long" && got.Output != tt.log {
			t.Errorf("%s: output %q, report %q", tt.name, got.Output, got.Report)
		}
		if !strings.HasPrefix(got.Problem, tt.problem) || (tt.problem == "") != (got.Problem == "") {
			t.Errorf("%s: problem %q", tt.name, got.Problem)
		}
		got.Output, got.Report, got.Problem = "", "", ""
		if tt.want.Status == "" {
			got.FailToPass, got.PassToPass = swebench.Tally{}, swebench.Tally{}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	broken := evaluator(t, &boxes{take: func(int) error { return errBroken }}, config())
	if _, err := broken.Judge(t.Context(), data.Instances[0], goldPatch); !errors.Is(err, errBroken) {
		t.Errorf("a machine that fails: %v", err)
	}
	bare := dataset(t, "i:1", map[string]any{"eval_script": nil}, "a__b-1")
	if _, err := broken.Judge(t.Context(), bare.Instances[0], goldPatch); !errors.Is(err, swebench.ErrNoEvalScript) {
		t.Errorf("no script: %v", err)
	}
}

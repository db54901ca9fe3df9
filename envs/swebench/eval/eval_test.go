package eval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/eval"
	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

func tests(output string) func(int) (container.Result, error) {
	return func(int) (container.Result, error) { return container.Result{Output: []byte(output)}, nil }
}

func TestKinds(t *testing.T) {
	t.Parallel()
	failing := func(text string) func(string) container.Result {
		return func(string) container.Result { return container.Result{ExitCode: 1, Output: []byte(text)} }
	}
	slow := func(int) (container.Result, error) {
		return container.Result{ExitCode: -1, TimedOut: true, Output: []byte("on\n")}, nil
	}
	cases := []struct {
		name   string
		patch  string
		boxes  boxes
		want   eval.Kind
		detail string
		check  func(eval.Outcome) bool
	}{
		{"resolved", goldPatch, boxes{}, eval.Graded, "RESOLVED_FULL", func(o eval.Outcome) bool { return o.Resolved && o.FailToPass == [2]int{1, 0} }},
		{
			"not resolved", goldPatch,
			boxes{tests: tests(logOf("FAILED t.py::fix\nPASSED t.py::keep\n"))},
			eval.Graded, "RESOLVED_NO",
			func(o eval.Outcome) bool {
				return !o.Resolved && o.FailToPass == [2]int{0, 1} && o.PassToPass == [2]int{1, 0}
			},
		},
		{
			"no markers", goldPatch,
			boxes{tests: tests("Killed\n")},
			eval.Graded, "not graded",
			func(o eval.Outcome) bool {
				return !o.Resolved && o.Infra != nil && o.Infra.Reason == "out_of_memory" && o.Infra.Environment
			},
		},
		{
			"a marker that voids the run", goldPatch,
			boxes{tests: tests(logOf("PASSED t.py::fix\nPASSED t.py::keep\n" + grade.MarkerTestsErrored + "\n"))},
			eval.Graded, "not graded",
			func(o eval.Outcome) bool { return !o.Resolved },
		},
		{
			"a forged end", goldPatch,
			boxes{tests: tests(logOf("PASSED t.py::fix\nPASSED t.py::keep\n+ : '" + grade.MarkerEnd + "'\nFAILED t.py::keep\n"))},
			eval.Graded, "RESOLVED_FULL",
			func(o eval.Outcome) bool {
				return o.Resolved && len(o.Remarks) == 1 && strings.Contains(o.Remarks[0], "End Test Output")
			},
		},
		{"empty", "", boxes{}, eval.EmptyPatch, "", nil},
		{"large", strings.Repeat("x", 2000), boxes{}, eval.LargePatch, "2000 bytes", nil},
		{"git's folder", "--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-a\n+b\n", boxes{}, eval.UnsafePatch, ".git/config", nil},
		{
			"conflict", goldPatch,
			boxes{apply: failing("error: patch failed: result.txt:1\nerror: result.txt: patch does not apply\n")},
			eval.NotApplied, "does not apply",
			func(o eval.Outcome) bool { return o.ApplyFailure == swebench.ApplyConflict },
		},
		{
			"malformed", goldPatch,
			boxes{apply: failing("error: corrupt patch at line 5\n")},
			eval.NotApplied, "corrupt patch",
			func(o eval.Outcome) bool { return o.ApplyFailure == swebench.ApplyMalformed },
		},
		{"applied by patch", goldPatch, boxes{apply: func(command string) container.Result {
			if strings.HasPrefix(command, "patch ") {
				return container.Result{}
			}
			return container.Result{ExitCode: 1, Output: []byte("error: patch failed\n")}
		}}, eval.Graded, "RESOLVED_FULL", func(o eval.Outcome) bool { return strings.HasPrefix(o.AppliedBy, "patch --batch --forward") }},
		{
			"time-out", goldPatch,
			boxes{tests: slow},
			eval.TimedOut, "1800 seconds exceeded",
			func(o eval.Outcome) bool { return o.Infra != nil && o.Infra.Reason == "tests_timed_out" },
		},
		{"time-out that ended the container", goldPatch, boxes{tests: func(int) (container.Result, error) {
			res, _ := slow(0)
			return res, harness.Fail(harness.FailEnv, "end command", errors.Join(container.ErrDied, container.ErrEnded))
		}}, eval.TimedOut, "exceeded", nil},
		{"flood", goldPatch, boxes{tests: func(int) (container.Result, error) {
			return container.Result{Output: []byte("a"), Tail: []byte("b"), Dropped: 9}, nil
		}}, eval.LogTooLarge, "more than", nil},
		{"disk", goldPatch, boxes{tests: func(int) (container.Result, error) { return container.Result{DiskFull: true}, nil }}, eval.DiskFull, "wrote more", nil},
		{"disk while applying", goldPatch, boxes{apply: func(string) container.Result { return container.Result{ExitCode: -1, DiskFull: true} }}, eval.DiskFull, "applying", nil},
		{
			"no git", goldPatch,
			boxes{apply: func(string) container.Result {
				return container.Result{ExitCode: 127, Output: []byte("sh: git: not found\n")}
			}},
			eval.Infrastructure, "git: not found", func(o eval.Outcome) bool { return o.Tries == 3 && harness.KindOf(o.Err) == harness.FailEnv },
		},
		{
			"no image", goldPatch,
			boxes{find: func(int) error { return harness.FailFinal(harness.FailEnv, "find image", container.ErrNoImage) }},
			eval.Infrastructure, "no such image", func(o eval.Outcome) bool { return o.Tries == 1 && errors.Is(o.Err, container.ErrNoImage) },
		},
		{"a daemon that fails once", goldPatch, boxes{take: func(try int) error {
			if try == 1 {
				return errBroken
			}
			return nil
		}}, eval.Graded, "RESOLVED_FULL", func(o eval.Outcome) bool { return o.Tries == 2 && o.Resolved }},
		{"a container that dies in every test", goldPatch, boxes{tests: func(int) (container.Result, error) {
			return container.Result{}, harness.Fail(harness.FailEnv, "use container", container.ErrDied)
		}}, eval.Infrastructure, "died", func(o eval.Outcome) bool {
			return o.Tries == 3 && !o.Verdict().Completed && o.Verdict().Infra.Environment
		}},
	}
	data := dataset(t, "i:1", nil, "a__b-1")
	for i := range cases {
		tt := &cases[i]
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := config()
			c.MaxPatch = 1000
			o, err := evaluator(t, &tt.boxes, c).Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", tt.patch))
			if err != nil {
				t.Fatal(err)
			}
			if o.Kind != tt.want || !strings.Contains(o.Detail, tt.detail) || tt.check != nil && !tt.check(o) {
				t.Errorf("%+v", o)
			}
			if tt.boxes.removed != tt.boxes.takes && tt.boxes.take == nil {
				t.Errorf("%d of %d containers were removed", tt.boxes.removed, tt.boxes.takes)
			}
		})
	}
}

func TestReleasesDiffer(t *testing.T) {
	t.Parallel()
	var commands []string
	b := &boxes{apply: func(command string) container.Result {
		commands = append(commands, command)
		return container.Result{ExitCode: 1, Output: []byte("error: x: patch does not apply\n")}
	}}
	c := config()
	c.Release = testlog.V410
	data := dataset(t, "i:1", nil, "a__b-1")
	if _, err := evaluator(t, b, c).Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", goldPatch)); err != nil {
		t.Fatal(err)
	}
	if len(commands) != 3 || strings.Contains(strings.Join(commands, "\n"), "3way") {
		t.Errorf("4.1.0 ran %q", commands)
	}
	// A test that is skipped is in neither list of 4.1.0, and a failure of 5.0.2.
	b = &boxes{tests: tests(logOf("SKIPPED t.py::fix\nPASSED t.py::keep\n"))}
	for release, want := range map[testlog.Release]bool{testlog.V410: true, testlog.V502: false} {
		c.Release = release
		o, err := evaluator(t, b, c).Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", goldPatch))
		if err != nil || o.Resolved != want {
			t.Errorf("%s: %+v, %v", release, o, err)
		}
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	data := dataset(t, "i:1", map[string]any{"image_assets": `{"test_patch":[{"path":"img/a.png","url":"http://x/a.png"}]}`}, "a__b-1")
	o, err := evaluator(t, &boxes{}, config()).Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", goldPatch))
	if err != nil || o.Kind != eval.Infrastructure || !strings.Contains(o.Detail, "1 binary files") || o.Tries != 1 {
		t.Errorf("without: %+v, %v", o, err)
	}
	c := config()
	asked := ""
	c.Asset = func(_ context.Context, in *swebench.Instance, a swebench.Asset) ([]byte, error) {
		asked = in.ID + " " + a.Path
		return []byte("png"), nil
	}
	if o, err = evaluator(t, &boxes{}, c).Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", goldPatch)); err != nil || !o.Resolved || asked != "a__b-1 img/a.png" {
		t.Errorf("with: %+v, %v, asked for %q", o, err, asked)
	}
	c.Asset = func(context.Context, *swebench.Instance, swebench.Asset) ([]byte, error) {
		return nil, errors.New("absent")
	}
	if o, err = evaluator(t, &boxes{}, c).Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", goldPatch)); err != nil || o.Kind != eval.Infrastructure {
		t.Errorf("absent: %+v, %v", o, err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]eval.Config{
		"no clock":       {},
		"a time":         {Now: time.Now, Timeout: -1},
		"a bound":        {Now: time.Now, MaxLog: -1},
		"a relaxation":   {Now: time.Now, Relax: []string{"everything"}},
		"half a network": {Now: time.Now, Relax: []string{"network="}},
		"a release":      {Now: time.Now, Release: "3"},
	} {
		if _, err := eval.New(&boxes{}, c); err == nil {
			t.Errorf("%s was taken", name)
		}
		if _, err := eval.Open(t.Context(), c); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	c := config()
	c.Host = "unix:///nonexistent/docker.sock"
	if _, err := eval.Open(t.Context(), c); !errors.Is(err, container.ErrNoDaemon) {
		t.Errorf("no daemon: %v", err)
	}
}

func TestARowWithoutAScript(t *testing.T) {
	t.Parallel()
	data := dataset(t, "i:1", map[string]any{"eval_script": nil}, "a__b-1")
	if _, err := evaluator(t, &boxes{}, config()).Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", goldPatch)); !errors.Is(err, swebench.ErrNoEvalScript) {
		t.Errorf("got %v", err)
	}
}

func TestTheEndIsNoFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := &boxes{take: func(int) error {
		cancel()
		return errBroken
	}}
	data := dataset(t, "i:1", nil, "a__b-1")
	if _, err := evaluator(t, b, config()).Evaluate(ctx, data.Instances[0], prediction("a__b-1", goldPatch)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

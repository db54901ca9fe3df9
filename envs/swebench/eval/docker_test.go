package eval_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/eval"
)

// runner is the repository's test command: what it does is in result.txt, and mode.
const runner = `case $(cat mode) in
plain) ;;
fork) f() { f | f & }; f; sleep 4242;;
deaf) trap '' TERM INT HUP; while :; do sleep 1; done;;
flood) yes;;
disk) i=0; while :; do i=$((i+1)); dd if=/dev/zero of=/tmp/f$i bs=1M count=1 2>/dev/null; done;;
suicide) kill -KILL $$;;
shell) kill -KILL $PPID;;
sleep) echo on; setsid sleep 4242; sleep 4242;;
esac
cat result.txt
`

// repository makes the files of a git repository in /testbed.
func repository(tb testing.TB) []containertest.File {
	tb.Helper()
	dir := tb.TempDir()
	for name, content := range map[string]string{
		"run_tests.sh": runner, "result.txt": "one\ntwo\nthree\nFAILED t.py::fix\nPASSED t.py::keep\n", "mode": "plain\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	// The last command makes an index without the files' times, so that every test makes the same image.
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "Begin"}, {"read-tree", "--empty"}, {"read-tree", "HEAD"}} {
		cmd := exec.CommandContext(tb.Context(), "git", args...)
		cmd.Dir = dir
		const when = "2026-01-01T00:00:00Z"
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
			"GIT_AUTHOR_DATE="+when, "GIT_COMMITTER_DATE="+when, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TEMPLATE_DIR=")
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	var files []containertest.File
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			files = append(files, containertest.File{Name: "testbed/" + rel + "/", Mode: 0o755})
			return nil
		}
		content, err := os.ReadFile(name)
		files = append(files, containertest.File{Name: "testbed/" + rel, Mode: 0o644, Content: content})
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// daemon opens an evaluator over a daemon, and an image of the repository.
func daemon(tb testing.TB, c eval.Config, config container.Config) (*eval.Evaluator, string) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("evaluates in containers: test without -short")
	}
	engine := containertest.Open(tb, config)
	image := containertest.Image(tb, engine, repository(tb)...)
	e, err := eval.WithEngine(engine, c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e, image
}

// mode is a patch that makes the tests behave so.
func mode(name string) string {
	return strings.Replace("diff --git a/mode b/mode\n--- a/mode\n+++ b/mode\n@@ -1 +1 @@\n-plain\n+NAME\n", "NAME", name, 1)
}

func TestInContainers(t *testing.T) {
	t.Parallel()
	c := config()
	c.Timeout, c.Warm, c.MaxLog = 10*time.Minute, 2, 1<<20
	c.Limits = container.Limits{Processes: 200, Disk: 20 << 20}
	e, image := daemon(t, c, container.Config{DiskCheck: 200 * time.Millisecond})
	short := c
	short.Timeout = 3 * time.Second
	hasty, _ := daemon(t, short, container.Config{})
	fuzzy := strings.Replace(goldPatch, " one\n", " uno\n", 1)
	tests := []struct {
		name, patch string
		e           *eval.Evaluator
		want        eval.Kind
		check       func(eval.Outcome) bool
	}{
		{"gold", goldPatch, e, eval.Graded, func(o eval.Outcome) bool { return o.Resolved && o.AppliedBy == "git apply --verbose /tmp/patch.diff" }},
		{"does nothing", mode("other"), e, eval.Graded, func(o eval.Outcome) bool { return !o.Resolved && o.FailToPass == [2]int{0, 1} }},
		{"fuzz", fuzzy, e, eval.Graded, func(o eval.Outcome) bool { return o.Resolved && strings.HasPrefix(o.AppliedBy, "patch ") }},
		{"cut short", goldPatch[:strings.Index(goldPatch, " three")], e, eval.NotApplied, func(o eval.Outcome) bool { return o.ApplyFailure == swebench.ApplyMalformed }},
		{"no file", strings.ReplaceAll(goldPatch, "result.txt", "absent.txt"), e, eval.NotApplied, func(o eval.Outcome) bool { return o.ApplyFailure == swebench.ApplyMissing }},
		{"a conflict", strings.ReplaceAll(goldPatch, "t.py", "q.py"), e, eval.NotApplied, func(o eval.Outcome) bool { return o.ApplyFailure == swebench.ApplyConflict }},
		{"no diff", "I could not do it.\n", e, eval.NotApplied, func(o eval.Outcome) bool { return o.ApplyFailure == swebench.ApplyEmpty }},
		{"writes without end", mode("flood"), hasty, eval.TimedOut, nil},
		{"ignores signals", mode("deaf"), hasty, eval.TimedOut, nil},
		{"forks forever", mode("fork"), hasty, eval.TimedOut, nil},
		{"sleeps in a session of its own", mode("sleep"), hasty, eval.TimedOut, nil},
		{"fills its disk", mode("disk"), e, eval.DiskFull, nil},
		{"kills its tests", mode("suicide"), e, eval.Graded, func(o eval.Outcome) bool { return !o.Resolved }},
		{"kills the script", mode("shell"), e, eval.Graded, func(o eval.Outcome) bool { return !o.Resolved && o.Status == "" }},
	}
	data := dataset(t, image, nil, "a__b-1")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, err := tt.e.Evaluate(t.Context(), data.Instances[0], prediction("a__b-1", tt.patch))
			if err != nil {
				t.Fatal(err)
			}
			if o.Kind != tt.want || o.Tries != 1 || tt.check != nil && !tt.check(o) {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestABatchInContainers(t *testing.T) {
	t.Parallel()
	c := config()
	c.Warm = 2
	e, image := daemon(t, c, container.Config{})
	b := batch(t, prediction("a__b-1", goldPatch), prediction("a__b-2", mode("other")), prediction("a__b-3", ""), prediction("a__b-4", "x\n"))
	b.Data = dataset(t, image, nil, "a__b-1", "a__b-2", "a__b-3", "a__b-4")
	sum := evaluate(t, e, b)
	if sum.Resolved() != 1 || sum.Count(eval.Graded) != 2 || sum.Count(eval.EmptyPatch) != 1 || sum.Count(eval.NotApplied) != 1 {
		t.Errorf("%+v", sum)
	}
	log := read(t, sum.Dir, "org__model", "a__b-1", "test_output.txt")
	if !strings.Contains(log, "+ : '>>>>> Start Test Output'\n+ sh run_tests.sh\none\ntwo\nthree\nPASSED t.py::fix\nPASSED t.py::keep\n+ SWEBENCH_TEST_EXIT_CODE=0\n+ : '>>>>> End") {
		t.Errorf("log: %s", log)
	}
	if sum := evaluate(t, e, b); sum.Cached != 3 {
		t.Errorf("the second time: %+v", sum)
	}
}

// A daemon that goes away in the middle is no verdict, and the next run makes up for it.
func TestADaemonThatGoesAway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("evaluates in containers: test without -short")
	}
	direct := containertest.Open(t, container.Config{})
	image := containertest.Image(t, direct, repository(t)...)
	proxy := containertest.NewProxy(t)
	c := config()
	c.Retries = -1
	e, _ := daemon(t, c, container.Config{Host: proxy.Host})
	b := batch(t, prediction("a__b-1", mode("sleep")))
	b.Data = dataset(t, image, nil, "a__b-1")
	ctx := t.Context()
	go func() {
		for ctx.Err() == nil && proxy.Seen("/start HTTP") < 3 { // of the container, the patch and the tests
			time.Sleep(20 * time.Millisecond)
		}
		proxy.Cut()
	}()
	sum := evaluate(t, e, b)
	if sum.Count(eval.Infrastructure) != 1 {
		t.Errorf("%+v", sum)
	}
	proxy.Mend()
	b.Predictions[0].Patch = goldPatch
	if sum := evaluate(t, e, b); sum.Resolved() != 1 {
		t.Errorf("afterwards: %+v", sum)
	}
	if _, err := os.Stat(filepath.Join(b.Root, "org__model.run.json")); errors.Is(err, os.ErrNotExist) {
		t.Error("no run report")
	}
}

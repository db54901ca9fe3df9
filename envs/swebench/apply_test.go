package swebench_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

// apply runs a chain on a repository as a container would.
func (r *repository) apply(release testlog.Release, patch string) swebench.ApplyOutcome {
	r.t.Helper()
	if _, err := exec.LookPath("patch"); err != nil {
		r.t.Skip("patch is absent: install it to test the chain of commands")
	}
	file := filepath.Join(r.t.TempDir(), "patch.diff")
	if err := os.WriteFile(file, []byte(patch), 0o600); err != nil {
		r.t.Fatal(err)
	}
	do := func(command string) swebench.ApplyAttempt {
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, swebench.PatchPath, file))
		cmd.Dir = r.dir
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		a := swebench.ApplyAttempt{Command: command, Output: string(out)}
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			a.ExitCode = exit.ExitCode()
		} else if err != nil {
			r.t.Fatal(err)
		}
		return a
	}
	chain := swebench.NewApplyChain(release)
	var attempts []swebench.ApplyAttempt
	for i, command := range chain.Attempts {
		if i > 0 && chain.Between != "" {
			do(chain.Between)
		}
		attempts = append(attempts, do(command))
		if attempts[i].ExitCode == 0 {
			return swebench.ClassifyApply(attempts, nil)
		}
	}
	if chain.Check == "" {
		return swebench.ClassifyApply(attempts, nil)
	}
	checked := do(chain.Check)
	return swebench.ClassifyApply(attempts, &checked)
}

const (
	header  = "diff --git a/file b/file\n--- a/file\n+++ b/file\n"
	goodFix = header + "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
)

func TestApplyChainOnARepository(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, patch string
		applied     bool
		failure     swebench.ApplyFailure
		old         bool // 4.1.0
	}{
		{name: "good", patch: goodFix, applied: true},
		{name: "good, 4.1.0", patch: goodFix, applied: true, old: true},
		{name: "shifted context", patch: header + "@@ -9,3 +9,3 @@\n one\n-two\n+2\n three\n", applied: true},
		{name: "fuzzy context", patch: header + "@@ -1,3 +1,3 @@\n uno\n-two\n+2\n three\n", applied: true},
		{name: "conflict", patch: header + "@@ -1,3 +1,3 @@\n one\n-zwei\n+2\n three\n", failure: swebench.ApplyConflict},
		{name: "conflict, 4.1.0", patch: header + "@@ -1,3 +1,3 @@\n one\n-zwei\n+2\n three\n", failure: swebench.ApplyConflict, old: true},
		{name: "missing file", patch: strings.ReplaceAll(goodFix, "file", "gone"), failure: swebench.ApplyMissing},
		{
			name: "file exists", failure: swebench.ApplyExists,
			patch: "diff --git a/file b/file\nnew file mode 100644\n--- /dev/null\n+++ b/file\n@@ -0,0 +1 @@\n+x\n",
		},
		{name: "cut short", patch: header + "@@ -1,3 +1,3 @@\n one\n-two\n", failure: swebench.ApplyMalformed},
		{name: "no newline at its end, which patch forgives", patch: strings.TrimSuffix(goodFix, "\n"), applied: true},
		{name: "no diff", patch: "I could not do it.\n", failure: swebench.ApplyEmpty},
		{name: "no binary contents", patch: "diff --git a/file b/file\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 0\nHcmV?d00001\n\n", failure: swebench.ApplyBinary},
		{name: "outside of the tree", patch: strings.NewReplacer("a/file", "a/../../file", "b/file", "b/../../file").Replace(goodFix), failure: swebench.ApplyMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.commit("one\ntwo\nthree\n")
			release := testlog.V502
			if tt.old {
				release = testlog.V410
			}
			got := r.apply(release, tt.patch)
			if got.Applied != tt.applied || got.Failure != tt.failure {
				t.Errorf("applied %v, failure %q (%s), want %v, %q", got.Applied, got.Failure, got.Detail, tt.applied, tt.failure)
			}
			if !tt.applied && got.Detail == "" || tt.applied && got.By == "" {
				t.Errorf("nothing says so: %+v", got)
			}
		})
	}
}

func TestClassifyApply(t *testing.T) {
	t.Parallel()
	failed := func(code int, output string) []swebench.ApplyAttempt {
		return []swebench.ApplyAttempt{{Command: "git apply", ExitCode: code, Output: output}, {Command: "patch", ExitCode: 1, Output: "1 out of 1 hunk FAILED"}}
	}
	tests := []struct {
		name string
		in   []swebench.ApplyAttempt
		want swebench.ApplyFailure
	}{
		{"no such command", failed(127, "bash: git: command not found"), swebench.ApplyTool},
		{"killed", failed(137, ""), swebench.ApplyTool},
		{"never ran", failed(-1, ""), swebench.ApplyTool},
		{"no repository", failed(128, "fatal: not a git repository"), swebench.ApplyTool},
		{"disk full", failed(1, "error: unable to write file: No space left on device"), swebench.ApplyTool},
		{"only a later command says why", failed(1, "?"), swebench.ApplyConflict},
		{"the first to say why decides", failed(1, "error: corrupt patch at line 3"), swebench.ApplyMalformed},
		{"nothing says why", failed(1, "?")[:1], swebench.ApplyUnknown},
		{"a path that git does not take", failed(128, "error: invalid path '.git/x'"), swebench.ApplyPath},
		{"reversed", failed(1, "Reversed (or previously applied) patch detected!  Skipping patch."), swebench.ApplyReversed},
	}
	for _, tt := range tests {
		got := swebench.ClassifyApply(tt.in, nil)
		if got.Applied || got.Failure != tt.want || got.Failure.Environment() != (tt.want == swebench.ApplyTool) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	got := swebench.ClassifyApply(failed(1, "x"), &swebench.ApplyAttempt{Command: "check"})
	if !got.Applied || !got.Verified || got.By != "check" || got.Failure != "" {
		t.Errorf("verified by the check: %+v", got)
	}
	long := swebench.ClassifyApply(failed(1, "ok\nerror: corrupt patch at "+strings.Repeat("é", 500)+"\nmore"), nil)
	if len(long.Detail) > 400 || !strings.HasPrefix(long.Detail, "error: corrupt") || !strings.HasSuffix(long.Detail, "…") {
		t.Errorf("detail %q", long.Detail)
	}
}

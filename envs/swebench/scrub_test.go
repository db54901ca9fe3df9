package swebench_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/swebench"
)

// repository is a git repository in a temporary folder.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is absent: install it to test the scrub on a real repository")
	}
	r := &repository{t: t, dir: t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	return r.run("git", args...)
}

func (r *repository) run(name string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) commit(content string) string {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "file"), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", "file")
	r.git("commit", "-q", "-m", content)
	return r.git("rev-parse", "HEAD")
}

func (r *repository) leaks() []string {
	r.t.Helper()
	leaks, err := swebench.ScrubReport(r.run("sh", "-c", swebench.ScrubCheckScript(r.dir)))
	if err != nil {
		r.t.Fatal(err)
	}
	return leaks
}

// future builds a repository whose HEAD is in the middle of its history, with everything by which the
// later part can be reached.
func future(t *testing.T) (r *repository, base, fix string) {
	t.Helper()
	r = newRepository(t)
	r.commit("one")
	r.git("tag", "v1")
	r.git("tag", "-a", "v1-annotated", "-m", "x")
	base = r.commit("two")
	fix = r.commit("the fix")
	r.git("tag", "v2")
	r.git("tag", "-a", "v2-annotated", "-m", "x")
	r.git("branch", "develop")
	r.git("update-ref", "refs/notes/commits", fix)
	r.git("update-ref", "refs/remotes/origin/main", fix)
	r.git("remote", "add", "origin", "https://example.invalid/x.git")
	r.git("repack", "-a", "-d", "-q", "-b")
	r.git("commit-graph", "write", "--reachable")
	r.git("reset", "-q", "--hard", base)
	r.commit("unreachable and loose")
	r.git("reset", "-q", "--hard", base)
	r.git("stash", "list")
	return r, base, fix
}

func TestScrubRemovesTheFuture(t *testing.T) {
	t.Parallel()
	r, base, fix := future(t)
	before := r.leaks()
	for _, want := range []string{"remote origin", "ref refs/heads/develop", "ref refs/tags/v2", "ref refs/tags/v2-annotated", "ref refs/notes/commits", "reflog HEAD", "commit " + fix} {
		if !strings.Contains(strings.Join(before, "\n")+"\n", want+"\n") {
			t.Errorf("the check does not see %q; it sees %q", want, before)
		}
	}
	if err := os.WriteFile(filepath.Join(r.dir, "file"), []byte("an agent's work"), 0o600); err != nil {
		t.Fatal(err)
	}
	status := r.git("status", "--porcelain")
	r.run("sh", "-c", swebench.ScrubScript(r.dir, base))
	if after := r.leaks(); len(after) != 0 {
		t.Errorf("still visible: %q", after)
	}
	if got := r.git("rev-parse", "HEAD"); got != base {
		t.Errorf("HEAD moved to %s", got)
	}
	if got := r.git("status", "--porcelain"); got != status {
		t.Errorf("status is %q, was %q", got, status)
	}
	if diff := cmp.Diff("v1\nv1-annotated", r.git("tag")); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if out, err := exec.Command("git", "-C", r.dir, "cat-file", "-e", fix).CombinedOutput(); err == nil {
		t.Errorf("the fix can still be read: %s", out)
	}
	r.git("fsck", "--full")
	r.run("sh", "-c", swebench.ScrubScript(r.dir, base)) // again, which changes nothing
}

func TestScrubKeepsADetachedHead(t *testing.T) {
	t.Parallel()
	r, base, _ := future(t)
	r.git("checkout", "-q", "--detach", base)
	r.run("sh", "-c", swebench.ScrubScript(r.dir, ""))
	if after := r.leaks(); len(after) != 0 {
		t.Errorf("still visible: %q", after)
	}
	if got := r.git("branch", "--format=%(refname:short)"); strings.Contains(got, "main") {
		t.Errorf("branch left: %q", got)
	}
}

func TestScrubRefuses(t *testing.T) {
	t.Parallel()
	r, _, _ := future(t)
	tests := []struct {
		name, dir, base string
		code            int
	}{
		{"no folder", filepath.Join(r.dir, "it's absent"), "", 3},
		{"no repository", t.TempDir(), "", 3},
		{"another base", r.dir, strings.Repeat("0", 40), 4},
	}
	for _, tt := range tests {
		err := exec.Command("sh", "-c", swebench.ScrubScript(tt.dir, tt.base)).Run()
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != tt.code {
			t.Errorf("%s: %v, want exit code %d", tt.name, err, tt.code)
		}
	}
	if len(r.leaks()) == 0 {
		t.Error("a refused scrub changed the repository")
	}
}

// A repository without a future is left as it is: nothing of it is written anew.
func TestHideFutureLooksFirst(t *testing.T) {
	t.Parallel()
	r, base, fix := future(t)
	packs := func() string { return r.run("sh", "-c", "ls -i .git/objects/pack") }
	hide := func() {
		t.Helper()
		leaks, err := swebench.ScrubReport(r.run("sh", "-c", swebench.HideFutureScript(r.dir, base)))
		if err != nil || len(leaks) != 0 {
			t.Fatalf("leaks %q, %v", leaks, err)
		}
	}
	hide()
	if exec.Command("git", "-C", r.dir, "cat-file", "-e", fix).Run() == nil {
		t.Error("the fix can still be read")
	}
	before := packs()
	hide()
	if after := packs(); after != before {
		t.Errorf("the packs were written anew:\n%s\n%s", before, after)
	}
	for code, c := range map[int][2]string{3: {t.TempDir(), ""}, 4: {r.dir, strings.Repeat("0", 40)}} {
		err := exec.Command("sh", "-c", swebench.HideFutureScript(c[0], c[1])).Run()
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != code {
			t.Errorf("%q: %v, want exit code %d", c, err, code)
		}
	}
}

func TestScrubReport(t *testing.T) {
	t.Parallel()
	leaks, err := swebench.ScrubReport("noise\nhindsight-scrub ref refs/x\r\nhindsight-scrub done\n")
	if err != nil || !cmp.Equal(leaks, []string{"ref refs/x"}) {
		t.Errorf("got %q, %v", leaks, err)
	}
	if _, err := swebench.ScrubReport("hindsight-scrub ref refs/x\n"); !errors.Is(err, swebench.ErrScrubIncomplete) {
		t.Errorf("an unfinished check: %v", err)
	}
}

package container_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
)

// childVar makes the test binary a run of its own, which starts containers and never ends.
const childVar = "HINDSIGHT_TEST_CHILD"

func TestMain(m *testing.M) {
	if value := os.Getenv(childVar); value != "" {
		owner, dir, _ := strings.Cut(value, "|")
		if err := child(owner, dir); err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func child(owner, dir string) error {
	ctx := context.Background()
	e, err := container.Open(ctx, container.Config{Owner: owner, Run: "killed", LockDir: dir})
	if err != nil {
		return err
	}
	spec := container.Spec{Image: os.Getenv(childVar + "_IMAGE")}
	c, err := e.Start(ctx, spec)
	if err != nil {
		return err
	}
	pool := e.NewPool(2)
	pool.Warm(spec, 1)
	warm, err := pool.Take(ctx, spec)
	if err != nil {
		return err
	}
	os.Stdout.WriteString(c.ID() + " " + warm.ID() + "\n")
	_, err = c.Exec(ctx, sh("sleep 4242"))
	return err
}

// A run that is killed leaves containers; the next one removes them, and none of those of runs that live.
func TestAKilledRunIsCleanedUpByTheNext(t *testing.T) {
	t.Parallel()
	const owner = "test-killed-run"
	dir := t.TempDir()
	live := containertest.Open(t, container.Config{Owner: owner, Run: "live", LockDir: dir})
	kept := start(t, live, container.Spec{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childVar+"="+owner+"|"+dir, childVar+"_IMAGE="+containertest.Image(t, live))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	ids := strings.Fields(line)
	if err != nil || len(ids) != 2 {
		t.Fatalf("the child said %q, %v", line, err)
	}
	if n, err := live.ReapDead(t.Context()); err != nil || n != 0 {
		t.Errorf("while it lives, %d of its containers were removed, %v", n, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	left, err := filepath.Glob(filepath.Join(dir, "killed-*.lock"))
	if err != nil || len(left) != 1 {
		t.Errorf("lock files of the killed run: %q, %v", left, err)
	}
	elsewhere := containertest.Open(t, container.Config{Owner: "test-other-owner", Run: "next", LockDir: dir})
	if n, err := elsewhere.ReapDead(t.Context()); err != nil || n != 0 {
		t.Errorf("another owner removed %d, %v", n, err)
	}
	next := containertest.Open(t, container.Config{Owner: owner, Run: "next", LockDir: dir})
	if n, err := next.ReapDead(t.Context()); err != nil || n != 0 {
		t.Errorf("opening left %d of them, %v", n, err)
	}
	if n, err := next.Reap(t.Context(), func(run string) bool { return run != "killed" }); err != nil || n != 0 {
		t.Errorf("%d of the killed run's were there still, %v", n, err)
	}
	run(t, kept, sh("true"))
	if left, _ := filepath.Glob(filepath.Join(dir, "killed-*")); len(left) != 0 {
		t.Errorf("lock files that stayed: %q", left)
	}
}

func TestClosingRemovesTheRunsContainersOnly(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many containers: test without -short")
	}
	const owner = "test-closing"
	dir := t.TempDir()
	first := containertest.Open(t, container.Config{Owner: owner, LockDir: dir})
	second := containertest.Open(t, container.Config{Owner: owner, LockDir: dir}) // the same run's name
	gone, kept := start(t, first, container.Spec{}), start(t, second, container.Spec{})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Find(t.Context(), []string{containertest.Image(t, second)}); err != nil {
		t.Error(err)
	}
	run(t, kept, sh("true"))
	if err := gone.Remove(t.Context()); err == nil {
		t.Log("removing through a closed engine is no error")
	}
	if n, err := second.ReapDead(t.Context()); err != nil || n != 0 {
		t.Errorf("%d were left, %v", n, err)
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	e := engine(t)
	spec := container.Spec{Image: containertest.Image(t, e), Prefix: "hindsight-test-pool"}
	other := spec
	other.WorkDir = "/tmp"
	p := e.NewPool(2)
	p.Warm(spec, 5)
	first, err := p.Take(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	run(t, first, sh("echo x > /dirty"))
	second, err := p.Take(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if first.ID() == second.ID() || run(t, second, sh("[ -e /dirty ]")).ExitCode == 0 {
		t.Error("a container was handed out twice")
	}
	p.Warm(spec, 2)
	p.Warm(other, 1) // makes one of the others go
	third, err := p.Take(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(run(t, third, sh("echo $PWD")).Output); got != "/tmp\n" {
		t.Errorf("the other spec's runs in %q", got)
	}
	// One that died while it waited is not handed out.
	if n, err := e.Reap(t.Context(), func(string) bool { return false }); err != nil || n < 3 {
		t.Errorf("%d were removed, %v", n, err)
	}
	fourth, err := p.Take(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	run(t, fourth, sh("true"))
	p.Warm(spec, 2)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	p.Warm(spec, 2) // too late
	if n, err := e.Reap(t.Context(), func(string) bool { return false }); err != nil || n != 1 {
		t.Errorf("%d were there beside the one that was taken, %v", n, err)
	}
}

func TestAPoolOfContainersThatCannotStart(t *testing.T) {
	t.Parallel()
	e := engine(t)
	p := e.NewPool(2)
	spec := container.Spec{Image: "hindsight-absent:1"}
	p.Warm(spec, 2)
	if _, err := p.Take(t.Context(), spec); !errors.Is(err, container.ErrNoImage) {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	good := container.Spec{Image: containertest.Image(t, e)}
	p.Warm(good, 1)
	if _, err := p.Take(ended, good); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end, of one on its way: %v", err)
	}
	p.Wait()
	if _, err := p.Take(ended, good); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end, of one that is ready: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if n, err := e.Reap(t.Context(), func(string) bool { return false }); err != nil || n != 0 {
		t.Errorf("%d containers were left, %v", n, err)
	}
}

func TestDisk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many containers: test without -short")
	}
	e := containertest.Open(t, container.Config{DiskCheck: 50 * time.Millisecond})
	c := start(t, e, container.Spec{Limits: container.Limits{Disk: 20 << 20}})
	if res := run(t, c, sh("dd if=/dev/zero of=/tmp/one bs=1M count=100; rm /tmp/one; exit 7")); res.ExitCode != 7 || res.DiskFull {
		t.Errorf("one large file: %+v", res)
	}
	res := run(t, c, sh("i=0; while :; do i=$((i+1)); dd if=/dev/zero of=/tmp/f$i bs=1M count=1 2>/dev/null; done"))
	if !res.DiskFull || res.ExitCode != -1 || res.TimedOut {
		t.Errorf("many files: %+v", res)
	}
	// It lives on, and can be made room in.
	waitFor(t, func() bool { return !run(t, c, sh("rm -f /tmp/f*; echo alive")).DiskFull })
	full := containertest.Open(t, container.Config{StartRoom: 1 << 60, PullRoom: 1 << 60})
	var f *harness.Failure
	_, err := full.Start(t.Context(), container.Spec{Image: "x"})
	if !errors.Is(err, container.ErrNoSpace) || !errors.As(err, &f) || f.Retryable || !strings.Contains(err.Error(), "GiB are free") {
		t.Errorf("no room to start: %v", err)
	}
	if _, err := full.Find(t.Context(), []string{"127.0.0.1:1/hindsight-absent:1"}); !errors.Is(err, container.ErrNoSpace) {
		t.Errorf("no room to pull: %v", err)
	}
}

package container_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
	"github.com/hindsightrl/harness/internal/errext"
)

// engine opens the daemon for one test, as an owner of its own, and removes what the test leaves.
func engine(t *testing.T) *container.Engine {
	t.Helper()
	return containertest.Open(t, container.Config{})
}

func start(t *testing.T, e *container.Engine, spec container.Spec) *container.Container {
	t.Helper()
	spec.Image = containertest.Image(t, e)
	c, err := e.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sh(script string) container.Command {
	return container.Command{Args: []string{"sh", "-c", script}}
}

func run(t *testing.T, c *container.Container, cmd container.Command) container.Result {
	t.Helper()
	res, err := c.Exec(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestExec(t *testing.T) {
	t.Parallel()
	c := start(t, engine(t), container.Spec{WorkDir: "/testbed", Env: []string{"A=1"}})
	tests := []struct {
		name, out string
		code      int
		cmd       container.Command
	}{
		{"both streams in order", "1\n2\n3\n4\n", 0, sh("echo 1; echo 2 >&2; echo 3; echo 4 >&2")},
		{"exit code", "", 3, sh("exit 3")},
		{"killed by itself", "", 137, sh("kill -KILL $$")},
		{"no such program", "sh: 1: exec: nothing: not found\n", 127, container.Command{Args: []string{"nothing"}}},
		{"arguments are not read by a shell", "a  b;$A\n", 0, container.Command{Args: []string{"sh", "-c", `echo "$1"`, "x", "a  b;$A"}}},
		{"folder and environment", "/tmp 1 2\n", 0, container.Command{Args: []string{"sh", "-c", "echo $PWD $A $B"}, Dir: "/tmp", Env: []string{"B=2"}}},
		{"the container's folder", "/testbed\n", 0, sh("echo $PWD")},
	}
	for _, tt := range tests {
		res := run(t, c, tt.cmd)
		if string(res.Output) != tt.out && tt.code != 127 || res.ExitCode != tt.code || res.TimedOut || res.Dropped != 0 {
			t.Errorf("%s: %+v %q", tt.name, res, res.Output)
		}
	}
	if _, err := c.Exec(t.Context(), container.Command{}); err == nil {
		t.Error("no command was run")
	}
}

func TestDefaultsAreStrict(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many containers: test without -short")
	}
	e := engine(t)
	status := "while read k v; do case $k in CapEff:|CapBnd:|NoNewPrivs:) echo $k $v;; esac; done < /proc/self/status; ls /sys/class/net"
	strict := start(t, e, container.Spec{})
	if got := string(run(t, strict, sh(status)).Output); got != "CapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nlo\n" {
		t.Errorf("strict: %q", got)
	}
	if len(strict.Relaxed) != 0 {
		t.Errorf("relaxed: %q", strict.Relaxed)
	}
	relaxed := start(t, e, container.Spec{Relax: container.Relax{Capabilities: []string{"SYS_ADMIN", "CHOWN"}, Privileges: true, Unlimited: true}})
	if got := string(run(t, relaxed, sh(status)).Output); !strings.Contains(got, "NoNewPrivs: 0") || strings.Contains(got, "CapEff: 0000000000000000") {
		t.Errorf("relaxed: %q", got)
	}
	if diff := cmp.Diff([]string{"capability=CHOWN", "capability=SYS_ADMIN", "new-privileges", "unlimited"}, relaxed.Relaxed); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
}

// others lists the processes beside the first, its sleep, and the listing itself.
func others(t *testing.T, c *container.Container) string {
	t.Helper()
	script := `for p in /proc/[0-9]*; do [ $p = /proc/1 ] || [ $p = /proc/$$ ] || { read -r a < $p/comm; [ "$a" = sleep ] && [ "$(cat $p/cmdline)" = "" ] || echo $a; }; done 2>/dev/null`
	return strings.ReplaceAll(string(run(t, c, sh(script)).Output), "\n", " ")
}

func TestTimeoutsEndEveryProcess(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many containers: test without -short")
	}
	tests := map[string]string{
		"ignores signals":   "trap '' TERM INT HUP; echo on; while :; do sleep 1; done",
		"sessions":          "echo on; for i in 1 2 3; do setsid sh -c 'trap \"\" TERM; sleep 4242' & done; sleep 4242",
		"orphans":           "echo on; (setsid sh -c 'sleep 4242 & sleep 4242' & ) ; sleep 4242",
		"forks forever":     "echo on; f() { f | f & }; f; sleep 4242",
		"writes forever":    "echo on; yes",
		"closes its output": "echo on; exec >/dev/null 2>&1; sleep 4242",
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, engine(t), container.Spec{Limits: container.Limits{Processes: 200}})
			cmd := sh(script)
			cmd.Timeout, cmd.MaxOutput = 3*time.Second, 1000 // a slow machine has begun it by then
			res, err := c.Exec(t.Context(), cmd)
			if errors.Is(err, container.ErrEnded) && name == "forks forever" && errors.Is(err, container.ErrDied) && res.TimedOut {
				return // nothing could be started in it any more: it was ended as a whole
			}
			if err != nil {
				t.Fatal(err)
			}
			if !res.TimedOut || res.ExitCode != -1 || !strings.HasPrefix(string(res.Output), "on\n") || len(res.Output) > 1000 {
				t.Errorf("%+v", res)
			}
			if got := others(t, c); strings.Contains(got, "yes") || strings.Count(got, "sleep") > 1 {
				t.Errorf("left: %s", got)
			}
			if got := run(t, c, sh("echo alive")); string(got.Output) != "alive\n" {
				t.Errorf("afterwards: %+v", got)
			}
		})
	}
}

func TestCancellationEndsTheCommand(t *testing.T) {
	t.Parallel()
	c := start(t, engine(t), container.Spec{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(ctx, sh("sleep 4242")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if got := others(t, c); strings.Count(got, "sleep") > 1 {
		t.Errorf("left: %s", got)
	}
}

func TestOutputIsCapped(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many containers: test without -short")
	}
	c := start(t, engine(t), container.Spec{})
	cmd := sh("seq 1 100000")
	cmd.MaxOutput = 100
	res := run(t, c, cmd)
	if len(res.Output) != 50 || len(res.Tail) != 50 || !strings.HasPrefix(string(res.Output), "1\n2\n") || !strings.HasSuffix(string(res.Tail), "\n100000\n") {
		t.Errorf("%q … %q", res.Output, res.Tail)
	}
	if res.Dropped != 588895-100 {
		t.Errorf("%d dropped", res.Dropped)
	}
}

func TestAContainerThatDies(t *testing.T) {
	t.Parallel()
	e := engine(t)
	c := start(t, e, container.Spec{})
	ended := sleeping(t, c)
	if _, err := e.Reap(t.Context(), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, container.ErrDied) || harness.KindOf(err) != harness.FailEnv {
		t.Errorf("while a command runs: %v", err)
	}
	if _, err := c.Exec(t.Context(), sh("true")); !errors.Is(err, container.ErrDied) {
		t.Errorf("before a command: %v", err)
	}
	if _, err := c.ReadFile(t.Context(), "/etc/x", 1); !errors.Is(err, container.ErrDied) {
		t.Errorf("read: %v", err)
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Errorf("removed again: %v", err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	c := start(t, engine(t), container.Spec{})
	content := bytes.Repeat([]byte("é\x00\r\n"), 100_000)
	if err := c.WriteFile(t.Context(), "/tmp/patch.diff", content, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := c.ReadFile(t.Context(), "/tmp/patch.diff", 1<<20); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := c.ReadFile(t.Context(), "/tmp/patch.diff", 10); err == nil {
		t.Error("a file above the limit was read")
	}
	if _, err := c.ReadFile(t.Context(), "/tmp", 1<<20); err == nil {
		t.Error("a folder was read")
	}
	if _, err := c.ReadFile(t.Context(), "/tmp/absent", 1); !errors.Is(err, container.ErrNoFile) {
		t.Errorf("an absent file: %v", err)
	}
	if err := c.WriteFile(t.Context(), "/absent/x", nil, 0o644); harness.KindOf(err) != harness.FailEnv {
		t.Errorf("an absent folder: %v", err)
	}
}

func TestReapRemovesDeadRunsOnly(t *testing.T) {
	t.Parallel()
	first := engine(t)
	c := start(t, first, container.Spec{})
	if n, err := first.Reap(t.Context(), func(run string) bool { return run == "run" }); err != nil || n != 0 {
		t.Errorf("a live run: %d, %v", n, err)
	}
	other, err := container.Open(t.Context(), container.Config{Owner: "test-somebody-else", Run: "run", LockDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if n, err := other.Reap(t.Context(), func(string) bool { return false }); err != nil || n != 0 {
		t.Errorf("another owner: %d, %v", n, err)
	}
	run(t, c, sh("true"))
	if n, err := first.Reap(t.Context(), func(string) bool { return false }); err != nil || n != 1 {
		t.Errorf("a dead run: %d, %v", n, err)
	}
}

func TestNamesAreTakenOver(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many containers: test without -short")
	}
	e := engine(t)
	name := fmt.Sprintf("hindsight-test-%d", os.Getpid())
	ghost := start(t, e, container.Spec{Name: name})
	c := start(t, e, container.Spec{Name: name})
	if _, err := ghost.Exec(t.Context(), sh("true")); !errors.Is(err, container.ErrDied) {
		t.Errorf("the ghost: %v", err)
	}
	run(t, c, sh("true"))
	other, err := container.Open(t.Context(), container.Config{Owner: "test-somebody-else", Run: "run", LockDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Start(t.Context(), container.Spec{Image: containertest.Image(t, e), Name: name}); err == nil || !strings.Contains(err.Error(), "another owner") {
		t.Errorf("somebody else's name: %v", err)
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	e := engine(t)
	here := containertest.Image(t, e)
	if got, err := e.Find(t.Context(), []string{"hindsight-absent:1", here}); err != nil || got != here {
		t.Errorf("%q, %v", got, err)
	}
	_, err := e.Find(t.Context(), []string{"127.0.0.1:1/hindsight-absent:1"})
	var f *harness.Failure
	if !errors.Is(err, container.ErrRegistry) || !errors.As(err, &f) || !f.Retryable || errext.Hint(err) == "" {
		t.Errorf("no registry: %v", err)
	}
	if _, err := e.Start(t.Context(), container.Spec{Image: "hindsight-absent:1"}); !errors.Is(err, container.ErrNoImage) {
		t.Errorf("started: %v", err)
	}
	for _, bad := range []container.Spec{{}, {Image: "x", Limits: container.Limits{Memory: -1}}} {
		if _, err := e.Start(t.Context(), bad); err == nil {
			t.Errorf("%+v was started", bad)
		}
	}
}

func TestOpenWithoutADaemon(t *testing.T) {
	t.Parallel()
	_, err := container.Open(t.Context(), container.Config{Host: "unix:///nonexistent/docker.sock", Owner: "o", Run: "r"})
	if !errors.Is(err, container.ErrNoDaemon) || harness.KindOf(err) != harness.FailEnv || !strings.Contains(errext.Hint(err), "DOCKER_HOST") {
		t.Errorf("got %v", err)
	}
	if _, err := container.Open(t.Context(), container.Config{Host: "://", Owner: "o", Run: "r"}); err == nil {
		t.Error("a broken address was taken")
	}
	if _, err := container.Open(t.Context(), container.Config{}); err == nil {
		t.Error("an engine without an owner was opened")
	}
}

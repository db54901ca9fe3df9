//go:build unix

package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
)

// fakeBrowser writes an executable that stands in for a browser.
func fakeBrowser(t *testing.T, body string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "browser")
	testutil.Executable(t, name, []byte("#!/bin/sh\n"+body+"\n"))
	return name
}

// retryable checks that an error is one that a fresh episode may mend.
func retryable(t *testing.T, err error, says string) {
	t.Helper()
	var f *harness.Failure
	if !errors.As(err, &f) || f.Kind != harness.FailEnv || !f.Retryable {
		t.Fatalf("got %v, want a retryable environment failure", err)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("the failure is %q, want it to say %q", err, says)
	}
}

func mustReset(t *testing.T, env harness.Env, task harness.Task) harness.Observation {
	t.Helper()
	obs, err := env.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return obs
}

// gone waits until a process group has ended and its folder is removed.
func gone(t *testing.T, p *process) {
	t.Helper()
	<-p.done
	waitFor(t, "the browser's processes to end", func() bool { return syscall.Kill(-p.cmd.Process.Pid, 0) == syscall.ESRCH })
	if _, err := os.Stat(p.dir.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the browser's folder %s is left (%v)", p.dir.path, err)
	}
}

// waitFor polls for what another process has to do.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 600 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func TestMissingBrowserNamesThePackage(t *testing.T) {
	t.Parallel()
	_, err := New(nil, Config{Bin: filepath.Join(t.TempDir(), "chromium")})
	if !errors.Is(err, ErrMissing) || !strings.Contains(errext.Hint(err), "apt-get install chromium") {
		t.Errorf("got %v with hint %q", err, errext.Hint(err))
	}
}

func TestBrowserThatVanishesIsFinal(t *testing.T) {
	t.Parallel()
	bin := fakeBrowser(t, "exit 0")
	s := ownSuite(t, nil, Config{Bin: bin})
	if err := os.Remove(bin); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, s).Reset(t.Context(), task(t, s, 0))
	var f *harness.Failure
	if !errors.As(err, &f) || f.Retryable || !errors.Is(err, ErrMissing) || errext.Hint(err) == "" {
		t.Errorf("got %v with hint %q, want a final failure", err, errext.Hint(err))
	}
}

func TestBrowserThatDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, says string }{
		"ends at once":  {"echo libnothing.so is missing >&2; exit 3", "libnothing.so is missing"},
		"never answers": {"exec sleep 600", "no answer within 300ms"},
		"talks garbage": {"printf 'garbage' >&4; exit 1", "exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ownSuite(t, nil, Config{Bin: fakeBrowser(t, c.script), Start: 300 * time.Millisecond, Pages: 1})
			env := open(t, s)
			for range 2 { // the place among the pages is given back
				_, err := env.Reset(t.Context(), task(t, s, 0))
				if name == "never answers" {
					retryable(t, err, c.says)
				} else if retryable(t, err, "start browser"); !strings.Contains(err.Error(), c.says) && !strings.Contains(err.Error(), "no answer within") {
					t.Errorf("the failure is %q, want it to say %q", err, c.says)
				}
			}
		})
	}
}

// TestBrowserDiesMidEpisode: the episode fails as one to be retried, another Reset finds a new browser.
func TestBrowserDiesMidEpisode(t *testing.T) {
	t.Parallel()
	s := ownSuite(t, nil, Config{})
	env := open(t, s).(*Env)
	first := mustReset(t, env, task(t, s, 0))
	p := env.tab.proc
	if err := syscall.Kill(p.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err := env.Step(t.Context(), "search[shirt]")
	retryable(t, err, "the browser died: signal: killed")
	if _, again := env.Step(t.Context(), "search[shirt]"); again == nil {
		t.Error("the episode goes on after its failure")
	}
	gone(t, p)
	if obs := mustReset(t, env, task(t, s, 0)); obs.Text != first.Text {
		t.Errorf("after the restart the task begins with %q, not with %q", obs.Text, first.Text)
	}
	if n := s.Starts(); n != 2 {
		t.Errorf("%d browsers were started, want 2", n)
	}
	last := env.tab.proc
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	gone(t, last)
	if _, err := open(t, s).Reset(t.Context(), task(t, s, 0)); err == nil {
		t.Error("a closed suite resets")
	}
}

// TestBrowserHangs stops all of the browser's processes: no answer comes, and no death either.
func TestBrowserHangs(t *testing.T) {
	t.Parallel()
	s := ownSuite(t, nil, Config{})
	env, other := open(t, s).(*Env), open(t, s)
	mustReset(t, env, task(t, s, 0))
	mustReset(t, other, task(t, s, 1))
	p := env.tab.proc
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	env.tab.timeout = 300 * time.Millisecond
	_, err := env.Step(t.Context(), "search[shirt]")
	retryable(t, err, "") // the late answer, or the end of the browser that did not answer
	gone(t, p)
	_, err = other.Step(t.Context(), "search[shirt]")
	retryable(t, err, "the browser no longer answers")
	mustReset(t, env, task(t, s, 0))
	if n := s.Starts(); n != 2 {
		t.Errorf("%d browsers were started, want 2", n)
	}
}

// TestPageCrashes: other pages of the same browser go on.
func TestPageCrashes(t *testing.T) {
	t.Parallel()
	s := ownSuite(t, nil, Config{})
	env, other := open(t, s).(*Env), open(t, s)
	mustReset(t, env, task(t, s, 0))
	mustReset(t, other, task(t, s, 1))
	_, _ = proto.PageNavigate{URL: "chrome://crash"}.Call(env.tab.page.Context(env.tab.ctx)) // it does not answer
	<-env.tab.ctx.Done()
	_, err := env.Step(t.Context(), "search[shirt]")
	retryable(t, err, "the page crashed")
	if _, err := other.Step(t.Context(), "search[shirt]"); err != nil {
		t.Errorf("another page: %v", err)
	}
	mustReset(t, env, task(t, s, 0))
	if n := s.Starts(); n != 1 {
		t.Errorf("%d browsers were started, want 1", n)
	}
}

func TestSiteThatIsGoneIsAFailure(t *testing.T) {
	t.Parallel()
	s := onShared(t, embeddedSuite(t).shop)
	env := open(t, s)
	mustReset(t, env, task(t, s, 0))
	if err := s.server.close(); err != nil {
		t.Fatal(err)
	}
	_, err := env.Step(t.Context(), "search[shirt]")
	retryable(t, err, "status 0")
}

// TestCancelledReset: the caller's error comes back as it is, and the page is free again.
func TestCancelledReset(t *testing.T) {
	t.Parallel()
	s := onShared(t, embeddedSuite(t).shop)
	if err := s.server.close(); err != nil {
		t.Fatal(err)
	}
	asked, answer := make(chan struct{}), make(chan struct{})
	var err error
	s.server, err = serve(s.shop.Shop(), func(seed int64) (*catalog.World, error) {
		close(asked)
		<-answer
		return s.shop.World(seed)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	env := open(t, s)
	if _, err := env.Reset(ctx, task(t, s, 0)); !errors.Is(err, context.Canceled) || errors.As(err, new(*harness.Failure)) {
		t.Errorf("got %v, want context.Canceled alone", err)
	}
	close(answer)
	mustReset(t, env, task(t, s, 0))
}

// TestPagesAreBounded: an episode too many waits for a page, and for no longer than its context.
func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	s := ownSuite(t, nil, Config{Pages: 1})
	first, second := open(t, s), open(t, s)
	mustReset(t, first, task(t, s, 0))
	mustReset(t, first, task(t, s, 1)) // keeps its page
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := second.Reset(ctx, task(t, s, 0)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a second page: got %v", err)
	}
	p := first.(*Env).tab.proc
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	mustReset(t, second, task(t, s, 0))
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := proto.TargetGetBrowserContexts{}.Call(p.rod)
	if err != nil || len(left.BrowserContextIDs) != 0 {
		t.Errorf("%d contexts are left (%v)", len(left.BrowserContextIDs), err)
	}
}

// ownerVariable makes the test binary own a browser until it is killed.
const ownerVariable = "HARNESS_TEST_BROWSER_OWNER"

// TestKilledHarnessLeavesNoBrowser kills a process that owns a browser: the browser ends by itself, and
// the next start removes its folder.
func TestKilledHarnessLeavesNoBrowser(t *testing.T) {
	needBrowser(t)
	if os.Getenv(ownerVariable) != "" {
		s := ownSuite(t, nil, Config{})
		env := open(t, s).(*Env)
		mustReset(t, env, task(t, s, 0))
		p := env.tab.proc
		fmt.Printf("OWNER %d %s\n", p.cmd.Process.Pid, p.dir.path)
		<-p.ctx.Done()
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledHarnessLeavesNoBrowser$", "-test.v")
	cmd.Env = append(os.Environ(), ownerVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var folder string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, after, ok := strings.Cut(lines.Text(), "OWNER "); ok {
			if _, err := fmt.Sscanf(after, "%d %s", &pid, &folder); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if pid == 0 {
		t.Fatal("the owner started no browser")
	}
	waitFor(t, "the browser to end", func() bool { return syscall.Kill(-pid, 0) == syscall.ESRCH })
	sweep()
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder %s is left (%v)", folder, err)
	}
}

package bridge_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/bridge"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
	"github.com/hindsightrl/harness/envs/originaltest"
)

// moody is an adapter whose sessions do what they are told.
const moody = `
import os, signal
NAME, PACKAGES, ISOLATED = "fake", ["websockets", "no-such-package"], True

def configure():
    pass

class Session:
    def reset(self, request):
        self.count = 0
        return self.show(f"hello {request['name']}")

    def step(self, action):
        self.count += 1
        if action == "raise":
            raise ValueError("moody")
        if action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "print":
            print("this is no answer", flush=True)
        if action == "kill the server":
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with open(f"/proc/{pid}/cmdline") as f:
                    if "--until-eof" in f.read():
                        os.kill(int(pid), signal.SIGKILL)
        return self.show(f"{action} {self.count}")

    def show(self, text):
        return {"observation": text, "admissible": [], "won": False, "score": 0, "done": False}

    def close(self):
        pass
`

// moodyImage is an image with the repository's bridge and the moody adapter.
func moodyImage(t *testing.T) string {
	t.Helper()
	base := originaltest.ALFWorld(t)
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for name, content := range map[string]string{
		"Dockerfile": "FROM " + base + "\nCOPY adapter.py /opt/bridge/adapter.py\n", "adapter.py": moody,
	} {
		if err := errors.Join(tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}), writeTo(tw, content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	e := containertest.Open(t, container.Config{})
	image := fmt.Sprintf("hindsight-test-moody:%d", time.Now().UnixNano())
	if err := e.BuildImage(t.Context(), container.Build{Name: image, Context: &buf, Network: "none"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.RemoveImage(context.WithoutCancel(t.Context()), image); err != nil {
			t.Error(err)
		}
	})
	return image
}

func writeTo(tw *tar.Writer, s string) error {
	_, err := tw.Write([]byte(s))
	return err
}

// In a container of its own, sessions are kept apart: what one does, and how it ends, the others do not
// notice; and a session that is lost can be reset. There are as many as were allowed.
func TestServer(t *testing.T) {
	t.Parallel()
	b, err := bridge.Open(t.Context(), bridge.Config{
		Image: moodyImage(t), Environment: "fake", Sessions: 3, Container: container.Config{LockDir: t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	closeBridge := sync.OnceValue(b.Close)
	t.Cleanup(func() { _ = closeBridge() })
	if info := b.Info(); info["version_no_such_package"] != "unknown" || info["version_websockets"] == "unknown" {
		t.Errorf("a run would record %v", info)
	}
	var sessions []*bridge.Session
	for i := range 3 {
		s, err := b.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s)
		a, err := s.Reset(t.Context(), map[string]any{"name": fmt.Sprint(i)})
		if want := fmt.Sprintf("hello %d", i); err != nil || a.Observation != want {
			t.Fatalf("got %q (%v), want %q", a.Observation, err, want)
		}
	}
	if _, err := b.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "all 3 sessions are taken") {
		t.Errorf("a fourth session: %v", err)
	}
	for action, want := range map[string]string{"raise": "ValueError: moody", "die": "the session's process died (exit code -9)"} {
		_, err := sessions[0].Step(t.Context(), action)
		if harness.KindOf(err) != harness.FailEnv || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", action, err, want)
		}
		if a, err := sessions[0].Reset(t.Context(), map[string]any{"name": "again"}); err != nil || a.Observation != "hello again" {
			t.Errorf("reset after %s: %q (%v)", action, a.Observation, err)
		}
	}
	for n, action := range []string{"print", "count"} {
		a, err := sessions[1].Step(t.Context(), action)
		if want := fmt.Sprintf("%s %d", action, n+1); err != nil || a.Observation != want {
			t.Errorf("the other session: %q (%v), want %q", a.Observation, err, want)
		}
	}
	if _, err := sessions[1].Reset(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "KeyError") {
		t.Errorf("a reset without a name: %v", err)
	}
	_, err = sessions[2].Step(t.Context(), "kill the server")
	if harness.KindOf(err) != harness.FailEnv {
		t.Errorf("a step of a server that dies: %v", err)
	}
	if _, err := b.Dial(t.Context()); harness.KindOf(err) != harness.FailEnv {
		t.Errorf("a session of a dead server: %v", err)
	}
	if err := closeBridge(); err != nil {
		t.Errorf("close: %v", err)
	}
}

package container_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
	"github.com/hindsightrl/harness/internal/errext"
)

// behind opens an engine behind a proxy that is well.
func behind(t *testing.T) (*container.Engine, *containertest.Proxy) {
	t.Helper()
	direct := engine(t) // skips where there is none
	containertest.Image(t, direct)
	p := containertest.NewProxy(t)
	e := containertest.Open(t, container.Config{Host: p.Host, DiskCheck: 100 * time.Millisecond})
	t.Cleanup(p.Mend)
	return e, p
}

func TestASlowDaemon(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many containers: test without -short")
	}
	e, p := behind(t)
	c := start(t, e, container.Spec{})
	p.Delay(100 * time.Millisecond)
	if res := run(t, c, sh("echo 1; echo 2 >&2")); string(res.Output) != "1\n2\n" {
		t.Errorf("%+v", res)
	}
}

func TestADaemonThatHangs(t *testing.T) {
	t.Parallel()
	e, p := behind(t)
	c := start(t, e, container.Spec{})
	p.Hang()
	e.SetCallLimit(time.Second)
	_, err := c.Exec(t.Context(), sh("true"))
	var f *harness.Failure
	if !errors.As(err, &f) || f.Kind != harness.FailEnv || !f.Retryable {
		t.Errorf("got %v", err)
	}
	if _, err := e.Start(t.Context(), container.Spec{Image: containertest.Image(t, engine(t))}); harness.KindOf(err) != harness.FailEnv {
		t.Errorf("start: %v", err)
	}
	p.Mend()
	e.SetCallLimit(time.Minute)
	if res := run(t, c, sh("echo well")); string(res.Output) != "well\n" {
		t.Errorf("afterwards: %+v", res)
	}
}

func TestADaemonThatIsCutOff(t *testing.T) {
	t.Parallel()
	e, p := behind(t)
	c := start(t, e, container.Spec{})
	ended := sleeping(t, c)
	p.Cut()
	select {
	case err := <-ended:
		if harness.KindOf(err) != harness.FailEnv || errors.Is(err, container.ErrDied) {
			t.Errorf("while a command runs: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the command did not end")
	}
	if _, err := c.Exec(t.Context(), sh("true")); harness.KindOf(err) != harness.FailEnv {
		t.Errorf("before a command: %v", err)
	}
	if _, err := container.Open(t.Context(), container.Config{Host: p.Host, Owner: "o", Run: "r", LockDir: t.TempDir()}); !errors.Is(err, container.ErrNoDaemon) {
		t.Errorf("open: %v", err)
	}
	p.Mend()
	if res := run(t, c, sh("true")); res.ExitCode != 0 {
		t.Errorf("afterwards: %+v", res)
	}
}

// sleeping starts a command that would sleep for an hour, waits until it does, and gives what it ends with: that
// it ended well is an error, too.
func sleeping(t *testing.T, c *container.Container) (ended <-chan error) {
	t.Helper()
	end := make(chan error, 1)
	go func() {
		res, err := c.Exec(t.Context(), sh("echo on > /tmp/on; sleep 4242"))
		if err == nil {
			err = fmt.Errorf("no failure, but %+v", res)
		}
		end <- err
	}()
	waitFor(t, func() bool { _, err := c.ReadFile(t.Context(), "/tmp/on", 10); return err == nil })
	return end
}

// waitFor waits for a condition, a minute at most.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for range 600 {
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the condition did not come to hold")
}

// A container's death is noticed though the command's stream says nothing of it.
func TestADeathBehindADeadStream(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many containers: test without -short")
	}
	e, _ := behind(t)
	c := start(t, e, container.Spec{})
	ended := sleeping(t, c)
	if _, err := e.Reap(t.Context(), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, container.ErrDied) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it was not noticed")
	}
}

// A daemon that still has the container running when the command is long dead is not believed.
func TestADeathThatTheDaemonNoticesLate(t *testing.T) {
	t.Parallel()
	e, p := behind(t)
	c := start(t, e, container.Spec{})
	ended := sleeping(t, c)
	inspect := "/containers/" + c.ID() + "/json"
	p.Answer(inspect, http.StatusOK, `{"Id":"x","State":{"Running":true,"Status":"running"}}`)
	before := p.Seen(inspect)
	if err := c.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return p.Seen(inspect) > before+40 || len(ended) > 0 })
	p.Mend()
	if err := <-ended; !errors.Is(err, container.ErrDied) {
		t.Errorf("got %v", err)
	}
}

// registry is a registry with one image, tiny:1, of one layer.
func registry(t *testing.T) (host string) {
	t.Helper()
	var layer bytes.Buffer
	tw := tar.NewWriter(&layer)
	if err := tw.WriteHeader(&tar.Header{Name: "hello-" + t.Name(), Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	digest := func(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }
	config := []byte(`{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["` + digest(layer.Bytes()) + `"]}}`)
	const v2 = "application/vnd.docker.distribution.manifest.v2+json"
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.docker.container.image.v1+json","size":%d,"digest":%q},
"layers":[{"mediaType":"application/vnd.docker.image.rootfs.diff.tar","size":%d,"digest":%q}]}`, v2, len(config), digest(config), layer.Len(), digest(layer.Bytes()))
	blobs := map[string][]byte{digest(config): config, digest(layer.Bytes()): layer.Bytes(), digest(manifest): manifest}
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		switch {
		case strings.Contains(r.URL.Path, "stalls"):
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		case strings.Contains(r.URL.Path, "broken"):
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.Contains(r.URL.Path, "secret"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`)
		case r.URL.Path == "/v2/":
		case strings.HasPrefix(r.URL.Path, "/v2/tiny/manifests/") && (last == "1" || last == digest(manifest)):
			w.Header().Set("Content-Type", v2)
			w.Header().Set("Docker-Content-Digest", digest(manifest))
			w.Write(manifest)
		case strings.HasPrefix(r.URL.Path, "/v2/tiny/blobs/") && blobs[last] != nil:
			w.Write(blobs[last])
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`)
		}
	}))
	t.Cleanup(func() { close(stop); s.Close() })
	return strings.TrimPrefix(s.URL, "http://")
}

func TestPull(t *testing.T) {
	t.Parallel()
	e := containertest.Open(t, container.Config{PullRoom: -1})
	hasty := containertest.Open(t, container.Config{PullStall: time.Second, PullRoom: -1})
	host := registry(t)
	name := host + "/tiny:1"
	defer func() {
		if err := e.RemoveImage(context.WithoutCancel(t.Context()), name); err != nil {
			t.Error(err)
		}
	}()
	if got, err := e.Find(t.Context(), []string{host + "/absent:1", name}); err != nil || got != name {
		t.Errorf("%q, %v", got, err)
	}
	if id, err := e.ImageID(t.Context(), name); err != nil || !strings.HasPrefix(id, "sha256:") {
		t.Errorf("its id: %q, %v", id, err)
	}
	tests := []struct {
		name  string
		kind  error
		again bool
	}{
		{host + "/absent:1", container.ErrNoImage, false},
		{host + "/tiny:2", container.ErrNoImage, false},
		{host + "/secret:1", container.ErrNoImage, false},
		{host + "/broken:1", container.ErrRegistry, true},
		{host + "/stalls:1", container.ErrRegistry, true},
		{"127.0.0.1:1/x:1", container.ErrRegistry, true},
		{"UPPER/x:1", container.ErrNoImage, false},
	}
	for _, tt := range tests {
		pulls := e
		if strings.Contains(tt.name, "stalls") { // a daemon with much to do is as slow with any other
			pulls = hasty
		}
		_, err := pulls.Find(t.Context(), []string{tt.name})
		var f *harness.Failure
		if !errors.Is(err, tt.kind) || !errors.As(err, &f) || f.Kind != harness.FailEnv || f.Retryable != tt.again || errext.Hint(err) == "" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestAPullThatFillsTheDisk(t *testing.T) {
	t.Parallel()
	e, p := behind(t)
	p.Answer("/images/create", http.StatusOK, `{"status":"Pulling"}`+"\n"+
		`{"errorDetail":{"message":"write /var/lib/x: no space left on device"},"error":"write /var/lib/x: no space left on device"}`+"\n")
	_, err := e.Find(t.Context(), []string{"127.0.0.1:1/x:1"})
	var f *harness.Failure
	if !errors.Is(err, container.ErrNoSpace) || !errors.As(err, &f) || f.Retryable || errext.Hint(err) == "" {
		t.Errorf("got %v", err)
	}
}

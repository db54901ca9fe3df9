package original_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/hindsightrl/harness/envs/alfworld/original"
	"github.com/hindsightrl/harness/envs/originaltest"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
)

const repository = "../../.."

// composeFile is what the tests look at in compose.yaml.
type composeFile struct {
	Services map[string]struct {
		Image string
		Build struct{ Context string }
		Ports []string
	}
	Volumes map[string]any
}

// Every service that compose.yaml builds has its recipe, and none is published beyond loopback.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(repository, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c composeFile
	if err := yaml.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"alfworld", "webshop", "policy", "harness"} {
		if _, ok := c.Services[name]; !ok {
			t.Errorf("no service %q", name)
		}
	}
	for name, s := range c.Services {
		if s.Build.Context != "" {
			if _, err := os.Stat(filepath.Join(repository, s.Build.Context, "Dockerfile")); err != nil {
				t.Errorf("service %s: %v", name, err)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("service %s is published as %s, beyond loopback", name, p)
			}
		}
		if s.Image == "" {
			t.Errorf("service %s has no image", name)
		}
	}
}

// compose is the command line of Docker Compose, version 2 or 1; the test is skipped where neither is.
func compose(t *testing.T) []string {
	t.Helper()
	for _, args := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.Command(args[0], append(args[1:], "version")...).Run() == nil {
			return args
		}
	}
	t.Skip("Docker Compose is not on this machine: apt-get install docker-compose")
	return nil
}

// Compose itself reads the file, with all of its profiles.
func TestComposeConfig(t *testing.T) {
	t.Parallel()
	args := append(compose(t), "--file", filepath.Join(repository, "compose.yaml"),
		"--profile", "webshop", "--profile", "policy", "--profile", "harness", "config")
	out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	var c composeFile
	if err := yaml.Unmarshal(out, &c); err != nil || len(c.Services) != 4 {
		t.Errorf("got %d services (%v):\n%s", len(c.Services), err, out)
	}
}

// The service alfworld answers at its address, to those who know its token.
func TestComposeUp(t *testing.T) {
	t.Parallel()
	args := compose(t)
	image := originaltest.ALFWorld(t)
	port := freePort(t)
	env := append(os.Environ(), "ALFWORLD_IMAGE="+image, "ALFWORLD_PORT="+port, "BRIDGE_TOKEN=open sesame")
	project := fmt.Sprintf("hindsight-test-%d", os.Getpid())
	do := func(ctx context.Context, rest ...string) error {
		all := slices.Concat(args, []string{"--file", filepath.Join(repository, "compose.yaml"), "--project-name", project}, rest)
		cmd := exec.CommandContext(ctx, all[0], all[1:]...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%v: %w\n%s", all, err, out)
		}
		return nil
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if err := do(ctx, "down", "--volumes", "--timeout", "5"); err != nil {
			t.Error(err)
		}
	})
	if err := do(t.Context(), "up", "--detach", "--no-build", "alfworld"); err != nil {
		t.Fatal(err)
	}
	address := "ws://127.0.0.1:" + port
	waitForPort(t, address, port)
	s, native := open(t, original.Config{Address: address, Token: "open sesame"})
	if _, err := original.New(t.Context(), native, original.Config{Address: address}); err == nil || !strings.Contains(errext.Hint(err), "HARNESS_BRIDGE_TOKEN") {
		t.Errorf("without the token: %v", err)
	}
	compare(t, s, native, "train", 1)
}

func freePort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(testutil.Address(t)) // Docker's proxy listens as Go's servers do
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// waitForPort waits until the server behind a published port answers with its greeting.
func waitForPort(t *testing.T, address, port string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			// Docker's proxy accepts before the server does; then it hangs up.
			_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			n, _ := conn.Read(make([]byte, 16))
			_ = conn.Close()
			if n > 0 {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody answers at %s: %v", address, err)
		}
	}
}

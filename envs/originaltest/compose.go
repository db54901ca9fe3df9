package originaltest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Project is this repository's compose.yaml under a project name of its own.
type Project struct {
	args []string
	env  []string
}

// Compose opens a project whose variables are env, and takes it down with its volumes when the test ends.
// The test is skipped where there is no Docker Compose, of version 2 or 1.
func Compose(tb testing.TB, env ...string) *Project {
	tb.Helper()
	docker, err := recipes()
	if err != nil {
		tb.Fatal(err)
	}
	p := &Project{env: append(os.Environ(), env...)}
	for _, args := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.Command(args[0], append(args[1:], "version")...).Run() == nil { //nolint:noctx // it prints and ends
			p.args = args
			break
		}
	}
	if p.args == nil {
		tb.Skip("Docker Compose is not on this machine: apt-get install docker-compose")
	}
	name := fmt.Sprintf("hindsight-e2e-%d-%s", os.Getpid(), strings.ToLower(strings.TrimPrefix(tb.Name(), "TestCompose")))
	p.args = slices.Concat(p.args, []string{"--file", filepath.Join(filepath.Dir(docker), "compose.yaml"), "--project-name", name})
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if _, err := p.Run(ctx, "--profile", "webshop", "--profile", "harness", "down", "--volumes", "--timeout", "5"); err != nil {
			tb.Errorf("take the project down: %v", err)
		}
	})
	return p
}

// Run returns what a command of Compose prints to standard output, and in an error what it logs.
func (p *Project) Run(ctx context.Context, rest ...string) (string, error) {
	all := slices.Concat(p.args, rest)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Env = p.env
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%v: %w\n%s", all, err, &log)
	}
	return string(out), err
}

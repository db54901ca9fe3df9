package container_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
)

func startTest(t *testing.T) *container.Container {
	t.Helper()
	e := containertest.Open(t, container.Config{})
	c, err := e.Start(t.Context(), container.Spec{Image: containertest.Image(t, e)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A stream carries bytes both ways, keeps stderr apart, and ends the command's input when it is closed.
func TestStream(t *testing.T) {
	t.Parallel()
	c := startTest(t)
	s, err := c.Stream(t.Context(), container.Command{Args: []string{"sh", "-c", `echo trouble >&2; cat; echo eof > /tmp/ended`}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(s)
	for _, line := range []string{"hello\n", "\x00\x01\x02\xff binary\n", strings.Repeat("long ", 100_000) + "\n"} {
		go func() { _, _ = io.WriteString(s, line) }() // the pipe is shorter than the long line
		got, err := r.ReadString('\n')
		if err != nil || got != line {
			t.Fatalf("got %.40q (%v), want %.40q", got, err, line)
		}
	}
	if got := s.Complaint(); got != "trouble\n" {
		t.Errorf("stderr is %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	waitForFile(t, c, "/tmp/ended")
}

func waitForFile(t *testing.T, c *container.Container, name string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, err := c.ReadFile(t.Context(), name, 100)
		if err == nil {
			return
		}
		if !errors.Is(err, container.ErrNoFile) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	c := startTest(t)
	if _, err := c.Stream(t.Context(), container.Command{}); err == nil {
		t.Error("a stream without a command")
	}
	s, err := c.Stream(t.Context(), container.Command{Args: []string{"sh", "-c", "echo last; echo words >&2; exit 3"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := io.ReadAll(s)
	if err != nil || string(all) != "last\n" || s.Complaint() != "words\n" {
		t.Errorf("got %q and %q (%v)", all, s.Complaint(), err)
	}
	if err := c.Remove(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stream(t.Context(), container.Command{Args: []string{"true"}}); !errors.Is(err, container.ErrDied) {
		t.Errorf("a stream in a removed container: %v", err)
	}
}

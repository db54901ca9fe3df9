package container_test

import (
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	own "github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
)

// BenchmarkExec is one short command, through this package and through the daemon's bare API: their
// difference is this package's overhead.
func BenchmarkExec(b *testing.B) {
	e := containertest.Open(b, own.Config{})
	testImage := containertest.Image(b, e)
	c, err := e.Start(b.Context(), own.Spec{Image: testImage})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := c.Remove(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Exec(b.Context(), sh("true")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
		if err != nil {
			b.Fatal(err)
		}
		defer api.Close()
		for b.Loop() {
			bare(b, api, c.ID())
		}
	})
}

func bare(b *testing.B, api *client.Client, id string) {
	b.Helper()
	created, err := api.ContainerExecCreate(b.Context(), id, container.ExecOptions{Cmd: []string{"sh", "-c", "true"}, AttachStdout: true, AttachStderr: true})
	if err != nil {
		b.Fatal(err)
	}
	stream, err := api.ContainerExecAttach(b.Context(), created.ID, container.ExecAttachOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer stream.Close()
	buf := make([]byte, 1024)
	for err == nil {
		_, err = stream.Reader.Read(buf)
	}
	if _, err := api.ContainerExecInspect(b.Context(), created.ID); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStart is a container made, its first command run, and the container removed.
func BenchmarkStart(b *testing.B) {
	e := containertest.Open(b, own.Config{})
	testImage := containertest.Image(b, e)
	for b.Loop() {
		c, err := e.Start(b.Context(), own.Spec{Image: testImage})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Exec(b.Context(), sh("true")); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := c.Remove(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

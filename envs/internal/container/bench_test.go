package container_test

import (
	"slices"
	"testing"
	"time"

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
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		b.Fatal(err)
	}
	defer api.Close()
	// In turn, so that what else the machine does falls on both alike.
	var here, plain []time.Duration
	for b.Loop() {
		began := time.Now()
		bare(b, api, c.ID())
		middle := time.Now()
		if _, err := c.Exec(b.Context(), sh("true")); err != nil {
			b.Fatal(err)
		}
		plain, here = append(plain, middle.Sub(began)), append(here, time.Since(middle))
	}
	b.ReportMetric(median(plain), "ms-bare")
	b.ReportMetric(median(here), "ms-here")
}

// median is in milliseconds.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
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

// BenchmarkWarmStart is what an episode waits for that takes a container which was started ahead: to its
// first command's end.
func BenchmarkWarmStart(b *testing.B) {
	e := containertest.Open(b, own.Config{})
	spec := own.Spec{Image: containertest.Image(b, e)}
	p := e.NewPool(1)
	defer func() {
		if err := p.Close(); err != nil {
			b.Error(err)
		}
	}()
	for b.Loop() {
		b.StopTimer()
		p.Warm(spec, 1)
		p.Wait()
		b.StartTimer()
		c, err := p.Take(b.Context(), spec)
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

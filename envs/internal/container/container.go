package container

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/hindsightrl/harness"
)

// ErrDied is the cause of a failure where the container ended by itself or was ended by others.
var ErrDied = errors.New("the container died")

// ErrEnded is the cause, beside ErrDied, where Exec itself ended the container: the command was to end,
// and nothing could be started in the container to end it, for it was full of processes.
var ErrEnded = errors.New("it was ended, for nothing could be started in it")

// Container is a running container. One goroutine uses it at a time.
type Container struct {
	engine  *Engine
	id      string
	disk    int64    // bytes that it may write; 0 is no bound
	Relaxed []string // the defaults that were given up
}

// ID is the daemon's id.
func (c *Container) ID() string { return c.id }

// firstProcess keeps a container up and reaps what its dead processes leave. It is process 1, which a
// sweep of KillAll spares; its sleep is swept, and started again.
const firstProcess = `while :; do sleep 2147483647 & wait; done`

// Start makes and starts a container of an image that is here. A container of the same name that the
// same owner left behind is removed first.
func (e *Engine) Start(ctx context.Context, spec Spec) (*Container, error) {
	if err := spec.validate(); err != nil {
		return nil, fmt.Errorf("start container: %w", err)
	}
	if err := e.starts.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer e.starts.Release(1)
	if err := e.roomFor(ctx, "start container", e.config.StartRoom); err != nil {
		return nil, err
	}
	if spec.Name != "" {
		if err := e.removeNamed(ctx, spec.Name); err != nil {
			return nil, err
		}
	}
	call, cancel := e.slow(ctx) // a busy daemon takes its time
	defer cancel()
	created, err := e.api.ContainerCreate(call, &container.Config{
		Image: spec.Image, User: "0:0", WorkingDir: spec.WorkDir, Env: spec.Env,
		Entrypoint: []string{"sh", "-c", firstProcess}, Cmd: []string{},
		Labels: e.labels(),
	}, spec.host(), nil, nil, spec.name())
	switch {
	case errdefs.IsNotFound(err):
		return nil, harness.FailFinal(harness.FailEnv, "create container", fmt.Errorf("%w: %w", ErrNoImage, err))
	case err != nil:
		return nil, envFailure("create container", err)
	}
	c := &Container{engine: e, id: created.ID, disk: spec.disk(), Relaxed: spec.Relax.Names()}
	if err := e.api.ContainerStart(call, c.id, container.StartOptions{}); err != nil {
		return nil, envFailure("start container", errors.Join(err, c.Remove(ctx)))
	}
	return c, nil
}

// removeNamed removes this owner's container of a name; another owner's stays, and is in the way.
func (e *Engine) removeNamed(ctx context.Context, name string) error {
	call, cancel := e.quick(ctx)
	defer cancel()
	old, err := e.api.ContainerInspect(call, name)
	switch {
	case errdefs.IsNotFound(err):
		return nil
	case err != nil:
		return envFailure("inspect container "+name, err)
	case old.Config == nil || old.Config.Labels[LabelOwner] != e.config.Owner:
		return harness.FailFinal(harness.FailEnv, "start container", fmt.Errorf("the name %s belongs to another owner's container", name))
	}
	return (&Container{engine: e, id: old.ID}).Remove(ctx)
}

// Remove ends the container and removes it with its volumes, also after ctx ended. To remove it again is
// no error. The daemon may fail while a last process still holds a file, so a failure is tried again.
func (c *Container) Remove(ctx context.Context) error {
	call, cancel := c.engine.cleanup(ctx)
	defer cancel()
	const tries = 5
	for try := 1; ; try++ {
		err := c.engine.api.ContainerRemove(call, c.id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) { // a conflict: it is being removed
			return nil
		}
		if try == tries {
			return envFailure("remove container", err)
		}
		select {
		case <-call.Done():
			return envFailure("remove container", errors.Join(err, call.Err()))
		case <-time.After(time.Duration(try) * 100 * time.Millisecond):
		}
	}
}

// Alive returns an environment failure where the container does not run any more.
func (c *Container) Alive(ctx context.Context) error { return c.alive(ctx) }

// alive returns an environment failure where the container does not run any more.
func (c *Container) alive(ctx context.Context) error {
	call, cancel := c.engine.cleanup(ctx)
	defer cancel()
	state, err := c.engine.api.ContainerInspect(call, c.id)
	switch {
	case errdefs.IsNotFound(err):
		return envFailure("use container", fmt.Errorf("%w: it is gone", ErrDied))
	case err != nil:
		return envFailure("inspect container", err)
	case state.State != nil && (!state.State.Running || state.State.Dead || state.State.Status == "removing"):
		return envFailure("use container", fmt.Errorf("%w: exit code %d, out of memory: %v", ErrDied, state.State.ExitCode, state.State.OOMKilled))
	}
	return nil
}

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// ErrNoImage is returned for an image that is neither here nor in a registry.
var ErrNoImage = errors.New("no such image")

// ErrDied is the cause of a failure where the container ended by itself or was ended by others.
var ErrDied = errors.New("the container died")

// Container is a running container. One goroutine uses it at a time.
type Container struct {
	engine  *Engine
	id      string
	Relaxed []string // the defaults that were given up
}

// ID is the daemon's id.
func (c *Container) ID() string { return c.id }

// Find returns the first of the names that is here, or that a registry has and is then pulled. Names
// are asked for locally first, all of them.
func (e *Engine) Find(ctx context.Context, names []string) (string, error) {
	for _, name := range names {
		call, cancel := e.quick(ctx)
		_, err := e.api.ImageInspect(call, name)
		cancel()
		switch {
		case err == nil:
			return name, nil
		case !errdefs.IsNotFound(err):
			return "", envFailure("inspect image "+name, err)
		}
	}
	if err := e.starts.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer e.starts.Release(1)
	var errs []error
	for _, name := range names {
		err := e.pull(ctx, name)
		if err == nil {
			return name, nil
		}
		errs = append(errs, err)
	}
	err := errext.WithHint(fmt.Errorf("%w: %w", ErrNoImage, errors.Join(errs...)), "build or load the image, or let the daemon reach a registry")
	return "", harness.FailFinal(harness.FailEnv, "find image", err)
}

func (e *Engine) pull(ctx context.Context, name string) error {
	r, err := e.api.ImagePull(ctx, name, image.PullOptions{})
	if err != nil {
		return fmt.Errorf("pull %s: %w", name, err)
	}
	_, err = io.Copy(io.Discard, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("pull %s: %w", name, err)
	}
	// The stream may end without an error and without an image.
	if _, err := e.api.ImageInspect(ctx, name); err != nil {
		return fmt.Errorf("pull %s: %w", name, err)
	}
	return nil
}

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
	if spec.Name != "" {
		if err := e.removeNamed(ctx, spec.Name); err != nil {
			return nil, err
		}
	}
	call, cancel := e.quick(ctx)
	defer cancel()
	created, err := e.api.ContainerCreate(call, &container.Config{
		Image: spec.Image, User: "0:0", WorkingDir: spec.WorkDir, Env: spec.Env,
		Entrypoint: []string{"sh", "-c", firstProcess}, Cmd: []string{},
		Labels: map[string]string{LabelOwner: e.config.Owner, LabelRun: e.config.Run},
	}, spec.host(), nil, nil, spec.Name)
	switch {
	case errdefs.IsNotFound(err):
		return nil, harness.FailFinal(harness.FailEnv, "create container", fmt.Errorf("%w: %w", ErrNoImage, err))
	case err != nil:
		return nil, envFailure("create container", err)
	}
	c := &Container{engine: e, id: created.ID, Relaxed: spec.Relax.names()}
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

// Reap removes the owner's containers whose run is not kept, and nothing else, and returns how many.
func (e *Engine) Reap(ctx context.Context, keep func(run string) bool) (removed int, err error) {
	call, cancel := e.quick(ctx)
	defer cancel()
	list, err := e.api.ContainerList(call, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", LabelOwner+"="+e.config.Owner)),
	})
	if err != nil {
		return 0, envFailure("list containers", err)
	}
	var errs []error
	for _, found := range list {
		if keep(found.Labels[LabelRun]) {
			continue
		}
		if err := (&Container{engine: e, id: found.ID}).Remove(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(errs...)
}

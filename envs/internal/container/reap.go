package container

import (
	"context"
	"errors"
	"fmt"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// Reap removes the owner's containers whose run is not kept, and nothing else, and returns how many.
func (e *Engine) Reap(ctx context.Context, keep func(run string) bool) (removed int, err error) {
	return e.reap(ctx, func(labels map[string]string) (bool, error) { return keep(labels[LabelRun]), nil })
}

// ReapDead removes the owner's containers that runs of this machine left which are dead: whose lock
// nobody holds. Other machines' containers stay, for their locks cannot be seen from here.
func (e *Engine) ReapDead(ctx context.Context) (removed int, err error) {
	return e.reap(ctx, func(labels map[string]string) (bool, error) {
		if labels[LabelHost] != e.lock.host || labels[LabelLock] == "" {
			return true, nil
		}
		alive, err := held(labels[LabelLock])
		if err != nil {
			return true, fmt.Errorf("look whether run %s lives: %w", labels[LabelRun], err)
		}
		return alive, nil
	})
}

func (e *Engine) reap(ctx context.Context, keep func(labels map[string]string) (bool, error)) (removed int, err error) {
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
		kept, err := keep(found.Labels)
		if err == nil && !kept {
			err = (&Container{engine: e, id: found.ID}).Remove(ctx)
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case !kept:
			removed++
		}
	}
	return removed, errors.Join(errs...)
}

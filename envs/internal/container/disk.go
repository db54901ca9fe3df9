package container

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// ErrNoSpace is returned where the daemon's disk has not the room that something needs.
var ErrNoSpace = errors.New("the daemon's disk is full")

const roomHint = "make room (docker system df; docker image prune), or move the daemon's data folder"

// dataRoot is the daemon's data folder, where it can be seen from here.
type dataRoot struct {
	once sync.Mutex
	path string
	done bool
}

// free returns the bytes that are free on the daemon's disk. They are unknown for a daemon on another
// machine, or whose folder is not visible here.
func (e *Engine) free(ctx context.Context) (bytes int64, known bool, err error) {
	e.root.once.Lock()
	defer e.root.once.Unlock()
	if !e.root.done {
		if strings.HasPrefix(e.api.DaemonHost(), "unix://") {
			call, cancel := e.quick(ctx)
			defer cancel()
			info, err := e.api.Info(call)
			if err != nil {
				return 0, false, envFailure("ask the daemon for its folder", err)
			}
			e.root.path = info.DockerRootDir
		}
		e.root.done = true
	}
	if e.root.path == "" {
		return 0, false, nil
	}
	bytes, err = freeBytes(e.root.path)
	return bytes, err == nil, nil //nolint:nilerr // a folder that cannot be seen is a size that is not known
}

// roomFor fails where less than need is free.
func (e *Engine) roomFor(ctx context.Context, op string, need int64) error {
	if need <= 0 {
		return nil
	}
	bytes, known, err := e.free(ctx)
	switch {
	case err != nil:
		return err
	case !known || bytes >= need:
		return nil
	}
	err = fmt.Errorf("%w: %s of %s are free in %s", ErrNoSpace, sizeText(bytes), sizeText(need), e.root.path)
	return harness.FailFinal(harness.FailEnv, op,
		errext.WithHint(err, roomHint))
}

func sizeText(n int64) string {
	switch {
	case n < 0:
		return "0 MiB"
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// written returns the bytes that the container has written on top of its image.
func (c *Container) written(ctx context.Context) (int64, error) {
	call, cancel := c.engine.quick(ctx)
	defer cancel()
	state, _, err := c.engine.api.ContainerInspectWithRaw(call, c.id, true)
	switch {
	case err != nil:
		return 0, err
	case state.ContainerJSONBase == nil || state.SizeRw == nil:
		return 0, nil
	}
	return *state.SizeRw, nil
}

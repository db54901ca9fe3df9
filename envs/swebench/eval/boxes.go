package eval

import (
	"context"
	"errors"

	"github.com/hindsightrl/harness/envs/internal/container"
)

// Boxes is where containers come from. Its methods are safe for concurrent use.
type Boxes interface {
	// Find returns the first of the names that is here, or is pulled.
	Find(ctx context.Context, names []string) (string, error)
	// ImageID identifies an image that is here; "" is one that is not.
	ImageID(ctx context.Context, name string) (string, error)
	// Warm starts a container ahead, where there is room for it, and returns at once.
	Warm(spec container.Spec)
	// Take returns a fresh container, which the caller removes.
	Take(ctx context.Context, spec container.Spec) (Box, error)
	// RemoveImage removes an image's name; that it is not here is no error.
	RemoveImage(ctx context.Context, name string) error
	// Close removes what was started ahead.
	Close() error
}

// Box is one container. One goroutine uses it at a time.
type Box interface {
	ID() string
	Exec(ctx context.Context, cmd container.Command) (container.Result, error)
	WriteFile(ctx context.Context, name string, content []byte, mode int64) error
	Remove(ctx context.Context) error
}

// engineBoxes takes containers from a daemon.
type engineBoxes struct {
	*container.Engine
	pool *container.Pool
	own  bool // the engine is closed with it
}

func (b *engineBoxes) Warm(spec container.Spec) { b.pool.Warm(spec, 1) }

func (b *engineBoxes) Take(ctx context.Context, spec container.Spec) (Box, error) {
	c, err := b.pool.Take(ctx, spec)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (b *engineBoxes) Close() error {
	err := b.pool.Close()
	if b.own {
		err = errors.Join(err, b.Engine.Close())
	}
	return err
}

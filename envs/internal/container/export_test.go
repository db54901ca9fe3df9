package container

import (
	"context"
	"time"
)

// SetCallLimit changes how long a quick call may take, between two calls.
func (e *Engine) SetCallLimit(d time.Duration) { e.config.CallLimit = d }

// Wait returns when no container is on its way.
func (p *Pool) Wait() { p.work.Wait() }

// Kill ends the container and leaves it there.
func (c *Container) Kill(ctx context.Context) error {
	return c.engine.api.ContainerKill(ctx, c.id, "KILL")
}

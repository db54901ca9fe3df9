package container

import "time"

// SetCallLimit changes how long a quick call may take, between two calls.
func (e *Engine) SetCallLimit(d time.Duration) { e.config.CallLimit = d }

// Wait returns when no container is on its way.
func (p *Pool) Wait() { p.work.Wait() }

package browser

import (
	"context"
	"errors"
	"sync"

	"github.com/hindsightrl/harness"
)

// pool shares one browser among many tabs, bounds how many there are, and starts the browser again
// when it has ended. It is safe for concurrent use.
type pool struct {
	cfg   Config
	bin   string
	slots chan struct{}

	starting chan struct{} // holds a token while a browser may be started

	mu     sync.Mutex
	now    *process // the latest; nil before the first
	starts int      // browsers started
	closed bool
}

// errSuiteClosed is what a call after Suite.Close gives.
var errSuiteClosed = errors.New("webshop: the browser suite is closed")

func newPool(cfg Config, bin string) *pool {
	p := &pool{cfg: cfg, bin: bin, slots: make(chan struct{}, cfg.Pages), starting: make(chan struct{}, 1)}
	sweep()
	return p
}

// enter waits for a free place among the tabs; leave gives it back.
func (p *pool) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pool) leave() { <-p.slots }

// process returns a browser that lives, starting one where there is none.
func (p *pool) process(ctx context.Context) (*process, error) {
	select {
	case p.starting <- struct{}{}:
		defer func() { <-p.starting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	now, closed := p.now, p.closed
	p.mu.Unlock()
	switch {
	case closed:
		return nil, errSuiteClosed
	case now != nil && now.alive():
		return now, nil
	}
	if _, err := Find(p.bin); err != nil { // it was there at first
		return nil, harness.FailFinal(harness.FailEnv, "start browser", err)
	}
	started, err := launch(ctx, p.bin, p.cfg.noSandbox(), p.cfg.Start)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, harness.Fail(harness.FailEnv, "start browser", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		started.close()
		return nil, errSuiteClosed
	}
	p.now = started
	p.starts++
	return started, nil
}

// close ends the browser for good.
func (p *pool) close() {
	p.mu.Lock()
	now := p.now
	p.closed = true
	p.mu.Unlock()
	if now != nil {
		now.close()
	}
}

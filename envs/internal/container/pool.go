package container

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Pool starts containers before they are wanted, so that who takes one need not wait for its start.
// Each is taken once: nothing of one use is left for the next. It is safe for concurrent use.
type Pool struct {
	engine *Engine
	most   int
	ctx    context.Context // of the starts; ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	waiting []*warm // the oldest first
	closed  bool
}

// warm is a container that is ready, or on its way.
type warm struct {
	key  string
	done chan struct{} // closed when c or err is set
	c    *Container
	err  error
}

// NewPool makes a pool that keeps at most so many containers waiting.
func (e *Engine) NewPool(most int) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pool{engine: e, most: most, ctx: ctx, cancel: cancel}
}

// key is what must be equal for two containers to be the same to their user.
func (s Spec) key() string {
	s.Name, s.Prefix = "", ""
	return fmt.Sprintf("%+v", s)
}

// Warm sees to it that n containers of a spec wait or are on their way, as far as the pool has room, and
// returns at once. Where it has none, the oldest one of another spec makes way. The spec must not name
// its container.
func (p *Pool) Warm(spec Spec, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := spec.key()
	for have := p.count(key); have < min(n, p.most); have++ {
		if p.closed || len(p.waiting) >= p.most && !p.evict(key) {
			return
		}
		w := &warm{key: key, done: make(chan struct{})}
		p.waiting = append(p.waiting, w)
		p.work.Add(1)
		go func() {
			defer p.work.Done()
			defer close(w.done)
			w.c, w.err = p.engine.Start(p.ctx, spec)
		}()
	}
}

func (p *Pool) count(key string) (n int) {
	for _, w := range p.waiting {
		if w.key == key {
			n++
		}
	}
	return n
}

// evict removes the oldest container that is not of a key.
func (p *Pool) evict(key string) bool {
	for i, w := range p.waiting {
		if w.key == key {
			continue
		}
		p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
		p.work.Add(1)
		go func() {
			defer p.work.Done()
			if err := w.remove(); err != nil {
				p.engine.config.Log.Warn("a container that waited could not be removed", "error", err)
			}
		}()
		return true
	}
	return false
}

// remove waits for a start to end and removes what it started.
func (w *warm) remove() error {
	<-w.done
	if w.c == nil {
		return nil
	}
	return w.c.Remove(context.Background())
}

// Take returns a container that waited, if it still lives, or starts one. The caller removes it. Once
// ctx has ended it hands out none: what waits stays, what it had taken by then is removed.
func (p *Pool) Take(ctx context.Context, spec Spec) (*Container, error) {
	for ctx.Err() == nil {
		w := p.next(spec.key())
		if w == nil {
			break
		}
		select {
		case <-w.done:
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil { // also where both are true, between which select chooses at random
			return nil, errors.Join(err, w.remove())
		}
		if w.c == nil {
			continue // why it did not start, a start of our own will say
		}
		if err := w.c.alive(ctx); err == nil {
			return w.c, nil
		}
		if err := w.c.Remove(ctx); err != nil {
			return nil, err
		}
	}
	return p.engine.Start(ctx, spec)
}

// next takes the oldest container of a key out, nil where there is none.
func (p *Pool) next(key string) *warm {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiting {
		if w.key == key {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			return w
		}
	}
	return nil
}

// Close removes every container that waits. What was taken stays its taker's.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	left := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	p.cancel()
	var errs []error
	for _, w := range left {
		errs = append(errs, w.remove())
	}
	p.work.Wait()
	return errors.Join(errs...)
}

package swebench

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hindsightrl/harness"
)

// maxReady bounds the containers that wait for an episode.
const maxReady = 2

// ready holds containers that were started and prepared ahead of their episode. Each is taken once, by an
// episode of the instance that it was prepared for; what an agent has seen never comes back here. It is safe
// for concurrent use.
type ready struct {
	mu      sync.Mutex
	waiting []*readyBox // the oldest first
	work    sync.WaitGroup
	closed  bool
	errs    []error // of containers that could not be removed; close returns them
}

// readyBox is a prepared container, or one on its way.
type readyBox struct {
	in     *Instance
	cancel context.CancelFunc // of its start, where nobody waits for it any more
	done   chan struct{}      // closed when the others are set
	box    box
	start  baseline
	err    error
}

// begin starts what makes a container for an instance, unless one waits already.
func (r *ready) begin(in *Instance, open func(context.Context) (box, baseline, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	for _, w := range r.waiting {
		if w.in == in {
			return
		}
	}
	if len(r.waiting) >= maxReady {
		old := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.work.Go(func() { r.fail(old.remove()) })
	}
	ctx, cancel := context.WithCancel(context.Background()) // it outlives the call that asks for it
	w := &readyBox{in: in, cancel: cancel, done: make(chan struct{})}
	r.waiting = append(r.waiting, w)
	r.work.Go(func() {
		defer close(w.done)
		defer cancel()
		w.box, w.start, w.err = open(ctx)
	})
}

// take returns the container that waits for an instance, once it is prepared; nil where there is none that
// can be used. What went wrong with it, an own start will say.
func (r *ready) take(ctx context.Context, in *Instance) (box, baseline, error) {
	r.mu.Lock()
	var w *readyBox
	for i := range r.waiting {
		if r.waiting[i].in == in {
			w = r.waiting[i]
			r.waiting = append(r.waiting[:i:i], r.waiting[i+1:]...)
			break
		}
	}
	r.mu.Unlock()
	if w == nil {
		return nil, baseline{}, nil
	}
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil { // also where both are true, between which select chooses at random
		return nil, baseline{}, errors.Join(err, w.remove())
	}
	if w.err != nil {
		return nil, baseline{}, nil //nolint:nilerr // the episode starts one itself, and meets the same error
	}
	if l, ok := w.box.(interface{ Alive(context.Context) error }); ok && l.Alive(ctx) != nil {
		return nil, baseline{}, w.remove()
	}
	return w.box, w.start, nil
}

// fail notes an error for close.
func (r *ready) fail(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// remove calls a container's start off, or removes what is there.
func (w *readyBox) remove() error {
	w.cancel()
	<-w.done
	if w.box == nil {
		return nil
	}
	if err := w.box.Remove(context.Background()); err != nil {
		return fmt.Errorf("remove the container prepared for %s: %w", w.in.ID, err)
	}
	return nil
}

// close removes what waits. Nothing is prepared any more.
func (r *ready) close() error {
	r.mu.Lock()
	left := r.waiting
	r.waiting, r.closed = nil, true
	r.mu.Unlock()
	for _, w := range left { // all at once
		w.cancel()
	}
	for _, w := range left {
		r.fail(w.remove())
	}
	r.work.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}

// Prepare starts and prepares a container for an episode of a task that is about to begin, and returns at
// once. Why it cannot be done, the episode's own Reset says.
func (s *Suite) Prepare(task harness.Task) {
	in, err := s.instance(task)
	if err != nil {
		return
	}
	s.ready.begin(in, func(ctx context.Context) (box, baseline, error) { return s.open(ctx, in) })
}

// open starts a fresh container of an instance's image and prepares it. The box is nil where there is an
// error.
func (s *Suite) open(ctx context.Context, in *Instance) (box, baseline, error) {
	names, err := Images(in, s.cfg.Images)
	if err != nil {
		return nil, baseline{}, harness.FailFinal(harness.FailEnv, "reset", err)
	}
	image, err := s.boxes.Find(ctx, names)
	if err != nil {
		return nil, baseline{}, imageFailure(in, names, err)
	}
	b, err := s.boxes.start(ctx, s.cfg.spec(in, image))
	if err != nil {
		return nil, baseline{}, err
	}
	start, err := prepare(ctx, b, in, s.cfg)
	if err != nil {
		return nil, baseline{}, errors.Join(err, b.Remove(context.Background()))
	}
	return b, start, nil
}

// Close removes the containers that were prepared and not used. Episodes under way are not touched.
func (s *Suite) Close() error { return s.ready.close() }

package swebench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hindsightrl/harness"
)

// ready holds containers that were started and prepared ahead of their episode. Each is taken once, by an
// episode of the instance that it was prepared for; what an agent has seen never comes back here. It is safe
// for concurrent use.
type ready struct {
	most    int // that may wait at a time
	mu      sync.Mutex
	wanted  []want      // by episodes there is no room for yet, the next one first
	waiting []*readyBox // the oldest first
	work    sync.WaitGroup
	closed  bool
	errs    []error // of containers that could not be removed; close returns them
}

// want is an episode that is about to begin, with what makes its container.
type want struct {
	in   *Instance
	open func(context.Context) (box, baseline, error)
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

// begin starts what makes a container for an episode of an instance, now or when there is room for it.
func (r *ready) begin(in *Instance, open func(context.Context) (box, baseline, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.most <= 0 {
		return
	}
	r.wanted = append(r.wanted, want{in, open})
	r.fill()
}

// fill starts what is wanted, as far as there is room. The caller holds the lock.
func (r *ready) fill() {
	for ; len(r.wanted) > 0 && len(r.waiting) < r.most; r.wanted = r.wanted[1:] {
		next := r.wanted[0]
		ctx, cancel := context.WithCancel(context.Background()) // it outlives the call that asks for it
		w := &readyBox{in: next.in, cancel: cancel, done: make(chan struct{})}
		r.waiting = append(r.waiting, w)
		r.work.Go(func() {
			defer close(w.done)
			defer cancel()
			w.box, w.start, w.err = next.open(ctx)
		})
	}
}

// next takes out what an episode of an instance gets: of several the first that is there, else the one that
// is longest on its way. Where there is none, the episode that is wanted soonest is this one, and needs no
// container any more.
func (r *ready) next(in *Instance) *readyBox {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.fill()
	at := -1
	for i, w := range r.waiting {
		if w.in != in {
			continue
		}
		if w.there() {
			at = i
			break
		}
		if at < 0 {
			at = i
		}
	}
	if at >= 0 {
		w := r.waiting[at]
		r.waiting = slices.Delete(r.waiting, at, at+1)
		return w
	}
	if i := slices.IndexFunc(r.wanted, func(w want) bool { return w.in == in }); i >= 0 {
		r.wanted = slices.Delete(r.wanted, i, i+1)
	}
	return nil
}

// there says whether a container's start has ended.
func (w *readyBox) there() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// take returns the container that waits for an instance, once it is prepared; nil where there is none that
// can be used. What went wrong with it, an own start will say.
func (r *ready) take(ctx context.Context, in *Instance) (box, baseline, error) {
	w := r.next(in)
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
	r.waiting, r.wanted, r.closed = nil, nil, true
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

// Prepare starts and prepares a container for an episode of a task that is about to begin, as soon as fewer
// than Config.Ready wait, and returns at once. Why it cannot be done, the episode's own Reset says. What is
// prepared for an episode that never begins waits until Close.
func (s *Suite) Prepare(task harness.Task) {
	in, err := s.playable(task)
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

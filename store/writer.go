package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ticket is a promise that a call's rows will be durable, or an error why not.
type ticket struct {
	done chan struct{}
	err  error // valid once done is closed
}

// wait blocks until the rows are durable or ctx ends; the rows may still become durable after that.
func (t *ticket) wait(ctx context.Context) error {
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// op is one call's rows. run may be executed more than once (its transaction may be rolled back for
// the sake of another call), so it must not change anything but the database and its own results.
type op struct {
	run func(*conn) error
	ticket
}

// writer is the goroutine that owns the writing connection. It takes whatever calls have gathered
// while the last commit was on its way to the disk and commits them together.
type writer struct {
	conn     *conn
	queue    chan *op
	maxBatch int

	mu     sync.RWMutex // held for reading while a call enters the queue
	closed bool
	broken error // why every later call is refused; set by the goroutine, under mu

	stopped chan struct{}
	commits int64 // for tests and benchmarks; read after stopped
}

func startWriter(c *conn, maxBatch int) *writer {
	w := &writer{conn: c, queue: make(chan *op, maxBatch), maxBatch: maxBatch, stopped: make(chan struct{})}
	go w.loop()
	return w
}

// submit queues run and returns at once with its ticket.
func (w *writer) submit(ctx context.Context, run func(*conn) error) (*ticket, error) {
	o := &op{run: run, ticket: ticket{done: make(chan struct{})}}
	w.mu.RLock()
	defer w.mu.RUnlock()
	switch {
	case w.closed:
		return nil, ErrClosed
	case w.broken != nil:
		return nil, w.broken
	case ctx.Err() != nil: // select would choose at random
		return nil, ctx.Err()
	}
	select {
	case w.queue <- o:
		return &o.ticket, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// do queues run and waits until its rows are durable. Once queued, run is waited for even if ctx ends: it
// will be committed, and what it sets belongs to the writer until then.
func (w *writer) do(ctx context.Context, run func(*conn) error) error {
	t, err := w.submit(ctx, run)
	if err != nil {
		return err
	}
	return t.wait(context.WithoutCancel(ctx))
}

// close commits what is queued, refuses the rest, and waits for the goroutine.
func (w *writer) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.stopped
}

func (w *writer) loop() {
	defer close(w.stopped)
	batch := make([]*op, 0, w.maxBatch)
	for o := range w.queue {
		batch = w.gather(append(batch[:0], o))
		if w.broken != nil { // only this goroutine sets it, so reading needs no lock
			finish(batch, w.broken)
			continue
		}
		w.commit(batch)
	}
}

// gather adds what is already waiting. It never waits for more: the commit itself is the time in
// which the next batch gathers.
func (w *writer) gather(batch []*op) []*op {
	for len(batch) < w.maxBatch {
		select {
		case o, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// commit makes the batch durable in one transaction. A call that fails by itself (a constraint, a
// closed episode) is taken out and the others are written again without it; trouble with the file
// fails them all and every call after them.
func (w *writer) commit(batch []*op) {
	for len(batch) > 0 {
		bad, err := w.try(batch)
		if err == nil {
			w.commits++
			finish(batch, nil)
			return
		}
		err = classify(err)
		if bad < 0 || fatal(err) {
			w.fail(err)
			finish(batch, w.broken)
			return
		}
		finish(batch[bad:bad+1], err)
		batch = slices.Delete(batch, bad, bad+1)
	}
}

// try runs one transaction. On error it has rolled back; bad is the call at fault, or -1.
func (w *writer) try(batch []*op) (bad int, err error) {
	if err := w.conn.script("BEGIN IMMEDIATE"); err != nil {
		return -1, fmt.Errorf("begin: %w", err)
	}
	for i, o := range batch {
		if err := o.run(w.conn); err != nil {
			return w.rollback(i, err)
		}
	}
	if _, err := w.conn.exec("COMMIT"); err != nil {
		return w.rollback(-1, fmt.Errorf("commit: %w", err))
	}
	return -1, nil
}

func (w *writer) rollback(bad int, cause error) (int, error) {
	clear(w.conn.metas)
	// SQLite has already rolled back by itself after a full disk or an I/O error.
	if w.conn.raw.AutoCommit() {
		return bad, cause
	}
	if err := w.conn.script("ROLLBACK"); err != nil {
		return -1, errors.Join(cause, fmt.Errorf("rollback: %w", err))
	}
	return bad, cause
}

func (w *writer) fail(err error) {
	// submit may hold mu for reading while it waits for room in the queue, which only this goroutine
	// makes; so the queue is emptied until the lock is free.
	for !w.mu.TryLock() {
		select {
		case o, ok := <-w.queue:
			if ok {
				finish([]*op{o}, err)
			}
		case <-time.After(time.Millisecond):
		}
	}
	w.broken = err
	w.mu.Unlock()
}

func finish(batch []*op, err error) {
	for _, o := range batch {
		o.err = err
		close(o.done)
	}
}

package gguf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrClosed is what requests get that are under way when their model is closed.
var ErrClosed = errors.New("the model is closed")

// row is one token of a batch: its position in the sequence that slot seq holds.
type row struct {
	token, pos, seq int32
	logits          bool
}

// backend is the part of llama.cpp that the loop drives, all of it from the loop's goroutine. What
// Logits returned may be read by several goroutines.
type backend interface {
	// Decode computes the rows, in order, into their sequences' caches.
	Decode(rows []row) error
	// Logits returns the vocabulary's logits after row i of the last Decode, valid until the next.
	Logits(i int) []float32
	// Forget drops a sequence from position from on; false where only all of it can be dropped.
	Forget(seq int32, from int) bool
}

// slot holds one sequence's cache. cached are the tokens that the cache holds, whoever put them there.
type slot struct {
	seq    int32
	task   *task
	cached []int32
}

// loop is the one goroutine that decodes. Requests wait in a queue for a free slot; each pass takes
// the next token of every generation under way and fills up with prompts, so a long prompt holds
// nobody up for longer than one batch.
type loop struct {
	b       backend
	batch   int // rows of one pass
	workers int // goroutines that look at logits
	alone   bool
	slots   []*slot
	next    int // slot that is first in the next pass, for fairness

	mu     sync.Mutex
	queue  []*task
	closed bool
	reused atomic.Int64  // prompt tokens that lay in a slot's cache already
	wake   chan struct{} // something changed; capacity 1
	ended  chan struct{}
}

// newLoop starts the goroutine. With alone each pass holds one token of one sequence: the library
// computes a batch of two rows in another order than two batches of one, and quantised models turn a
// last bit's difference into tenths of a nat. Then a token's numbers depend on nothing but the tokens
// before it, whether these were a prompt, were sampled, or lay in the cache already.
func newLoop(b backend, slots, batch, workers int, alone bool) *loop {
	l := &loop{
		b: b, batch: batch, workers: workers, alone: alone,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	for i := range slots {
		l.slots = append(l.slots, &slot{seq: int32(i)})
	}
	go l.run()
	return l
}

func (l *loop) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// submit queues a task; its done channel tells the end.
func (l *loop) submit(t *task) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.queue = append(l.queue, t)
	l.poke()
	return nil
}

// close ends every task with ErrClosed and waits for the goroutine.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.poke()
	<-l.ended
}

func (l *loop) run() {
	defer close(l.ended)
	for l.admit() {
		rows, from := l.fill()
		if len(rows) == 0 {
			<-l.wake
			continue
		}
		l.pass(rows, from)
	}
}

// admit lets go of cancelled tasks and gives free slots to waiting ones. It returns false when the
// loop is to end.
func (l *loop) admit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(t *task) bool {
		return l.over(t) != nil && finish(t, l.over(t))
	})
	for _, s := range l.slots {
		if s.task != nil && l.over(s.task) != nil {
			l.release(s, l.over(s.task))
		}
	}
	if l.closed {
		return false
	}
	for len(l.queue) > 0 {
		s := l.freeSlot(l.queue[0])
		if s == nil {
			break
		}
		s.task, l.queue = l.queue[0], l.queue[1:]
		l.prepare(s)
	}
	return true
}

func (l *loop) over(t *task) error {
	if l.closed {
		return ErrClosed
	}
	return context.Cause(t.ctx)
}

func finish(t *task, err error) bool {
	t.done <- err
	return true
}

func (l *loop) release(s *slot, err error) {
	finish(s.task, err)
	s.task = nil
}

// freeSlot picks the free slot whose cache shares the longest beginning with the task; among equals
// an empty one, so that caches live on.
func (l *loop) freeSlot(t *task) *slot {
	var best *slot
	score := -1
	for _, s := range l.slots {
		if s.task != nil {
			continue
		}
		n := 2 * common(s.cached, t.tokens)
		if len(s.cached) == 0 {
			n = 1
		}
		if n > score {
			best, score = s, n
		}
	}
	return best
}

// prepare leaves in the slot's cache what the task can reuse: the common beginning, but not the token
// whose logits it wants first.
func (l *loop) prepare(s *slot) {
	keep := min(common(s.cached, s.task.tokens), s.task.outFrom)
	if keep == len(s.cached) && keep > 0 {
		l.reused.Add(int64(keep))
		return
	}
	if keep == 0 || !l.b.Forget(s.seq, keep) {
		keep = 0
		l.b.Forget(s.seq, 0)
	}
	s.cached = s.cached[:keep]
	l.reused.Add(int64(keep))
}

func common(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// fill chooses the rows of the next pass: generations first, then prompts as far as they fit. from[i]
// is the slot of row i.
func (l *loop) fill() (rows []row, from []*slot) {
	add := func(s *slot, most int) {
		t := s.task
		for _, id := range t.tokens[len(s.cached):min(len(t.tokens), len(s.cached)+most)] {
			pos := len(s.cached)
			rows = append(rows, row{token: id, pos: int32(pos), seq: s.seq, logits: pos >= t.outFrom})
			from = append(from, s)
			s.cached = append(s.cached, id)
		}
	}
	n := len(l.slots)
	for _, prompts := range []bool{false, true} {
		for i := range n {
			s := l.slots[(l.next+i)%n]
			if s.task == nil || s.task.full() {
				continue
			}
			pending := len(s.task.tokens) - len(s.cached)
			if l.alone && pending > 0 {
				add(s, 1)
				l.next = (l.next + i + 1) % n
				return rows, from
			}
			if (pending > 1) == prompts && len(rows) < l.batch {
				add(s, l.batch-len(rows))
			}
		}
	}
	l.next = (l.next + 1) % n
	return rows, from
}

// pass decodes the rows and hands out their logits.
func (l *loop) pass(rows []row, from []*slot) {
	if err := l.b.Decode(rows); err != nil {
		for i, s := range from {
			if s.task != nil {
				l.fail(s, fmt.Errorf("decode position %d: %w", rows[i].pos, err))
			}
		}
		return
	}
	next, errs := l.look(rows, from)
	for i, r := range rows {
		s := from[i]
		switch t := s.task; {
		case t == nil || !r.logits:
		case errs[i] != nil:
			l.fail(s, errs[i])
		case next[i] >= 0:
			t.tokens = append(t.tokens, next[i])
		case t.last == nil && len(s.cached) == len(t.tokens) && int(r.pos) == len(t.tokens)-1,
			t.last != nil && t.last():
			l.release(s, nil)
		}
	}
}

// fail ends a slot's task and empties the slot: what its cache holds is not known.
func (l *loop) fail(s *slot, err error) {
	l.release(s, err)
	l.b.Forget(s.seq, 0)
	s.cached = s.cached[:0]
}

// look runs the tasks' take on every row that has logits, on several goroutines where it pays.
func (l *loop) look(rows []row, from []*slot) (next []int32, errs []error) {
	next, errs = make([]int32, len(rows)), make([]error, len(rows))
	logits := make([][]float32, len(rows)) // fetched here: the library sorts its outputs on the first call
	for i, r := range rows {
		if r.logits {
			logits[i] = l.b.Logits(i)
		}
	}
	workers := min(l.workers, len(rows))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(rows); i += workers {
				if rows[i].logits {
					next[i], errs[i] = from[i].task.take(int(rows[i].pos), logits[i])
				}
			}
		})
	}
	wg.Wait()
	return next, errs
}

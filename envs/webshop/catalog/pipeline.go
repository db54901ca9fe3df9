package catalog

import (
	"context"
	"errors"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness/envs/webshop/internal/jsonx"
)

// batchSize is how many elements a worker takes at a time.
const batchSize = 128

// element is one value of a file. Its bytes are valid only while it is parsed.
type element struct {
	number int
	key    string // of a pair of an object
	offset int64
	raw    []byte
}

// batch is a run of elements on its way through a worker. Batches are used again and again.
type batch[T any] struct {
	text     []byte // of all elements
	elements []element
	out      []T
	skipped  []bool
	err      error
	done     chan struct{} // takes a value when the batch is parsed
}

// pipeline cuts a file into elements, has them parsed in parallel, and adds the results in order.
type pipeline[T any] struct {
	limit int // of elements; 0 means all
	// worker makes what one goroutine parses with; errSkipped leaves an element out.
	worker func() func(e *element, out *T) error
	// add takes a result, in the order of the file; raw is no longer valid.
	add func(e *element, v *T)

	free chan *batch[T]
}

func (p *pipeline[T]) run(ctx context.Context, r io.Reader) error {
	workers := runtime.GOMAXPROCS(0)
	eg, ctx := errgroup.WithContext(ctx)
	todo := make(chan *batch[T])
	order := make(chan *batch[T], 2*workers)
	p.free = make(chan *batch[T], 3*workers+2)
	eg.Go(func() error {
		defer close(todo)
		defer close(order)
		return p.cut(ctx, r, todo, order)
	})
	for range workers {
		eg.Go(func() error {
			parse := p.worker()
			for b := range todo {
				b.parse(parse)
				b.done <- struct{}{}
			}
			return nil
		})
	}
	eg.Go(func() error {
		for b := range order {
			select {
			case <-b.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if b.err != nil {
				return b.err
			}
			for i := range b.elements {
				if !b.skipped[i] {
					p.add(&b.elements[i], &b.out[i])
				}
			}
			select {
			case p.free <- b:
			default:
			}
		}
		return nil
	})
	return eg.Wait()
}

// next is an empty batch.
func (p *pipeline[T]) next() *batch[T] {
	select {
	case b := <-p.free:
		b.text, b.elements = b.text[:0], b.elements[:0]
		return b
	default:
		return &batch[T]{out: make([]T, batchSize), skipped: make([]bool, batchSize), done: make(chan struct{}, 1)}
	}
}

// cut reads elements into batches.
func (p *pipeline[T]) cut(ctx context.Context, r io.Reader, todo, order chan<- *batch[T]) error {
	s := jsonx.NewSplitter(r)
	b := p.next()
	send := func() error {
		for _, to := range []chan<- *batch[T]{order, todo} {
			select {
			case to <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	for n := 0; ; n++ {
		e, err := s.Next()
		if end := errors.Is(err, io.EOF); end || err == nil && p.limit > 0 && n == p.limit {
			if !end {
				// The rest of the file is read for the digest.
				if _, err := io.Copy(io.Discard, r); err != nil {
					return err
				}
			}
			return send()
		}
		if err != nil {
			return err
		}
		start := len(b.text)
		b.text = append(b.text, e.Raw...) // may move: earlier elements then keep what they have
		b.elements = append(b.elements, element{number: n, key: e.Key, offset: e.Offset, raw: b.text[start:len(b.text):len(b.text)]})
		if len(b.elements) == batchSize {
			if err := send(); err != nil {
				return err
			}
			b = p.next()
		}
	}
}

func (b *batch[T]) parse(parse func(*element, *T) error) {
	for i := range b.elements {
		err := parse(&b.elements[i], &b.out[i])
		if b.skipped[i] = errors.Is(err, errSkipped); b.skipped[i] {
			continue
		}
		if err != nil {
			b.err = err
			return
		}
	}
}

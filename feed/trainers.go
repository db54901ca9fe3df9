package feed

import (
	"context"
	"slices"
	"sync"

	"github.com/hindsightrl/harness"
)

// maxNames bounds the consumers' names that one connection is counted under for as long as it is open.
const maxNames = 64

// trainers are the consumers that are there, by name: connections that said it, and requests under way.
type trainers struct {
	mu sync.Mutex
	n  map[string]int
}

func newTrainers() *trainers { return &trainers{n: map[string]int{}} }

// enter counts one that has a name; what it returns ends that.
func (t *trainers) enter(name string) (leave func()) {
	if name == "" {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[name]++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.n[name]--; t.n[name] == 0 {
			delete(t.n, name)
		}
	})
}

// alone calls f while nobody of this name is there beside the one who asks, and nobody comes in; it reports
// whether that was so. self says that the one who asks is counted.
func (t *trainers) alone(name string, self bool, f func() error) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	others := t.n[name]
	if self {
		others--
	}
	if others > 0 {
		return false, nil
	}
	return true, f()
}

// names are what a connection calls its trainer, each counted until the connection is gone and nothing that it
// asked for is under way any more. Those beyond maxNames are counted while they ask.
type names struct {
	mu    sync.Mutex
	leave map[string]func()
}

// add counts a name from its first use on, and reports whether this is that. done ends a request under the name.
func (n *names) add(t *trainers, name string) (first bool, done func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case name == "" || n.leave[name] != nil:
		return false, func() {}
	case len(n.leave) == maxNames:
		return false, t.enter(name)
	case n.leave == nil:
		n.leave = map[string]func(){}
	}
	n.leave[name] = t.enter(name)
	return true, func() {}
}

// has reports whether the connection is counted under a name.
func (n *names) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leave[name] != nil
}

// list is the names that a connection used, in order.
func (n *names) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]string, 0, len(n.leave))
	for name := range n.leave {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (n *names) leaveAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, leave := range n.leave {
		leave()
	}
	clear(n.leave)
}

// lost gives back what a trainer held that says it has lost it. While another connection has its name, that one
// may be the one that holds it, so nothing happens. Those that wait are woken.
func (s *Server) lost(ctx context.Context, r *request, n *names) ([]harness.Lease, error) {
	var back []harness.Lease
	alone, err := s.trainers.alone(r.Consumer, n != nil && n.has(r.Consumer), func() (err error) {
		back, err = s.cfg.Book.Lost(ctx, r.Consumer)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !alone {
		return nil, errConnected(r.Consumer)
	}
	if len(back) > 0 {
		s.wake.all()
	}
	return back, nil
}

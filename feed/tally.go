package feed

import (
	"maps"
	"sync"
)

// tally counts by a small number.
type tally struct {
	mu sync.Mutex
	n  map[int]int64
}

func (t *tally) add(k int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[int]int64{}
	}
	t.n[k]++
}

func (t *tally) counts() map[int]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.n)
}

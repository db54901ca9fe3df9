package alfworld

import (
	"container/list"
	"sync"
)

// cache keeps the most recently used compiled games. A game that several callers want at once is
// compiled once. A failure is not kept.
type cache struct {
	load func(id string) (*game, error)
	most int

	mu    sync.Mutex
	order *list.List // of *slot, most recently used first
	byID  map[string]*list.Element
}

type slot struct {
	id   string
	once sync.Once
	game *game
	err  error
}

func newCache(most int, load func(string) (*game, error)) *cache {
	return &cache{load: load, most: most, order: list.New(), byID: make(map[string]*list.Element)}
}

func (c *cache) get(id string) (*game, error) {
	c.mu.Lock()
	el, ok := c.byID[id]
	if ok {
		c.order.MoveToFront(el)
	} else {
		el = c.order.PushFront(&slot{id: id})
		c.byID[id] = el
		if c.order.Len() > c.most {
			c.drop(c.order.Back())
		}
	}
	c.mu.Unlock()
	s := el.Value.(*slot)
	s.once.Do(func() { s.game, s.err = c.load(id) })
	if s.err != nil {
		c.mu.Lock()
		if c.byID[id] == el {
			c.drop(el)
		}
		c.mu.Unlock()
	}
	return s.game, s.err
}

func (c *cache) drop(el *list.Element) {
	c.order.Remove(el)
	delete(c.byID, el.Value.(*slot).id)
}

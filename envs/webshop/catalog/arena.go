package catalog

import (
	"hash/maphash"
	"sync"
	"unsafe"

	"github.com/hindsightrl/harness/envs/webshop/internal/py"
)

// Sizes of an arena's blocks: 32 KiB of text, 16 KiB of each kind of list.
const (
	textBlock        = 32 << 10
	listBlock        = 1 << 10
	optionBlock      = 400
	instructionBlock = 256
)

// arena keeps small texts and lists in large blocks: the garbage collector then looks at a few thousand
// things where there are millions of texts. Nothing in it is freed on its own. It is not safe for
// concurrent use.
type arena struct {
	texts        []byte
	lists        []string
	options      []Option
	instructions []Instruction
}

// text copies s.
func (a *arena) text(s string) string {
	if s == "" {
		return ""
	}
	if len(s) > cap(a.texts)-len(a.texts) {
		if len(s) > textBlock/4 {
			return string([]byte(s))
		}
		a.texts = make([]byte, 0, textBlock)
	}
	start := len(a.texts)
	a.texts = append(a.texts, s...)
	return unsafe.String(&a.texts[start], len(s))
}

// take makes room for n items in a block, apart from all others.
func take[T any](block *[]T, n, size int) []T {
	if n == 0 {
		return []T{} // before the first block too: an empty list is not none
	}
	if n > cap(*block)-len(*block) {
		if n > size/4 {
			return make([]T, n)
		}
		*block = make([]T, 0, size)
	}
	start := len(*block)
	*block = (*block)[:start+n]
	return (*block)[start : start+n : start+n]
}

// texts keeps one copy of texts that many products share. It is safe for concurrent use.
type texts struct {
	seed   maphash.Seed
	shards [64]shard
}

type shard struct {
	mu    sync.Mutex
	known map[string]string
	arena arena
}

func newTexts() *texts {
	t := &texts{seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].known = map[string]string{}
	}
	return t
}

func (t *texts) share(s string) string {
	h := &t.shards[maphash.String(t.seed, s)%uint64(len(t.shards))]
	h.mu.Lock()
	defer h.mu.Unlock()
	kept, ok := h.known[s]
	if !ok {
		kept = h.arena.text(s)
		h.known[kept] = kept
	}
	return kept
}

// maxRecent bounds how many shared texts a keeper finds without a lock.
const maxRecent = 1 << 14

// keeper makes copies that stay of what a worker reads into memory that it uses again. Each worker has
// its own.
type keeper struct {
	arena
	shared *texts
	recent map[string]string
}

func newKeeper(shared *texts) *keeper { return &keeper{shared: shared, recent: map[string]string{}} }

// share returns the one copy of a text.
func (k *keeper) share(s string) string {
	if kept, ok := k.recent[s]; ok {
		return kept
	}
	if len(k.recent) >= maxRecent {
		clear(k.recent)
	}
	kept := k.shared.share(s)
	k.recent[kept] = kept
	return kept
}

// list keeps a list of shared texts; nil stays nil.
func (k *keeper) list(list []string) []string {
	if list == nil {
		return nil
	}
	out := take(&k.lists, len(list), listBlock)
	for i, s := range list {
		out[i] = k.share(s)
	}
	return out
}

// product keeps what is not taken from the record's pricing, which is kept already.
func (k *keeper) product(p *Product) {
	p.ASIN, p.Title, p.MainImage = k.text(p.ASIN), k.text(p.Title), k.text(p.MainImage)
	p.Category, p.Query, p.ProductCategory = k.share(p.Category), k.share(p.Query), k.share(p.ProductCategory)
	if len(p.Options) == 0 {
		p.Options = nil
		return
	}
	options := take(&k.options, len(p.Options), optionBlock)
	for i, o := range p.Options {
		options[i] = Option{k.share(o.Name), k.list(o.Values)}
	}
	p.Options = options
}

// details keeps a product's long texts.
func (k *keeper) details(d *Details) *Details {
	out := &Details{Description: k.text(d.Description), Bullets: take(&k.lists, len(d.Bullets), listBlock)}
	for i, b := range d.Bullets {
		out.Bullets[i] = k.text(b)
	}
	for _, it := range d.Images {
		if address, ok := it.Value.(string); ok {
			it.Value = k.text(address)
		}
		out.Images = append(out.Images, py.Item{Key: k.share(it.Key), Value: it.Value})
	}
	return out
}

// instruction keeps what a goal is made of.
func (k *keeper) instruction(in Instruction) Instruction {
	return Instruction{Text: k.text(in.Text), Attributes: k.list(in.Attributes), Options: k.list(in.Options)}
}

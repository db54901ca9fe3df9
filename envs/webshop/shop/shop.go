package shop

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/page"
	"github.com/hindsightrl/harness/envs/webshop/reward"
	"github.com/hindsightrl/harness/envs/webshop/search"
)

// searchReturns is how many products a search finds at most.
const searchReturns = 50

// Config says how the shop is set up. The zero value is the original's.
type Config struct {
	// Nouns tells titles' nouns; nil means the fallback tagger.
	Nouns reward.Nouns
	// Ties orders products of equal score; "" means by id.
	Ties search.Ties
	// ShowAttributes adds a button and a page for attributes, as the original's --attrs.
	ShowAttributes bool
	// Limit takes the first records of the product file only; 0 means all.
	Limit int
	// Cache is the folder that keeps what Open makes of a large product file, so that opening it again
	// takes seconds; "" keeps nothing. See cacheFile.
	Cache string
	// Note is told when the cache cannot be used or written; it may be nil.
	Note func(string)
}

// Shop is what all visits share. Its methods are safe for concurrent use.
type Shop struct {
	*catalog.Catalog
	Index *search.Index
	Nouns reward.Nouns

	ties  search.Ties
	attrs bool
	views []atomic.Pointer[view] // of products' pages, made at first use
}

// view is what every visit to a product's page shows alike.
type view struct {
	tail       string // the page's text after the instruction
	clickables []string
	admissible []string
}

// Open loads data files by the name of their folder or of the product file.
func Open(ctx context.Context, name string, cfg Config) (*Shop, error) {
	paths, err := catalog.Find(name)
	if err != nil {
		return nil, err
	}
	if cfg.Cache != "" && paths.Large() {
		return openCached(ctx, paths, cfg)
	}
	return load(ctx, paths, cfg)
}

func load(ctx context.Context, paths catalog.Paths, cfg Config) (*Shop, error) {
	return build(cfg, func(c catalog.Config) (*catalog.Catalog, error) { return paths.Load(ctx, c) })
}

// Load loads data files that are open already.
func Load(ctx context.Context, files catalog.Files, cfg Config) (*Shop, error) {
	return build(cfg, func(c catalog.Config) (*catalog.Catalog, error) { return catalog.Load(ctx, files, c) })
}

// empty checks the configuration and makes a shop without stock.
func empty(cfg Config) (*Shop, error) {
	if cfg.Limit < 0 {
		return nil, fmt.Errorf("webshop: limit of %d products", cfg.Limit)
	}
	s := &Shop{Nouns: cfg.Nouns, ties: cfg.Ties, attrs: cfg.ShowAttributes}
	if s.Nouns == nil {
		s.Nouns = &reward.Tagger{}
	}
	if s.ties == "" {
		s.ties = search.ByID
	}
	if _, err := search.ParseTies(string(s.ties)); err != nil {
		return nil, err
	}
	return s, nil
}

func build(cfg Config, load func(catalog.Config) (*catalog.Catalog, error)) (*Shop, error) {
	s, err := empty(cfg)
	if err != nil {
		return nil, err
	}
	b := search.NewBuilder()
	texts := sync.Pool{New: func() any { return new([]byte) }}
	docs := func(p *catalog.Product, d *catalog.Details) any {
		text := texts.Get().(*[]byte)
		defer texts.Put(text)
		*text = p.AppendContents((*text)[:0], d)
		// Prepare keeps nothing of the text.
		return prepared{p.ASIN, b.Prepare(unsafe.String(unsafe.SliceData(*text), len(*text)))}
	}
	c, err := load(catalog.Config{
		Limit:   cfg.Limit,
		Prepare: docs,
		Add: func(_ int, made any) {
			p := made.(prepared)
			b.Add(p.asin, p.doc)
		},
		Finish: func() { s.Index = b.Index() },
	})
	if err != nil {
		return nil, err
	}
	s.stock(c)
	return s, nil
}

func (s *Shop) stock(c *catalog.Catalog) {
	s.Catalog, s.views = c, make([]atomic.Pointer[view], len(c.Products))
}

type prepared struct {
	asin string
	doc  *search.Document
}

// view returns product i's.
func (s *Shop) view(i int) *view {
	if v := s.views[i].Load(); v != nil {
		return v
	}
	p := page.Page{Kind: page.Item, Product: &s.Products[i], ShowAttributes: s.attrs}
	head := len("Instruction:" + page.Separator)
	v := &view{tail: p.Text()[head:], clickables: p.Clickables(), admissible: admissible(&p)}
	s.views[i].Store(v)
	return v
}

// Find searches products, best first.
func (s *Shop) Find(query string) []int32 {
	hits := s.Index.Search(query, searchReturns, s.ties)
	out := make([]int32, len(hits))
	for i, h := range hits {
		out[i] = int32(h.Doc)
	}
	return out
}

// ShowAttributes reports whether item pages have a button for attributes.
func (s *Shop) ShowAttributes() bool { return s.attrs }

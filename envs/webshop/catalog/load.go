package catalog

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"slices"
)

// keepDetails is the size of a product file, in bytes, up to which all long texts stay in memory.
// Those of a larger file are read from it when a page or a reward needs them.
const keepDetails = 64 << 20

// Catalog is the loaded stock. It is immutable, except that Close ends reading from the file.
type Catalog struct {
	Products []Product
	Digest   uint64 // of all data files read: equal files, equal digest

	byASIN ids
	file   io.ReaderAt
	close  func() error
}

// Files are the data files. Attributes and Human may be nil.
type Files struct {
	Products   File
	Attributes io.Reader // items_ins_v2…: attributes and synthetic instructions
	Human      io.Reader // items_human_ins: instructions by people
}

// File is a product file: Size and ReadAt are needed only for one of more than 64 MiB.
type File interface {
	io.Reader
	io.ReaderAt
}

// Config says how to load.
type Config struct {
	// Limit takes the first records of the product file only; 0 means all.
	Limit int
	// Size of the product file in bytes.
	Size int64
	// Prepare is called for each product in parallel, in no order, Add for each product that is taken, in
	// order and by one goroutine, with what Prepare made. Both may be nil. The details are valid only during
	// the call, and may lack the images.
	Prepare func(p *Product, d *Details) any
	Add     func(i int, prepared any)
	// Finish is called when all products are there, still as a part of loading; it may be nil.
	Finish func()
}

// Load reads the files. An error names the file, the byte and the record.
func Load(ctx context.Context, f Files, cfg Config) (*Catalog, error) {
	keep := cfg.Size <= keepDetails
	if !keep {
		defer Loading()()
	}
	l := &loader{cfg: cfg, keep: keep, shared: newTexts(), attributes: map[string]attributeEntry{}, human: map[string][]Instruction{}}
	sum := newSum()
	if err := readMap(ctx, f.Attributes, sum, l.attributes, func() func([]byte) (attributeEntry, error) { return attributeParser(newKeeper(l.shared)) }); err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	if err := readMap(ctx, f.Human, sum, l.human, func() func([]byte) ([]Instruction, error) { return humanParser(newKeeper(l.shared)) }); err != nil {
		return nil, fmt.Errorf("read human instructions: %w", err)
	}
	c := &Catalog{file: f.Products}
	l.catalog = c
	p := pipeline[read]{limit: cfg.Limit, worker: l.worker, add: l.add}
	if err := p.run(ctx, io.TeeReader(f.Products, sum)); err != nil {
		return nil, fmt.Errorf("read products: %w", err)
	}
	if len(c.Products) == 0 {
		return nil, errors.New("read products: the file holds none")
	}
	c.Digest = sum.Sum64()
	if cfg.Finish != nil {
		cfg.Finish()
	}
	return c, nil
}

// newSum makes what data files' bytes are summed up by.
func newSum() hash.Hash64 { return crc64.New(crc64.MakeTable(crc64.ECMA)) }

// loader makes a catalog.
type loader struct {
	cfg        Config
	keep       bool // the long texts
	shared     *texts
	attributes map[string]attributeEntry
	human      map[string][]Instruction
	catalog    *Catalog
}

// read is a product with what was prepared from it.
type read struct {
	product Product
	made    any
}

// worker parses products into memory that stays.
func (l *loader) worker() func(*element, *read) error {
	parser, keeper := newParser(l.keep), newKeeper(l.shared)
	return func(e *element, out *read) error {
		rec, err := parser.parse(e.raw)
		if errors.Is(err, errSkipped) {
			return err
		}
		if err != nil {
			return fmt.Errorf("record %d, at byte %d: %w", e.number, e.offset, err)
		}
		keeper.product(&rec.Product)
		if l.keep {
			rec.details = keeper.details(&rec.Details)
		} else {
			rec.offset, rec.length = e.offset, int32(len(e.raw))
		}
		*out = read{product: rec.Product}
		if l.cfg.Prepare != nil {
			out.made = l.cfg.Prepare(&out.product, &rec.Details)
		}
		return nil
	}
}

// add takes the next product, unless its id is known.
func (l *loader) add(e *element, r *read) {
	c := l.catalog
	if n := len(c.Products); n == cap(c.Products) && e.offset > 0 {
		// As many as the rest of the file may hold, and some more.
		expected := int(1.02*float64(n)*float64(l.cfg.Size)/float64(e.offset)) + batchSize
		if l.cfg.Limit > 0 {
			expected = min(expected, l.cfg.Limit)
		}
		c.Products = slices.Grow(c.Products, max(expected-n, n/4, 1))
	}
	c.Products = append(c.Products, r.product)
	i := len(c.Products) - 1
	if !c.byASIN.add(c.Products) {
		c.Products = c.Products[:i]
		return
	}
	c.Products[i].complete(l.attributes, l.human)
	if l.cfg.Add != nil {
		l.cfg.Add(i, r.made)
	}
}

// noAttributes are those of a product that the attribute file does not name.
var noAttributes = []string{"DUMMY_ATTR"}

// complete adds what the other files say of a product.
func (p *Product) complete(attributes map[string]attributeEntry, human map[string][]Instruction) {
	e, ok := attributes[p.ASIN]
	p.Attributes = e.attributes
	if !ok || !e.hasAttributes {
		p.Attributes = noAttributes
	}
	p.Instruction = e.instruction
	p.Human = human[p.ASIN]
}

// readMap reads a file that is one object.
func readMap[T any](ctx context.Context, r io.Reader, sum io.Writer, into map[string]T, worker func() func([]byte) (T, error)) error {
	if r == nil {
		return nil
	}
	p := pipeline[T]{
		worker: func() func(*element, *T) error {
			parse := worker()
			return func(e *element, out *T) (err error) {
				if *out, err = parse(e.raw); err != nil {
					return fmt.Errorf("byte %d, entry %q: %w", e.offset, e.key, err)
				}
				return nil
			}
		},
		add: func(e *element, v *T) { into[e.key] = *v },
	}
	return p.run(ctx, io.TeeReader(r, sum))
}

// Index finds a product by id; -1 where there is none.
func (c *Catalog) Index(asin string) int {
	if i, _, ok := c.byASIN.find(c.Products, asin); ok {
		return i
	}
	return -1
}

// Details are product i's long texts. An error means that the file could not be read again.
func (c *Catalog) Details(i int) (*Details, error) {
	p := &c.Products[i]
	if p.details != nil {
		return p.details, nil
	}
	raw := make([]byte, p.length)
	if _, err := c.file.ReadAt(raw, p.offset); err != nil {
		return nil, fmt.Errorf("read product %q: %w", p.ASIN, err)
	}
	rec, err := newParser(true).parse(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read product %q again: %w", p.ASIN, err)
	case rec.ASIN != p.ASIN:
		return nil, fmt.Errorf("read product %q again: the file has changed", p.ASIN)
	}
	d := rec.Details
	return &d, nil
}

// Close ends reading from the product file.
func (c *Catalog) Close() error {
	if c.close == nil {
		return nil
	}
	return c.close()
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"runtime"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness/envs/webshop/internal/jsonx"
)

// keepDetails is the size of a product file, in bytes, up to which all long texts stay in memory.
// Those of a larger file are read from it when a page or a reward needs them.
const keepDetails = 64 << 20

// batchSize is how many records a worker takes at a time.
const batchSize = 128

// Catalog is the loaded stock. It is immutable, except that Close ends reading from the file.
type Catalog struct {
	Products []Product
	Digest   uint64 // of all data files read: equal files, equal digest

	byASIN map[string]int32
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
	// order and by one goroutine, with what Prepare made. Both may be nil.
	Prepare func(p *Product, d *Details) any
	Add     func(i int, prepared any)
	// Finish is called when all products are there, still as a part of loading; it may be nil.
	Finish func()
}

// loadLimit is the memory from which on garbage is collected eagerly while a large file is loaded, in
// bytes: with Go's default alone, what is loaded would take its size twice.
const loadLimit = 3 << 30

// batch is a run of records on its way through a worker.
type batch struct {
	raws    [][]byte
	offsets []int64
	first   int
	out     []*record
	made    []any
	err     error
	done    chan struct{}
}

// Load reads the files. An error names the file, the byte and the record.
func Load(ctx context.Context, f Files, cfg Config) (*Catalog, error) {
	keep := cfg.Size <= keepDetails
	if !keep {
		before := debug.SetMemoryLimit(-1)
		debug.SetMemoryLimit(min(before, loadLimit))
		defer debug.SetMemoryLimit(before)
	}
	attributes, human := map[string]attributeEntry{}, map[string][]Instruction{}
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	if err := readMap(f.Attributes, sum, attributes, parseAttributes); err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	if err := readMap(f.Human, sum, human, parseHuman); err != nil {
		return nil, fmt.Errorf("read human instructions: %w", err)
	}
	c := &Catalog{byASIN: map[string]int32{}, file: f.Products}
	in := interner{}
	add := func(rec *record, made any, offset int64, length int) {
		if _, known := c.byASIN[rec.ASIN]; known {
			return
		}
		i := len(c.Products)
		c.byASIN[rec.ASIN] = int32(i)
		p := rec.Product
		in.product(&p)
		p.complete(attributes, human)
		if keep {
			p.details = &rec.Details
		} else {
			p.offset, p.length = offset, int32(length)
		}
		c.Products = append(c.Products, p)
		if cfg.Add != nil {
			cfg.Add(i, made)
		}
	}
	if err := readProducts(ctx, io.TeeReader(f.Products, sum), cfg, add); err != nil {
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

// complete adds what the other files say of a product.
func (p *Product) complete(attributes map[string]attributeEntry, human map[string][]Instruction) {
	e, ok := attributes[p.ASIN]
	p.Attributes = e.attributes
	if !ok || !e.hasAttributes {
		p.Attributes = []string{"DUMMY_ATTR"}
	}
	p.Instruction = e.instruction
	p.Human = human[p.ASIN]
}

// readMap reads a file that is one object.
func readMap[T any](r io.Reader, sum io.Writer, into map[string]T, parse func([]byte) (T, error)) error {
	if r == nil {
		return nil
	}
	s := jsonx.NewSplitter(io.TeeReader(r, sum))
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		v, err := parse(e.Raw)
		if err != nil {
			return fmt.Errorf("byte %d, entry %q: %w", e.Offset, e.Key, err)
		}
		into[e.Key] = v
	}
}

// readProducts cuts the file into records, has them parsed in parallel, and adds them in order.
func readProducts(ctx context.Context, r io.Reader, cfg Config, add func(*record, any, int64, int)) error {
	workers := runtime.GOMAXPROCS(0)
	eg, ctx := errgroup.WithContext(ctx)
	todo := make(chan *batch)
	order := make(chan *batch, 2*workers)
	eg.Go(func() error {
		defer close(todo)
		defer close(order)
		return cut(ctx, r, cfg.Limit, todo, order)
	})
	for range workers {
		eg.Go(func() error {
			for b := range todo {
				b.parse(cfg.Prepare)
				close(b.done)
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
			for i, rec := range b.out {
				if rec != nil {
					add(rec, b.made[i], b.offsets[i], len(b.raws[i]))
				}
			}
		}
		return nil
	})
	return eg.Wait()
}

// cut reads elements into batches.
func cut(ctx context.Context, r io.Reader, limit int, todo, order chan<- *batch) error {
	s := jsonx.NewSplitter(r)
	b := &batch{done: make(chan struct{})}
	send := func() error {
		for _, to := range []chan<- *batch{order, todo} {
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
		if end := errors.Is(err, io.EOF); end || err == nil && limit > 0 && n == limit {
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
		b.raws = append(b.raws, append([]byte(nil), e.Raw...))
		b.offsets = append(b.offsets, e.Offset)
		if len(b.raws) == batchSize {
			if err := send(); err != nil {
				return err
			}
			b = &batch{first: n + 1, done: make(chan struct{})}
		}
	}
}

func (b *batch) parse(prepare func(*Product, *Details) any) {
	b.out, b.made = make([]*record, len(b.raws)), make([]any, len(b.raws))
	for i, raw := range b.raws {
		rec, err := parseProduct(raw)
		if errors.Is(err, errSkipped) {
			continue
		}
		if err != nil {
			b.err = fmt.Errorf("record %d, at byte %d: %w", b.first+i, b.offsets[i], err)
			return
		}
		b.out[i] = rec
		if prepare != nil {
			b.made[i] = prepare(&rec.Product, &rec.Details)
		}
	}
}

// interner keeps one copy of texts that many products share.
type interner map[string]string

func (in interner) text(s string) string {
	if t, ok := in[s]; ok {
		return t
	}
	in[s] = s
	return s
}

func (in interner) product(p *Product) {
	p.Category, p.Query, p.ProductCategory = in.text(p.Category), in.text(p.Query), in.text(p.ProductCategory)
	for i := range p.Options {
		p.Options[i].Name = in.text(p.Options[i].Name)
		for j, v := range p.Options[i].Values {
			p.Options[i].Values[j] = in.text(v)
		}
	}
}

// Index finds a product by id; -1 where there is none.
func (c *Catalog) Index(asin string) int {
	if i, ok := c.byASIN[asin]; ok {
		return int(i)
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
	rec, err := parseProduct(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read product %q again: %w", p.ASIN, err)
	case rec.ASIN != p.ASIN:
		return nil, fmt.Errorf("read product %q again: the file has changed", p.ASIN)
	}
	return &rec.Details, nil
}

// Close ends reading from the product file.
func (c *Catalog) Close() error {
	if c.close == nil {
		return nil
	}
	return c.close()
}

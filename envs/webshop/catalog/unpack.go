package catalog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness/envs/webshop/internal/packed"
)

// Packed is a catalog as Pack wrote it, read but not yet made.
type Packed struct {
	Digest uint64 // of the data files that it was loaded from

	products int
	texts    []string   // shared
	numbers  [][]uint32 // of each chunk
	own      []string
}

// ReadPacked reads the columns. Their sizes are checked here, their values by the checksum when the
// reader is closed.
func ReadPacked(r *packed.Reader) (*Packed, error) {
	head := packed.Read[uint64](r)
	if r.Err() == nil && (len(head) != 2 || head[1] == 0 || head[1] > math.MaxInt32) {
		return nil, fmt.Errorf("%w: the catalog does not begin as it should", packed.ErrDamaged)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	p := &Packed{Digest: head[0], products: int(head[1])}
	for at := 0; at < p.products && r.Err() == nil; at += packChunk {
		p.numbers = append(p.numbers, packed.Read[uint32](r))
		p.own = append(p.own, text(packed.Read[byte](r)))
	}
	lengths, table := packed.Read[uint32](r), text(packed.Read[byte](r))
	if err := r.Err(); err != nil {
		return nil, err
	}
	p.texts = make([]string, len(lengths))
	for i, length := range lengths {
		if uint64(length) > uint64(len(table)) {
			return nil, fmt.Errorf("%w: the texts of the catalog are cut off", packed.ErrDamaged)
		}
		p.texts[i], table = table[:length], table[length:]
	}
	return p, nil
}

// text is b, which must not be written to any more.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Catalog makes the catalog; its long texts are read from the product file.
func (p *Packed) Catalog(ctx context.Context, paths Paths) (*Catalog, error) {
	products, err := os.Open(paths.Products)
	if err != nil {
		return nil, err
	}
	c := &Catalog{Products: make([]Product, p.products), Digest: p.Digest, file: products, close: products.Close}
	if err := p.fill(ctx, c); err != nil {
		return nil, errors.Join(err, products.Close())
	}
	return c, nil
}

func (p *Packed) fill(ctx context.Context, c *Catalog) error {
	eg, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		eg.Go(func() error {
			u := &unpacker{p: p}
			for {
				k := int(next.Add(1)) - 1
				from := k * packChunk
				if from >= len(c.Products) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := u.chunk(k, c.Products[from:min(from+packChunk, len(c.Products))]); err != nil {
					return err
				}
			}
		})
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	for i := range c.Products {
		if !c.byASIN.add(c.Products[:i+1]) {
			return fmt.Errorf("%w: product %q is there twice", packed.ErrDamaged, c.Products[i].ASIN)
		}
	}
	return nil
}

// unpacker reads a chunk of products.
type unpacker struct {
	p       *Packed
	numbers []uint32
	own     string
	arena   arena
	amounts []float64
	bad     bool
}

func (u *unpacker) chunk(k int, products []Product) error {
	u.numbers, u.own, u.bad = u.p.numbers[k], u.p.own[k], false
	for i := range products {
		u.product(&products[i])
	}
	if u.bad || len(u.numbers) > 0 || u.own != "" {
		return fmt.Errorf("%w: a chunk of products does not hold what it should", packed.ErrDamaged)
	}
	return nil
}

// next takes a number.
func (u *unpacker) next() uint32 {
	if len(u.numbers) == 0 {
		u.bad = true
		return 0
	}
	n := u.numbers[0]
	u.numbers = u.numbers[1:]
	return n
}

// count takes a number of things that take at least one number each.
func (u *unpacker) count() int {
	n := u.next()
	if uint64(n) > uint64(len(u.numbers)) {
		u.bad = true
		return 0
	}
	return int(n)
}

func (u *unpacker) text() string {
	n := u.next()
	if uint64(n) > uint64(len(u.own)) {
		u.bad = true
		return ""
	}
	s := u.own[:n]
	u.own = u.own[n:]
	return s
}

func (u *unpacker) share() string {
	n := u.next()
	if uint64(n) >= uint64(len(u.p.texts)) {
		u.bad = true
		return ""
	}
	return u.p.texts[n]
}

func (u *unpacker) list() []string {
	n := u.next()
	if n == 0 || uint64(n-1) > uint64(len(u.numbers)) {
		u.bad = u.bad || n > 0
		return nil
	}
	if n == 1 {
		return []string{}
	}
	out := take(&u.arena.lists, int(n-1), listBlock)
	for i := range out {
		out[i] = u.share()
	}
	return out
}

func (u *unpacker) instruction(in *Instruction) {
	in.Text, in.Attributes, in.Options = u.text(), u.list(), u.list()
}

// product reads what packer.product writes.
func (u *unpacker) product(q *Product) {
	q.offset = int64(u.next())
	q.offset |= int64(u.next()) << 32
	q.length = int32(u.next())
	q.ASIN, q.Title, q.MainImage = u.text(), u.text(), u.text()
	q.Category, q.Query, q.ProductCategory, q.Price = u.share(), u.share(), u.share(), u.share()
	q.Pricing = take(&u.amounts, u.count(), listBlock)
	for i := range q.Pricing {
		low := u.next()
		q.Pricing[i] = math.Float64frombits(uint64(low) | uint64(u.next())<<32)
	}
	if n := u.count(); n > 0 {
		q.Options = take(&u.arena.options, n, optionBlock)
	}
	for i := range q.Options {
		q.Options[i] = Option{u.share(), u.list()}
	}
	q.Attributes = u.list()
	if u.next() != 0 {
		q.Instruction = &take(&u.arena.instructions, 1, instructionBlock)[0]
		u.instruction(q.Instruction)
	}
	if n := u.count(); n > 0 {
		q.Human = make([]Instruction, n)
	}
	for i := range q.Human {
		u.instruction(&q.Human[i])
	}
}

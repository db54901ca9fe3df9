package catalog

import (
	"math"
	"slices"
	"unsafe"

	"github.com/hindsightrl/harness/envs/webshop/internal/packed"
)

// Format is the version of what Pack writes, and of how records are read: a catalog of another version
// must be loaded anew.
const Format = 1

// packChunk is how many products are unpacked at a time.
const packChunk = 4096

// packer turns products into columns of numbers. A text is a number of the table of shared texts, except
// those that each product has for itself: they lie one after another, with their lengths among the
// numbers.
type packer struct {
	numbers []uint32
	own     []byte

	table   []byte // shared texts
	lengths []uint32
	known   map[*byte]uint32 // numbers of shared texts by where they lie; nil for the empty one
}

// Pack writes a catalog whose long texts are read from its file. It holds a chunk at a time.
func (c *Catalog) Pack(w *packed.Writer) {
	packed.Write(w, []uint64{c.Digest, uint64(len(c.Products))})
	p := &packer{known: map[*byte]uint32{}}
	for chunk := range slices.Chunk(c.Products, packChunk) {
		p.numbers, p.own = p.numbers[:0], p.own[:0]
		for i := range chunk {
			p.product(&chunk[i])
		}
		packed.Write(w, p.numbers)
		packed.Write(w, p.own)
	}
	packed.Write(w, p.lengths)
	packed.Write(w, p.table)
}

func (p *packer) add(n ...uint32) { p.numbers = append(p.numbers, n...) }

// text adds a text of the product's own.
func (p *packer) text(s string) {
	p.add(uint32(len(s)))
	p.own = append(p.own, s...)
}

// share adds a text that many products share. Texts are told apart by where they lie, which is
// quick; one that lies in two places is written twice.
func (p *packer) share(s string) {
	at := unsafe.StringData(s)
	if s == "" {
		at = nil
	}
	n, ok := p.known[at]
	if !ok || int(p.lengths[n]) != len(s) {
		n = uint32(len(p.lengths))
		p.known[at] = n
		p.lengths = append(p.lengths, uint32(len(s)))
		p.table = append(p.table, s...)
	}
	p.add(n)
}

// list adds a list of shared texts: its length plus one, or 0 for nil.
func (p *packer) list(list []string) {
	if list == nil {
		p.add(0)
		return
	}
	p.add(uint32(len(list) + 1))
	for _, s := range list {
		p.share(s)
	}
}

func (p *packer) instruction(in *Instruction) {
	p.text(in.Text)
	p.list(in.Attributes)
	p.list(in.Options)
}

// product writes what unpacker.product reads.
func (p *packer) product(q *Product) {
	p.add(uint32(q.offset), uint32(q.offset>>32), uint32(q.length))
	p.text(q.ASIN)
	p.text(q.Title)
	p.text(q.MainImage)
	p.share(q.Category)
	p.share(q.Query)
	p.share(q.ProductCategory)
	p.share(q.Price)
	p.add(uint32(len(q.Pricing)))
	for _, amount := range q.Pricing {
		bits := math.Float64bits(amount)
		p.add(uint32(bits), uint32(bits>>32))
	}
	p.add(uint32(len(q.Options)))
	for _, o := range q.Options {
		p.share(o.Name)
		p.list(o.Values)
	}
	p.list(q.Attributes)
	if q.Instruction == nil {
		p.add(0)
	} else {
		p.add(1)
		p.instruction(q.Instruction)
	}
	p.add(uint32(len(q.Human)))
	for i := range q.Human {
		p.instruction(&q.Human[i])
	}
}

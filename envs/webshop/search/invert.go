package search

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// part is a run of blocks that one goroutine goes through.
type part struct {
	blocks [][]uint32
	docs   []int
	first  int // document
	counts []uint32
	starts []uint32          // of each term: its postings in this part, and then where the next one goes
	big    map[uint64]uint32 // as the index's
}

// maxParts bounds the memory that parts take for each term.
const maxParts = 8

// parts cuts the documents, in order.
func (b *Builder) parts() []*part {
	n := max(min(runtime.GOMAXPROCS(0), maxParts, len(b.blocks)), 1)
	out, doc, from := make([]*part, n), 0, 0
	for i := range out {
		to := len(b.blocks) * (i + 1) / n
		p := &part{blocks: b.blocks[from:to], docs: b.docs[from:to], first: doc, counts: b.counts, starts: make([]uint32, b.terms.words), big: map[uint64]uint32{}}
		for _, docs := range p.docs {
			doc += docs
		}
		out[i], from = p, to
	}
	return out
}

// each calls f for the terms of the part's documents, in order. With free it drops what it has passed.
func (p *part) each(free bool, f func(doc int, id, count uint32)) {
	doc := p.first
	for k, block := range p.blocks {
		for range p.docs[k] {
			entries := block[:p.counts[doc]]
			block = block[len(entries):]
			for i := 0; i < len(entries); i++ {
				id, n := entries[i]>>8, entries[i]&0xff
				if n == 0 {
					i++
					n = entries[i]
				}
				f(doc, id, n)
			}
			doc++
		}
		if free {
			p.blocks[k] = nil
		}
	}
}

// Index makes the index. The builder cannot be used any more.
func (b *Builder) Index() *Index {
	n := len(b.ids)
	x := &Index{terms: b.terms, norms: b.norms, docs: n, big: map[uint64]uint32{}}
	x.shift = min(uint(32-bits.Len(uint(max(n, 1)))), 16)
	x.starts = make([]uint32, b.terms.words+1)
	parts := b.parts()
	parallel(len(parts), func(i int) {
		p := parts[i]
		p.each(false, func(_ int, id, _ uint32) { p.starts[id]++ })
	})
	// Each term's postings lie together, part after part.
	at := uint32(0)
	for id := range b.terms.words {
		x.starts[id] = at
		for _, p := range parts {
			at, p.starts[id] = at+p.starts[id], at
		}
	}
	x.starts[b.terms.words] = at
	x.postings = make([]uint32, at)
	ids := b.ids
	parallel(len(parts)+1, func(i int) {
		if i == len(parts) {
			x.rank(ids)
			return
		}
		parts[i].fill(x)
	})
	for _, p := range parts {
		maps.Copy(x.big, p.big)
	}
	x.weigh(b.tokens)
	x.bound()
	*b = Builder{}
	return x
}

// fill writes the part's postings.
func (p *part) fill(x *Index) {
	limit := uint32(1)<<x.shift - 1
	p.each(true, func(doc int, id, count uint32) {
		if count >= limit {
			p.big[uint64(id)<<32|uint64(doc)] = count
			count = limit
		}
		x.postings[p.starts[id]] = uint32(doc)<<x.shift | count
		p.starts[id]++
	})
}

// parallel calls f with 0 to n-1, each in a goroutine, and waits for all.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// boundTerms is how many terms a goroutine takes at a time.
const boundTerms = 1 << 12

// bound finds, for each term, the largest share of its weight that any document gets.
func (x *Index) bound() {
	x.most = make([]float32, x.terms.words)
	var next atomic.Int64
	parallel(runtime.GOMAXPROCS(0), func(int) {
		for {
			from := int(next.Add(boundTerms)) - boundTerms
			if from >= len(x.most) {
				return
			}
			for id := from; id < min(from+boundTerms, len(x.most)); id++ {
				most := float32(0)
				for _, p := range x.postings[x.starts[id]:x.starts[id+1]] {
					most = max(most, x.factor(uint32(id), p))
				}
				x.most[id] = most
			}
		}
	})
}

// rank numbers documents by id, for ties.
func (x *Index) rank(ids []string) {
	// The first bytes decide between nearly all.
	type key struct {
		head uint64
		doc  int32
	}
	order := make([]key, len(ids))
	for i, id := range ids {
		var head [8]byte
		copy(head[:], id)
		order[i] = key{binary.BigEndian.Uint64(head[:]), int32(i)}
	}
	slices.SortFunc(order, func(a, b key) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return strings.Compare(ids[a.doc], ids[b.doc])
	})
	x.byID = make([]int32, len(ids))
	for rank, k := range order {
		x.byID[k.doc] = int32(rank)
	}
}

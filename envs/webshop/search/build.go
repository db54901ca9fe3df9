package search

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// Builder makes an Index. Prepare may be called in parallel; Add and Index by one goroutine.
type Builder struct {
	mu    sync.RWMutex
	terms map[string]uint32
	pool  sync.Pool // *worker

	flat   []uint32 // for each document its distinct terms with their counts: id<<8 | count, or id<<8 | 0 and then the count
	ends   []int    // of each document in flat
	ids    []string
	norms  []byte
	tokens int64 // in all documents
}

// worker keeps what analysing needs from one document to the next.
type worker struct {
	analyzer analyzer
	known    map[string]uint32 // raw tokens seen before; stopWord for stop words
	counts   map[uint32]uint32
}

// stopWord marks a token without a term.
const stopWord = math.MaxUint32

// maxKnown bounds a worker's memory of tokens.
const maxKnown = 1 << 18

// NewBuilder makes an empty one.
func NewBuilder() *Builder {
	b := &Builder{terms: map[string]uint32{}}
	b.pool.New = func() any { return &worker{known: map[string]uint32{}, counts: map[uint32]uint32{}} }
	return b
}

// Document is an analysed text.
type Document struct {
	entries []uint32
	length  int // tokens
}

// Prepare analyses a document.
func (b *Builder) Prepare(text string) *Document {
	w := b.pool.Get().(*worker)
	defer b.pool.Put(w)
	if len(w.known) > maxKnown {
		clear(w.known)
	}
	clear(w.counts)
	d := &Document{}
	for t := (tokenizer{s: text}); ; {
		start, end, ok := t.next()
		if !ok {
			break
		}
		token := text[start:end]
		id, ok := w.known[token]
		if !ok {
			id = b.id(w.analyzer.term(token))
			w.known[strings.Clone(token)] = id
		}
		if id != stopWord {
			w.counts[id]++
			d.length++
		}
	}
	d.entries = make([]uint32, 0, len(w.counts))
	for id, n := range w.counts {
		if n < 256 {
			d.entries = append(d.entries, id<<8|n)
		} else {
			d.entries = append(d.entries, id<<8, n)
		}
	}
	return d
}

// id gives a term its number.
func (b *Builder) id(term []byte) uint32 {
	if term == nil {
		return stopWord
	}
	b.mu.RLock()
	id, ok := b.terms[string(term)]
	b.mu.RUnlock()
	if ok {
		return id
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if id, ok = b.terms[string(term)]; !ok {
		id = uint32(len(b.terms))
		b.terms[string(term)] = id
	}
	return id
}

// Add appends a document under an id, by which ties are broken.
func (b *Builder) Add(id string, d *Document) {
	b.flat = append(b.flat, d.entries...)
	b.ends = append(b.ends, len(b.flat))
	b.ids = append(b.ids, id)
	b.norms = append(b.norms, lengthByte(d.length))
	b.tokens += int64(d.length)
}

// each calls f for the terms of document i.
func (b *Builder) each(i int, f func(id, count uint32)) {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	for k := start; k < b.ends[i]; k++ {
		id, n := b.flat[k]>>8, b.flat[k]&0xff
		if n == 0 {
			k++
			n = b.flat[k]
		}
		f(id, n)
	}
}

// Index makes the index. The builder cannot be used any more.
func (b *Builder) Index() *Index {
	n := len(b.ids)
	x := &Index{terms: b.terms, norms: b.norms, docs: n, big: map[uint64]uint32{}}
	x.shift = min(uint(32-bits.Len(uint(max(n, 1)))), 16)
	x.starts = make([]uint32, len(b.terms)+1)
	for i := range n {
		b.each(i, func(id, _ uint32) { x.starts[id+1]++ })
	}
	for i := 1; i < len(x.starts); i++ {
		x.starts[i] += x.starts[i-1]
	}
	x.postings = make([]uint32, x.starts[len(x.starts)-1])
	at := slices.Clone(x.starts)
	limit := uint32(1)<<x.shift - 1
	for i := range n {
		b.each(i, func(id, count uint32) {
			if count >= limit {
				x.big[uint64(id)<<32|uint64(i)] = count
				count = limit
			}
			x.postings[at[id]] = uint32(i)<<x.shift | count
			at[id]++
		})
	}
	x.rank(b.ids)
	x.weigh(b.tokens)
	b.flat, b.ends, b.terms, b.ids = nil, nil, nil, nil
	return x
}

// rank numbers documents by id, for ties.
func (x *Index) rank(ids []string) {
	order := make([]int32, len(ids))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(ids[a], ids[b]) })
	x.byID = make([]int32, len(ids))
	for rank, i := range order {
		x.byID[i] = int32(rank)
	}
}

// freeValues is how many lengths have a byte of their own.
const freeValues = 24

// lengthByte is Lucene's SmallFloat.intToByte4: exact below 40, then with four significant bits.
func lengthByte(n int) byte {
	if n < freeValues {
		return byte(n)
	}
	v := n - freeValues
	width := bits.Len(uint(v))
	if width < 4 {
		return byte(freeValues + v)
	}
	shift := width - 4
	return byte(freeValues + (v>>shift)&7 + (shift+1)<<3)
}

// byteLength is the length that a byte stands for.
func byteLength(b byte) int {
	if b < freeValues {
		return int(b)
	}
	v := int(b) - freeValues
	mantissa, shift := v&7, v>>3-1
	if shift < 0 {
		return freeValues + mantissa
	}
	return freeValues + (mantissa|8)<<shift
}

package search

import (
	"math"
	"math/bits"
	"sync"
)

// Builder makes an Index. Prepare may be called in parallel; Add and Index by one goroutine.
type Builder struct {
	mu    sync.RWMutex
	terms lexicon
	pool  sync.Pool // *worker

	// For each document its distinct terms with their counts: id<<8 | count, or id<<8 | 0 and then the count.
	// Blocks are freed while the index is made, so that both do not lie in memory at a time.
	blocks [][]uint32
	docs   []int    // documents in each block
	counts []uint32 // of each document, entries
	ids    []string
	norms  []byte
	tokens int64 // in all documents
}

// worker keeps what analysing needs from one document to the next.
type worker struct {
	analyzer analyzer
	frequent frequent
	known    lexicon  // tokens seen before, with their terms; stopWord for stop words
	counts   []uint32 // of each term in the document at hand; zero between documents
	touched  []uint32 // terms with a count
}

// blockSize is how many entries a block holds: 4 MiB.
const blockSize = 1 << 20

// stopWord marks a token without a term.
const stopWord = math.MaxUint32 - 1

// maxKnown bounds a worker's memory of tokens.
const maxKnown = 1 << 20

// NewBuilder makes an empty one.
func NewBuilder() *Builder {
	b := &Builder{}
	b.pool.New = func() any { return &worker{} }
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
	if w.known.words > maxKnown {
		w.known.clear()
	}
	w.touched = w.touched[:0]
	d := &Document{}
	for t := (tokenizer{s: text}); ; {
		start, end, ok := t.next()
		if !ok {
			break
		}
		id := w.id(b, text[start:end])
		if id != stopWord {
			w.count(id)
			d.length++
		}
	}
	d.entries = make([]uint32, 0, len(w.touched))
	for _, id := range w.touched {
		n := w.counts[id]
		w.counts[id] = 0
		if n < 256 {
			d.entries = append(d.entries, id<<8|n)
		} else {
			d.entries = append(d.entries, id<<8, n)
		}
	}
	return d
}

// id is the number of a token's term.
func (w *worker) id(b *Builder, token string) uint32 {
	h := hash(token)
	id, ok := w.frequent.number(token, h)
	if ok {
		return id
	}
	if id, ok = w.known.numberOf(token, h); !ok {
		id = b.id(w.analyzer.term(token))
		w.known.add(token, id)
	}
	w.frequent.put(token, h, id)
	return id
}

// count adds an occurrence of a term.
func (w *worker) count(id uint32) {
	if int(id) >= len(w.counts) {
		w.counts = append(w.counts, make([]uint32, int(id)+1024-len(w.counts))...)
	}
	if w.counts[id] == 0 {
		w.touched = append(w.touched, id)
	}
	w.counts[id]++
}

// id gives a term its number.
func (b *Builder) id(term []byte) uint32 {
	if term == nil {
		return stopWord
	}
	b.mu.RLock()
	id, ok := b.terms.number(string(term))
	b.mu.RUnlock()
	if ok {
		return id
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if id, ok = b.terms.number(string(term)); !ok {
		id = uint32(b.terms.words)
		b.terms.add(string(term), id)
	}
	return id
}

// Add appends a document under an id, by which ties are broken.
func (b *Builder) Add(id string, d *Document) {
	last := len(b.blocks) - 1
	if last < 0 || len(b.blocks[last])+len(d.entries) > cap(b.blocks[last]) {
		b.blocks = append(b.blocks, make([]uint32, 0, max(blockSize, len(d.entries))))
		b.docs = append(b.docs, 0)
		last++
	}
	b.blocks[last] = append(b.blocks[last], d.entries...)
	b.docs[last]++
	b.counts = append(b.counts, uint32(len(d.entries)))
	b.ids = append(b.ids, id)
	b.norms = append(b.norms, lengthByte(d.length))
	b.tokens += int64(d.length)
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

package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hindsightrl/harness/internal/errext"
)

// BM25's parameters, as Anserini sets them.
const (
	k1 = float32(0.9)
	b0 = float32(0.4)
)

// Ties says in which order products of equal score come.
type Ties string

// The orders.
const (
	// ByID is that of pyserini 0.17, which the original names.
	ByID Ties = "docid"
	// ByIndex is that of later versions: as the products lie in the file.
	ByIndex Ties = "index"
)

// ParseTies reads the name of an order.
func ParseTies(s string) (Ties, error) {
	if t := Ties(s); t == ByID || t == ByIndex {
		return t, nil
	}
	return "", errext.WithHint(fmt.Errorf("no order of ties %q", s), "there are docid and index")
}

// Index is an inverted index in memory: about five bytes for each distinct term of each document.
type Index struct {
	terms    lexicon
	starts   []uint32 // of each term's postings
	postings []uint32 // document<<shift | count, by document
	big      map[uint64]uint32
	shift    uint
	docs     int
	norms    []byte    // of each document, its length
	byID     []int32   // each document's rank by id
	most     []float32 // of each term, the largest factor; see factor
	cache    [256]float32
	pool     sync.Pool // *scratch
}

// Hit is a found document.
type Hit struct {
	Doc   int // in the order of Add
	Score float32
}

// Docs is the number of documents.
func (x *Index) Docs() int { return x.docs }

// Terms is the number of distinct terms.
func (x *Index) Terms() int { return x.terms.words }

// weigh fills the table of length normalisation: Lucene's cache of 1 / (k1 · ((1-b) + b · dl/avgdl)).
func (x *Index) weigh(tokens int64) {
	average := float32(float64(tokens) / float64(max(x.docs, 1)))
	for i := range x.cache {
		x.cache[i] = 1 / (k1 * ((1 - b0) + b0*float32(byteLength(byte(i)))/average))
	}
	x.pool.New = func() any { return &scratch{} }
}

// scratch is what one search needs.
type scratch struct {
	analyzer analyzer
	query    []queryTerm
	seen     map[string]int
	sums     [window]float64
	heap     []scored
	touched  []int32
}

// queryTerm is a distinct term of a query.
type queryTerm struct {
	postings []uint32
	id       uint32
	count    float32 // in the query
	weight   float32
	most     float64 // no document scores more by this term
}

// window is how many documents are scored at a time: their sums stay in the processor's cache.
const window = 8192

// Search returns the k best documents, best first. Ties are broken as ties says.
func (x *Index) Search(query string, k int, ties Ties) []Hit {
	s := x.pool.Get().(*scratch)
	defer x.pool.Put(s)
	x.parse(s, query)
	if len(s.query) == 0 || k <= 0 {
		return nil
	}
	x.score(s, k, ties)
	slices.SortFunc(s.heap, func(a, b scored) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return cmp.Compare(a.tie, b.tie)
	})
	hits := make([]Hit, len(s.heap))
	for i, h := range s.heap {
		hits[i] = Hit{Doc: int(h.doc), Score: h.score}
	}
	return hits
}

// parse analyses the query and looks its terms up. A term that occurs n times weighs n times as much.
func (x *Index) parse(s *scratch, query string) {
	s.query = s.query[:0]
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	clear(s.seen)
	s.analyzer.each(query, func(term []byte) {
		if i, ok := s.seen[string(term)]; ok {
			if i >= 0 {
				s.query[i].count++
			}
			return
		}
		id, ok := x.terms.number(string(term))
		if !ok {
			s.seen[string(term)] = -1
			return
		}
		s.seen[string(term)] = len(s.query)
		s.query = append(s.query, queryTerm{id: id, count: 1, postings: x.postings[x.starts[id]:x.starts[id+1]]})
	})
	for i := range s.query {
		t := &s.query[i]
		df := float64(len(t.postings))
		t.weight = t.count * float32(math.Log(1+(float64(x.docs)-df+0.5)/(df+0.5)))
		t.most = float64(t.weight - t.weight/(1+x.most[t.id]))
	}
	// Terms that can add much first: they decide, the others then add to few.
	slices.SortStableFunc(s.query, func(a, b queryTerm) int { return cmp.Compare(b.most, a.most) })
}

// factor is what a posting's share grows with: the count over the normalised length.
func (x *Index) factor(id, posting uint32) float32 {
	doc := posting >> x.shift
	count := posting & (1<<x.shift - 1)
	if count == 1<<x.shift-1 {
		count = x.big[uint64(id)<<32|uint64(doc)]
	}
	return float32(count) * x.cache[x.norms[doc]]
}

// part is one term's share of a document's score, in Lucene's arithmetic.
func (x *Index) part(t *queryTerm, posting uint32) float64 {
	return float64(t.weight - t.weight/(1+x.factor(t.id, posting)))
}

// score fills the heap with the k best. Documents are taken window by window; within one, terms in
// order of weight. As soon as the terms that are left cannot lift a new document into the k best, they
// are added only to documents that have a sum already.
func (x *Index) score(s *scratch, k int, ties Ties) {
	s.heap = s.heap[:0]
	rest := make([]float64, len(s.query)+1) // what the terms from i on can add at most
	for i := len(s.query) - 1; i >= 0; i-- {
		rest[i] = rest[i+1] + s.query[i].most
	}
	for base := 0; base < x.docs; base += window {
		end := uint32(min(base+window, x.docs))
		s.touched = s.touched[:0]
		i := 0
		for ; i < len(s.query); i++ {
			if len(s.heap) == k && rest[i] < s.floor() {
				break
			}
			x.addAll(s, &s.query[i], uint32(base), end)
		}
		for ; i < len(s.query); i++ {
			x.addTouched(s, &s.query[i], uint32(base), end, rest[i], k)
		}
		for _, local := range s.touched {
			sum := s.sums[local]
			s.sums[local] = 0
			s.offer(scored{score: float32(sum), doc: int32(base) + local}, k, x, ties)
		}
	}
}

// floor is below every sum that rounds to the worst kept score.
func (s *scratch) floor() float64 { return float64(s.heap[0].score) * (1 - 1e-6) }

// addAll adds a term's shares to all documents of the window that have it.
func (x *Index) addAll(s *scratch, t *queryTerm, base, end uint32) {
	for n, p := range t.postings {
		doc := p >> x.shift
		if doc >= end {
			t.postings = t.postings[n:]
			return
		}
		local := doc - base
		if s.sums[local] == 0 {
			s.touched = append(s.touched, int32(local))
		}
		s.sums[local] += x.part(t, p)
	}
	t.postings = nil
}

// addTouched adds a term's shares to documents that have a sum and can still get into the k best; rest
// is what this and all later terms can add.
func (x *Index) addTouched(s *scratch, t *queryTerm, base, end uint32, rest float64, k int) {
	bound := s.floor() - rest
	kept := s.touched[:0]
	for _, local := range s.touched {
		if s.sums[local] < bound {
			s.sums[local] = 0
		} else {
			kept = append(kept, local)
		}
	}
	s.touched = kept
	if len(kept) == 0 {
		t.postings = skipTo(t.postings, end, x.shift)
		return
	}
	beyond := skipTo(t.postings, end, x.shift)
	here := t.postings[:len(t.postings)-len(beyond)]
	t.postings = beyond
	if len(here) < scanRatio*len(kept) {
		for _, p := range here {
			if local := p>>x.shift - base; s.sums[local] != 0 {
				s.sums[local] += x.part(t, p)
			}
		}
		return
	}
	slices.Sort(kept)
	for _, local := range kept {
		doc := base + uint32(local)
		if here = skipTo(here, doc, x.shift); len(here) == 0 {
			return
		}
		if p := here[0]; p>>x.shift == doc {
			s.sums[local] += x.part(t, p)
		}
	}
}

// scanRatio is how many postings are passed over in the time that jumping to one takes.
const scanRatio = 24

// skipTo leaves out postings of documents before doc, in steps that double.
func skipTo(postings []uint32, doc uint32, shift uint) []uint32 {
	if len(postings) == 0 || postings[0]>>shift >= doc {
		return postings
	}
	step := 1
	for step < len(postings) && postings[step]>>shift < doc {
		step *= 2
	}
	lo := step / 2
	n, _ := slices.BinarySearchFunc(postings[lo:min(step+1, len(postings))], doc, func(p, d uint32) int { return cmp.Compare(p>>shift, d) })
	return postings[lo+n:]
}

// scored is a candidate; the heap's first is the worst.
type scored struct {
	score float32
	doc   int32
	tie   int32
}

func (s scored) worse(o scored) bool {
	return s.score < o.score || s.score == o.score && s.tie > o.tie
}

// offer keeps the k best.
func (s *scratch) offer(c scored, k int, x *Index, ties Ties) {
	if len(s.heap) == k && c.score < s.heap[0].score {
		return
	}
	c.tie = c.doc
	if ties != ByIndex {
		c.tie = x.byID[c.doc]
	}
	h := s.heap
	if len(h) < k {
		h = append(h, c)
		for i := len(h) - 1; i > 0; {
			up := (i - 1) / 2
			if !h[i].worse(h[up]) {
				break
			}
			h[i], h[up] = h[up], h[i]
			i = up
		}
		s.heap = h
		return
	}
	if !h[0].worse(c) {
		return
	}
	h[0] = c
	for i := 0; ; {
		down := 2*i + 1
		if down >= k {
			return
		}
		if down+1 < k && h[down+1].worse(h[down]) {
			down++
		}
		if !h[down].worse(h[i]) {
			return
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}

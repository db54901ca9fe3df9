package ngram

import (
	"fmt"
	"math"
)

// Discount is what every seen n-gram gives up for the unseen ones.
const Discount = 0.5

// Table is a decoded model. Per context h of k tokens with count N and T different followers
//
//	P(w|h) = max(c(hw) − d, 0)/N + (dT/N)·P(w|h') ,  P(w|·) = max(c(w) − d, 0)/N + (dT/N)/V
//
// where h' is h without its oldest token, d is Discount and V the size of the vocabulary. Every token
// has a positive probability and the sum over the vocabulary is 1. A Table is immutable.
type Table struct {
	tree
	prob  []float64 // by node: P(last token | the tokens before it)
	back  []float64 // by context node: dT/N, what a follower not seen here keeps of its lower-order probability
	ent   []float64 // by context node: Σ P ln P over the whole vocabulary, at most 0
	peak  []float64 // by context node: the largest probability of a follower
	base  []float64 // by token: order 0
	cum   []float64 // by token: Σ base of the tokens up to and with it
	edges edgeTable
}

// Load decodes what Counts.Encode wrote.
func Load(data []byte, vocabulary int) (*Table, error) {
	t, err := decode(data, vocabulary)
	if err != nil {
		return nil, err
	}
	if len(t.token) == 1 {
		return nil, fmt.Errorf("load n-grams: the table is empty")
	}
	n := len(t.token)
	m := &Table{tree: *t, prob: make([]float64, n), back: make([]float64, n), ent: make([]float64, n), peak: make([]float64, n)}
	m.edges = newEdgeTable(n)
	for node := range n {
		for c := m.start[node]; c < m.start[node+1]; c++ {
			m.edges.add(int32(node), m.token[c], c)
		}
	}
	m.fillRoot(vocabulary)
	suffix := m.suffixes()
	for node := 1; node < n; node++ {
		if m.start[node] < m.start[node+1] {
			m.fill(int32(node), suffix)
		}
	}
	return m, nil
}

// total returns the count of a context and the number of its followers.
func (m *Table) total(node int32) (count, followers float64) {
	for c := m.start[node]; c < m.start[node+1]; c++ {
		count += float64(m.count[c])
	}
	return count, float64(m.start[node+1] - m.start[node])
}

func (m *Table) fillRoot(vocabulary int) {
	n, t := m.total(0)
	m.base, m.cum = make([]float64, vocabulary), make([]float64, vocabulary)
	m.back[0] = Discount * t / n
	for i := range m.base {
		m.base[i] = m.back[0] / float64(vocabulary)
	}
	for c := m.start[0]; c < m.start[1]; c++ {
		m.base[m.token[c]] += (float64(m.count[c]) - Discount) / n
		m.prob[c] = m.base[m.token[c]]
	}
	sum := 0.0
	for i, p := range m.base {
		sum += p
		m.cum[i] = sum
		m.ent[0] += p * math.Log(p)
		m.peak[0] = max(m.peak[0], p)
	}
}

// suffixes returns for each node the node of the same n-gram without its oldest token. It is there
// whenever the longer one is, for shorter n-grams are counted at least as often and pruned no earlier.
func (m *Table) suffixes() []int32 {
	out := make([]int32, len(m.token))
	for node := range m.token {
		for c := m.start[node]; c < m.start[node+1]; c++ {
			if node > 0 {
				out[c] = m.edges.find(out[node], m.token[c])
			}
		}
	}
	return out
}

// fill computes a context's probabilities from those of its suffix, which has a smaller number.
func (m *Table) fill(node int32, suffix []int32) {
	n, t := m.total(node)
	back := Discount * t / n
	low := suffix[node]
	m.back[node] = back
	seen, seenLog, own := 0.0, 0.0, 0.0
	for c := m.start[node]; c < m.start[node+1]; c++ {
		q := m.prob[suffix[c]]
		p := (float64(m.count[c])-Discount)/n + back*q
		m.prob[c] = p
		m.peak[node] = max(m.peak[node], p)
		seen += q
		seenLog += q * math.Log(q)
		own += p * math.Log(p)
	}
	rest, restLog := max(1-seen, 0), m.ent[low]-seenLog
	m.ent[node] = own + back*math.Log(back)*rest + back*restLog
}

// edgeTable maps (node, token) to the child node: open addressing, linear probing.
type edgeTable struct {
	shift uint
	keys  []uint64 // node<<16 | token, plus 1; 0 is free
	child []int32
}

func newEdgeTable(n int) edgeTable {
	bits := uint(1)
	for 1<<bits < 2*n {
		bits++
	}
	return edgeTable{shift: 64 - bits, keys: make([]uint64, 1<<bits), child: make([]int32, 1<<bits)}
}

func (e *edgeTable) add(node, token, child int32) {
	key := uint64(node)<<16 | uint64(token) + 1
	at := key * 0x9e3779b97f4a7c15 >> e.shift
	for e.keys[at] != 0 {
		at = (at + 1) & uint64(len(e.keys)-1)
	}
	e.keys[at], e.child[at] = key, child
}

// find returns the child, 0 (the root, nobody's child) for none.
func (e *edgeTable) find(node, token int32) int32 {
	key := uint64(node)<<16 | uint64(token) + 1
	for at := key * 0x9e3779b97f4a7c15 >> e.shift; ; at = (at + 1) & uint64(len(e.keys)-1) {
		switch e.keys[at] {
		case key:
			return e.child[at]
		case 0:
			return 0
		}
	}
}

// Package ngram is the reference model's static part: an n-gram model with interpolated absolute
// discounting whose probabilities, sampling and entropies are exact and need no pass over the
// vocabulary.
package ngram

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// Order is the longest context, in tokens.
const Order = 5

// Counts collects n-gram counts as a tree: the path from the root spells an n-gram, oldest token
// first.
type Counts struct{ root countNode }

type countNode struct {
	count uint32
	next  map[int32]*countNode
}

func (n *countNode) child(id int32) *countNode {
	if n.next == nil {
		n.next = make(map[int32]*countNode)
	}
	c := n.next[id]
	if c == nil {
		c = new(countNode)
		n.next[id] = c
	}
	return c
}

// Add counts each token of seq after each of its contexts.
func (c *Counts) Add(seq []int32) {
	for i := range seq {
		for k := 0; k <= min(Order, i); k++ {
			node := &c.root
			for _, id := range seq[i-k : i+1] {
				node = node.child(id)
			}
			node.count++
		}
	}
}

// Prune drops the n-grams of contexts longer than keep tokens that were seen fewer than least times,
// and what hangs on them.
func (c *Counts) Prune(keep int, least uint32) { c.root.prune(0, keep, least) }

func (n *countNode) prune(depth, keep int, least uint32) {
	for id, child := range n.next {
		if depth > keep && child.count < least {
			delete(n.next, id)
			continue
		}
		child.prune(depth+1, keep, least)
	}
}

// Encode writes the tree breadth first: per node the number of children, then for each child, by
// rising id, the id's difference to the one before and the count, all as varints.
func (c *Counts) Encode() []byte {
	var out []byte
	level := []*countNode{&c.root}
	for range Order + 1 {
		var below []*countNode
		for _, n := range level {
			out = binary.AppendUvarint(out, uint64(len(n.next)))
			last := int32(0)
			for _, id := range slices.Sorted(maps.Keys(n.next)) {
				out = binary.AppendUvarint(out, uint64(id-last))
				out = binary.AppendUvarint(out, uint64(n.next[id].count))
				below, last = append(below, n.next[id]), id
			}
		}
		level = below
	}
	return out
}

// tree is what Encode wrote, flat: the children of a node are neighbours, by rising id.
type tree struct {
	token []int32
	count []uint32
	start []int32 // first child; the children of node i are start[i] … start[i+1]-1
	depth []uint8
}

// decode reads an encoded tree and checks that every id is below vocabulary and every list in bounds.
func decode(data []byte, vocabulary int) (*tree, error) {
	t := &tree{token: []int32{-1}, count: []uint32{0}, depth: []uint8{0}}
	r := reader{data: data}
	for node := 0; node < len(t.token) && t.depth[node] <= Order; node++ {
		t.start = append(t.start, int32(len(t.token)))
		n, id := r.uvarint(), uint64(0)
		if r.bad || n > uint64(vocabulary) {
			return nil, fmt.Errorf("decode n-grams: node %d has a broken list", node)
		}
		for i := range n {
			step := r.uvarint()
			count := r.uvarint()
			id += step
			if r.bad || id >= uint64(vocabulary) || i > 0 && step == 0 || count == 0 || count >= 1<<31 {
				return nil, fmt.Errorf("decode n-grams: node %d, child %d is broken", node, i)
			}
			t.token, t.count = append(t.token, int32(id)), append(t.count, uint32(count))
			t.depth = append(t.depth, t.depth[node]+1)
		}
	}
	for len(t.start) <= len(t.token) {
		t.start = append(t.start, int32(len(t.token)))
	}
	if len(r.data) > 0 {
		return nil, fmt.Errorf("decode n-grams: %d bytes follow the last node", len(r.data))
	}
	return t, nil
}

type reader struct {
	data []byte
	bad  bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

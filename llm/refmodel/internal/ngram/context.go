package ngram

import "sort"

// Context is a place in a text: the node of each suffix that the model knows as a context. The zero
// value is the place after nothing.
type Context struct {
	node [Order + 1]int32 // node[k]: the last k tokens; node[0] is the root
	top  int              // longest known suffix
}

// Known is the length of the longest suffix that the model has followers of.
func (c *Context) Known() int { return c.top }

// Push moves on by one token.
func (m *Table) Push(c *Context, token int32) {
	top := 0
	var next [Order + 1]int32
	for k := 0; k <= min(c.top, Order-1); k++ {
		n := m.edges.find(c.node[k], token)
		if n == 0 || m.start[n] == m.start[n+1] {
			break
		}
		top = k + 1
		next[top] = n
	}
	c.node, c.top = next, top
}

// Seek puts c at the end of ids.
func (m *Table) Seek(c *Context, ids []int32) {
	*c = Context{}
	for _, id := range ids[max(0, len(ids)-Order):] {
		m.Push(c, id)
	}
}

// Prob returns P(token | context).
func (m *Table) Prob(c *Context, token int32) float64 {
	for k := c.top; k > 0; k-- {
		if n := m.edges.find(c.node[k], token); n != 0 {
			return m.lift(c, k, m.prob[n])
		}
	}
	return m.lift(c, 0, m.base[token])
}

// lift carries a probability of order k up to the longest context through contexts that have not seen
// the token. Prob and Fill multiply in the same order, so their results agree to the last bit.
func (m *Table) lift(c *Context, k int, p float64) float64 {
	for k++; k <= c.top; k++ {
		p *= m.back[c.node[k]]
	}
	return p
}

// Peak is the probability of the context's likeliest follower.
func (m *Table) Peak(c *Context) float64 { return m.peak[c.node[c.top]] }

// SumLog is Σ P ln P over the vocabulary: the negative entropy, in nats.
func (m *Table) SumLog(c *Context) float64 { return m.ent[c.node[c.top]] }

// Fill writes the whole distribution to out, which has one place per token of the vocabulary.
func (m *Table) Fill(c *Context, out []float64) {
	copy(out, m.base)
	for k := 1; k <= c.top; k++ {
		node := c.node[k]
		back := m.back[node]
		for i := range out {
			out[i] *= back
		}
		for n := m.start[node]; n < m.start[node+1]; n++ {
			out[m.token[n]] = m.prob[n]
		}
	}
}

// Sample draws a token; uniform returns numbers in [0, 1).
func (m *Table) Sample(c *Context, uniform func() float64) int32 {
	for k := c.top; k > 0; k-- {
		node := c.node[k]
		n, t := m.total(node)
		u := uniform() * n
		if u >= n-Discount*t {
			continue
		}
		for child := m.start[node]; child < m.start[node+1]; child++ {
			if u -= float64(m.count[child]) - Discount; u < 0 {
				return m.token[child]
			}
		}
	}
	last := len(m.cum) - 1
	return int32(min(sort.SearchFloat64s(m.cum, uniform()*m.cum[last]), last))
}

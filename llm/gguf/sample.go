package gguf

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hindsightrl/harness/llm"
)

// sampler draws tokens from logits. Its order is vLLM's: temperature, min-p, top-k, top-p. It draws
// by inverting the cumulative distribution in float64, so a seed decides everything.
type sampler struct {
	s    llm.Sampling
	rng  *rand.Rand
	ids  []int32
	prob []float64
}

func newSampler(s llm.Sampling) *sampler {
	var seed uint64
	if s.Seed != nil {
		seed = uint64(*s.Seed)
	} else {
		seed = rand.Uint64()
	}
	return &sampler{s: s, rng: rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15))}
}

// sample returns a token, or -1 where the logits leave none.
func (p *sampler) sample(logits []float32) int32 {
	best := argmax(logits)
	if p.s.Temperature <= 0 || best < 0 {
		return best
	}
	p.candidates(logits, float64(logits[best]))
	total := p.cut()
	x, at := p.rng.Float64()*total, 0
	for sum := 0.0; at < len(p.prob)-1; at++ {
		if sum += p.prob[at]; x < sum {
			break
		}
	}
	return p.ids[at]
}

// candidates fills ids and prob with every token whose weight is above zero and min-p's bound. The
// weights are relative to the best token's, which has 1.
func (p *sampler) candidates(logits []float32, top float64) {
	p.ids, p.prob = p.ids[:0], p.prob[:0]
	least := max(p.s.MinP, 0)
	for i, x := range logits {
		w := math.Exp((float64(x) - top) / p.s.Temperature)
		if w > 0 && w >= least {
			p.ids, p.prob = append(p.ids, int32(i)), append(p.prob, w)
		}
	}
}

// cut applies top-k and top-p and returns the sum of the weights that stay.
func (p *sampler) cut() float64 {
	k, nucleus := p.s.TopK, p.s.TopP > 0 && p.s.TopP < 1
	if (k <= 0 || k >= len(p.ids)) && !nucleus {
		return sum(p.prob)
	}
	order := make([]int, len(p.ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(-cmp.Compare(p.prob[a], p.prob[b]), cmp.Compare(p.ids[a], p.ids[b]))
	})
	if k > 0 && k < len(order) {
		order = order[:k]
	}
	ids, prob := make([]int32, len(order)), make([]float64, len(order))
	for i, o := range order {
		ids[i], prob[i] = p.ids[o], p.prob[o]
	}
	total := sum(prob)
	if nucleus {
		n, acc := 0, 0.0
		for n < len(prob) && acc < p.s.TopP*total {
			acc += prob[n]
			n++
		}
		ids, prob, total = ids[:n], prob[:n], acc
	}
	p.ids, p.prob = ids, prob
	return total
}

func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

// argmax returns the lowest of the best ids, or -1 where every logit is −Inf or NaN.
func argmax(logits []float32) int32 {
	best, top := int32(-1), float32(math.Inf(-1))
	for i, x := range logits {
		if x > top {
			best, top = int32(i), x
		}
	}
	return best
}

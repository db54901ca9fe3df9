package refmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/hindsightrl/harness/llm"
)

// draw samples the next token from the model's own distribution: the part that speaks is drawn first,
// then a token from it.
func (w *window) draw(uniform func() float64) int32 {
	u := uniform() * (w.weight + w.habit)
	if u < w.weight {
		for i := range w.follow {
			if u -= w.follow[i].weight; u < 0 {
				return w.follow[i].id
			}
		}
	}
	return w.habits.Sample(&w.static, uniform)
}

// choice is a token and its probability.
type choice struct {
	id int32
	p  float64
}

// pick samples the next token as s says. The cuts apply to the tempered distribution, top-k first,
// then top-p, then min-p, each to what the ones before left; ties go to the lower id.
func (w *window) pick(s llm.Sampling, scratch []float64, uniform func() float64) int32 {
	if s.Neutral() {
		return w.draw(uniform)
	}
	w.fill(scratch)
	if s.Temperature <= 0 {
		return argmax(scratch)
	}
	if s.Temperature != 1 {
		temper(scratch, s.Temperature)
	}
	if s.TopK <= 0 && (s.TopP <= 0 || s.TopP >= 1) && s.MinP <= 0 {
		return drawDense(scratch, uniform)
	}
	return drawChoice(kept(scratch, s), uniform)
}

// argmax returns the likeliest token, the lowest id of several.
func argmax(p []float64) int32 {
	best := 0
	for i := range p {
		if p[i] > p[best] {
			best = i
		}
	}
	return int32(best)
}

// temper raises the probabilities to the power 1/t, relative to the largest, so that none of any
// weight underflows.
func temper(p []float64, t float64) {
	top := slices.Max(p)
	from, to := top, 1.0
	for i, v := range p {
		if v != from { // most of the vocabulary shares one probability
			from, to = v, math.Exp(math.Log(v/top)/t)
		}
		p[i] = to
	}
}

func drawDense(p []float64, uniform func() float64) int32 {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	u := uniform() * sum
	for i, v := range p {
		if u -= v; u < 0 {
			return int32(i)
		}
	}
	return argmax(p)
}

// ranked lists the tokens of probability floor or more, the likeliest first.
func ranked(p []float64, floor float64) (out []choice) {
	for i, v := range p {
		if v >= floor {
			out = append(out, choice{int32(i), v})
		}
	}
	slices.SortFunc(out, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.id, b.id))
	})
	return out
}

// kept returns the tokens that top-k, top-p and min-p leave, the likeliest first. What is cut off is
// nearly always the thousands of tokens that are a thousandth as likely as the first, so only the
// others are sorted, and all of them only where that does not settle it.
func kept(p []float64, s llm.Sampling) []choice {
	total := 0.0
	for _, v := range p {
		total += v
	}
	likely := ranked(p, slices.Max(p)/1000)
	if s.TopK <= len(likely) {
		if out := cut(likely, s, total); len(out) < len(likely) {
			return out
		}
	}
	return cut(ranked(p, 0), s, total)
}

// cut applies the limits to tokens in order, the likeliest first, of all tokens' weight total. It
// leaves at least one.
func cut(c []choice, s llm.Sampling, total float64) []choice {
	if s.TopK > 0 && s.TopK < len(c) {
		c, total = c[:s.TopK], 0
		for _, x := range c {
			total += x.p
		}
	}
	if s.TopP > 0 && s.TopP < 1 {
		sum, n := 0.0, 0
		for n < len(c) && (n == 0 || sum < s.TopP*total) {
			sum += c[n].p
			n++
		}
		c = c[:n]
	}
	if s.MinP > 0 {
		n := 1
		for n < len(c) && c[n].p >= s.MinP*c[0].p {
			n++
		}
		c = c[:n]
	}
	return c
}

func drawChoice(c []choice, uniform func() float64) int32 {
	sum := 0.0
	for _, x := range c {
		sum += x.p
	}
	u := uniform() * sum
	for _, x := range c {
		if u -= x.p; u < 0 {
			return x.id
		}
	}
	return c[0].id
}

// top returns the n likeliest tokens of the model's own distribution, the likeliest first.
func (w *window) top(n int, scratch []float64) []llm.TokenLogprob {
	w.fill(scratch)
	n = min(n, len(scratch))
	best := make([]choice, 0, n+1)
	for i, p := range scratch {
		if len(best) == n && p <= best[n-1].p {
			continue
		}
		at := len(best)
		for at > 0 && best[at-1].p < p {
			at--
		}
		best = slices.Insert(best, at, choice{int32(i), p})
		best = best[:min(len(best), n)]
	}
	out := make([]llm.TokenLogprob, len(best))
	for i, c := range best {
		out[i] = llm.TokenLogprob{ID: c.id, Logprob: float32(math.Log(c.p))}
	}
	return out
}

package gguf

import (
	"cmp"
	"math"
	"slices"

	"github.com/hindsightrl/harness/llm"
)

// moments returns log Σ exp(logit) and the entropy −Σ p log p in nats, both in float64 and in one pass
// of exponentials. Both are NaN where a logit is NaN or +Inf, or all are −Inf; a single −Inf adds
// nothing.
func moments(logits []float32) (lse, entropy float64) {
	top := math.Inf(-1)
	for _, x := range logits {
		if x != x {
			return math.NaN(), math.NaN()
		}
		top = max(top, float64(x))
	}
	if math.IsInf(top, 0) {
		return math.NaN(), math.NaN()
	}
	sum, weighted := 0.0, 0.0
	for _, x := range logits {
		d := float64(x) - top
		if w := math.Exp(d); w > 0 {
			sum += w
			weighted += w * d
		}
	}
	log := math.Log(sum)
	return top + log, max(log-weighted/sum, 0)
}

// rank is 1 for the most likely token; ties count for both.
func rank(logits []float32, id int32) int32 {
	r := int32(1)
	for _, x := range logits {
		if x > logits[id] {
			r++
		}
	}
	return r
}

// topLogprobs returns the n most likely tokens, best first; ties in order of their ids.
func topLogprobs(logits []float32, lse float64, n int) []llm.TokenLogprob {
	if n <= 0 {
		return nil
	}
	better := func(a, b int32) int {
		return cmp.Or(-cmp.Compare(logits[a], logits[b]), cmp.Compare(a, b))
	}
	n = min(n, len(logits))
	if n > sortAbove {
		best := make([]int32, 0, len(logits))
		for i := range logits {
			best = append(best, int32(i))
		}
		slices.SortFunc(best, better)
		return withLogprobs(best[:n], logits, lse)
	}
	best := make([]int32, 0, n)
	for i := range logits {
		id := int32(i)
		if len(best) == n && better(id, best[n-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, id, better)
		if len(best) == n {
			best = best[:n-1]
		}
		best = slices.Insert(best, at, id)
	}
	return withLogprobs(best, logits, lse)
}

// sortAbove is the number of alternatives from which sorting the vocabulary beats inserting.
const sortAbove = 256

func withLogprobs(ids []int32, logits []float32, lse float64) []llm.TokenLogprob {
	top := make([]llm.TokenLogprob, len(ids))
	for i, id := range ids {
		top[i] = llm.TokenLogprob{ID: id, Logprob: float32(float64(logits[id]) - lse)}
	}
	return top
}

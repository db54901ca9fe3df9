package llm

import (
	"fmt"
	"math"
	"slices"
)

// MaxVocab stands for the vocabulary of a server that does not tell its size. No published language
// model comes near it, so bounds that use it hold for all; they are only wider than need be.
const MaxVocab = 1 << 20

// Entropy is a token distribution's entropy in nats as far as its K best tokens determine it.
type Entropy struct {
	Estimate, Low, High float64
	Mass                float64 // probability outside the known tokens
	K                   int     // alternatives that the bounds rest on
}

// massSlack is how far known probabilities may sum above 1: engines compute log-probabilities in
// reduced precision, and each of the K carries its own rounding.
const massSlack = 0.01

// EntropyFromTop bounds the entropy of a distribution of which the K best tokens and the sampled one
// are known. top holds distinct tokens, best first; sampled may be among them or not; vocab is the
// number of tokens in all, 0 = MaxVocab.
//
// Derivation. Let S be the known tokens with Σ_S p = 1 − m, q the K-th best probability, and n =
// vocab − |S| the number of unknown tokens, whose probabilities r sum to m with 0 ≤ r ≤ q each (a
// larger one would have been among the K best). The entropy is H = −Σ_S p ln p + R with
// R = −Σ r ln r, which is concave in r:
//   - High: R is largest for equal r, so R ≤ m ln(n/m). Equal r respects r ≤ q because m ≤ n·q.
//   - Low: a concave function on this polytope is smallest at a vertex, where all r but one are 0 or
//     q: j = ⌊m/q⌋ tokens at q and one with the rest ρ = m − jq, so R ≥ −jq ln q − ρ ln ρ.
//   - Estimate: a geometric tail that starts below q and sums to m, r_i = q·g^i (i ≥ 1) with
//     g = m/(m+q); its entropy is R = −m ln q − m ln(g)·(m+q)/q, clamped to the bounds.
//
// With all tokens known (m = 0) the three agree and are exact. Numbers that cannot belong to one
// distribution are an error.
func EntropyFromTop(top []TokenLogprob, sampled TokenLogprob, vocab int) (Entropy, error) {
	if len(top) == 0 {
		return Entropy{}, fmt.Errorf("no alternatives")
	}
	if vocab <= 0 {
		vocab = MaxVocab
	}
	known, h, mass := len(top), 0.0, 0.0
	q := 1.0
	add := func(lp float32) float64 {
		p := math.Exp(min(float64(lp), 0))
		mass += p
		h -= p * min(float64(lp), 0)
		return p
	}
	for _, t := range top {
		q = min(q, add(t.Logprob))
	}
	if !slices.ContainsFunc(top, func(t TokenLogprob) bool { return t.ID == sampled.ID }) {
		known++
		if p := add(sampled.Logprob); p > q*(1+massSlack) {
			return Entropy{}, fmt.Errorf("the sampled token %d has probability %g, more than the last of the %d best, %g", sampled.ID, p, len(top), q)
		}
	}
	if known > vocab {
		return Entropy{}, fmt.Errorf("%d known tokens in a vocabulary of %d", known, vocab)
	}
	if mass > 1+massSlack || math.IsNaN(mass) {
		return Entropy{}, fmt.Errorf("the %d known probabilities sum to %g", known, mass)
	}
	n := float64(vocab - known)
	// Rounding leaves some m even where nothing is; and what n tokens at q cannot hold is rounding too.
	m := min(max(1-mass, 0), n*q)
	e := Entropy{Estimate: h, Low: h, High: h, Mass: m, K: len(top)}
	if m == 0 || q == 0 {
		return e, nil
	}
	j := math.Floor(m / q)
	e.Low += xlogx(q)*j + xlogx(max(m-j*q, 0))
	e.High = max(h+m*(math.Log(n)-math.Log(m)), e.Low) // n/m can overflow
	geometric := -m*math.Log(q) - m*(math.Log(m)-math.Log(m+q))*(m/q+1)
	e.Estimate = min(max(h+geometric, e.Low), e.High)
	return e, nil
}

// EntropyExact is the entropy in nats of the distribution softmax(logits), for models whose logits
// are all at hand. −Inf logits have no probability; any other non-finite logit is an error.
func EntropyExact(logits []float32) (float64, error) {
	top := math.Inf(-1)
	for i, l := range logits {
		if math.IsNaN(float64(l)) || math.IsInf(float64(l), 1) {
			return 0, fmt.Errorf("logit %d is %g", i, l)
		}
		top = max(top, float64(l))
	}
	if math.IsInf(top, -1) {
		return 0, fmt.Errorf("no finite logit among %d", len(logits))
	}
	var z, zd float64 // Σ exp(d) and Σ exp(d)·d with d = logit − max
	for _, l := range logits {
		if d := float64(l) - top; !math.IsInf(d, -1) {
			e := math.Exp(d)
			z += e
			zd += e * d
		}
	}
	return max(math.Log(z)-zd/z, 0), nil
}

// xlogx is −x ln x, 0 at 0.
func xlogx(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return -x * math.Log(x)
}

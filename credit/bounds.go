package credit

import "math"

// aemUndecided reports whether the entropy bounds of a scope leave it open whether response i's α is
// above or below 1. It never misses such a response; where the bounds are wide it may count one
// whose two sides no single choice of entropies reaches.
//
// With R = max − min of the scope, and up to ε,
//
//	α_i > 1  ⇔  g = mean_j exp(−λ(H_j − H_i)/R) < 1
//
// H_j − H_i and R both lie in known intervals. Each term of g is bounded over them separately: the
// sum of the least (greatest) terms is a lower (upper) bound of g. α may be on both sides where the
// lower bound is below 1 and the upper one above. Scopes that are surely skipped decide α = 1, and
// exact entropies make both bounds equal to g.
func aemUndecided(h []Interval, members []int, i int, lambda, minRange float64) bool {
	rMin, rMax := rangeBounds(h, members)
	if rMax < minRange || rMax == 0 || lambda == 0 {
		return false
	}
	// Narrower ranges are skipped scopes: α = 1, on neither side.
	rMin = math.Max(rMin, math.Max(minRange, math.SmallestNonzeroFloat64))
	least, greatest := 1.0, 1.0 // the term of i itself
	for _, j := range members {
		if j == i {
			continue
		}
		a := termBounds(lambda, h[j].Low-h[i].High, rMin, rMax)
		b := termBounds(lambda, h[j].High-h[i].Low, rMin, rMax)
		least += math.Min(a.lo, b.lo)
		greatest += math.Max(a.hi, b.hi)
	}
	// A rounding error must not open what exact entropies decide.
	n := float64(len(members))
	return least < n*(1-1e-12) && greatest > n*(1+1e-12)
}

type span struct{ lo, hi float64 }

// termBounds bounds exp(−λd/R) for R in [rMin, rMax].
func termBounds(lambda, d, rMin, rMax float64) span {
	// |d| <= R in every real assignment, so the exponent never leaves ±|λ|.
	clamp := func(x float64) float64 { return math.Max(-1, math.Min(1, x)) }
	a, b := math.Exp(-lambda*clamp(d/rMin)), math.Exp(-lambda*clamp(d/rMax))
	return span{math.Min(a, b), math.Max(a, b)}
}

// rangeBounds bounds max − min of the scope's entropies.
func rangeBounds(h []Interval, members []int) (least, greatest float64) {
	first := h[members[0]]
	minLow, minHigh, maxLow, maxHigh := first.Low, first.High, first.Low, first.High
	for _, i := range members {
		minLow, minHigh = math.Min(minLow, h[i].Low), math.Min(minHigh, h[i].High)
		maxLow, maxHigh = math.Max(maxLow, h[i].Low), math.Max(maxHigh, h[i].High)
	}
	return math.Max(0, maxLow-minHigh), maxHigh - minLow
}

// earUndecided is the same question for EAR's γ, answered exactly: γ_i > 1 where H̄_i is below its
// group's mean m, and m − H̄_i is greatest with H̄_i at its lower bound and all others at their upper
// ones, and least the other way round.
func earUndecided(h []Interval, members []int, i int, cfg EARConfig) bool {
	if cfg.Kappa == 0 || cfg.Clip == 0 {
		return false
	}
	above, below := 0.0, 0.0 // sums of H_j − H_i at the two corners
	for _, j := range members {
		if j != i {
			above += h[j].High - h[i].Low
			below += h[j].Low - h[i].High
		}
	}
	return above > 0 && below < 0
}

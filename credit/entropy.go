package credit

import (
	"fmt"
	"math"
)

// Float is the element type of token arrays.
type Float interface{ float32 | float64 }

// Interval is a response's mean token entropy H̄ in nats, with the bounds between which the true value
// lies. Low = Mean = High where the entropies are exact.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Exact is the Interval of an entropy known exactly.
func Exact(mean float64) Interval { return Interval{mean, mean, mean} }

// Known reports whether the entropy is exact.
func (h Interval) Known() bool { return h.Low == h.High }

func (h Interval) validate(row int) error {
	if !finite(h.Mean) || !finite(h.Low) || !finite(h.High) {
		return fmt.Errorf("row %d: entropy is %v in [%v, %v]: %w", row, h.Mean, h.Low, h.High, ErrNotFinite)
	}
	if h.Mean < 0 || h.Low > h.Mean || h.Mean > h.High {
		return fmt.Errorf("row %d: entropy is %v in [%v, %v], want 0 <= mean and low <= mean <= high: %w",
			row, h.Mean, h.Low, h.High, ErrConfig)
	}
	return nil
}

// MeanEntropy averages token entropies over a response: H̄ = Σ_t H_t/T, over the tokens of mask (nil:
// all of them). low and high are the bounds' columns, both nil where the entropies are exact. A
// response without tokens has H̄ = 0. Source: AEM, arXiv 2605.00425 (response-level uncertainty proxy).
func MeanEntropy[F Float](entropy, low, high []F, mask []bool) (Interval, error) {
	for _, c := range []struct {
		name string
		got  int
		skip bool
	}{{"mask", len(mask), mask == nil}, {"entropy_low", len(low), low == nil && high == nil}, {"entropy_high", len(high), low == nil && high == nil}} {
		if !c.skip && c.got != len(entropy) {
			return Interval{}, fmt.Errorf("%s has %d tokens, entropy has %d: %w", c.name, c.got, len(entropy), ErrLength)
		}
	}
	h := Interval{Mean: maskedMean(entropy, mask)}
	h.Low, h.High = h.Mean, h.Mean
	if low != nil {
		// Rounding may put a mean of bounds a hair past the mean it bounds.
		h.Low = min(maskedMean(low, mask), h.Mean)
		h.High = max(maskedMean(high, mask), h.Mean)
	}
	if !finite(h.Mean) || !finite(h.Low) || !finite(h.High) {
		return Interval{}, fmt.Errorf("mean entropy is %v in [%v, %v]: %w", h.Mean, h.Low, h.High, ErrNotFinite)
	}
	return h, nil
}

func maskedMean[F Float](xs []F, mask []bool) float64 {
	if mask == nil {
		return sum(xs) / math.Max(float64(len(xs)), 1)
	}
	total, n := 0.0, 0
	for i, x := range xs {
		if mask[i] {
			total += float64(x)
			n++
		}
	}
	return total / math.Max(float64(n), 1)
}

// sum adds in four strands, so that no addition waits for the one before it.
func sum[F Float](xs []F) float64 {
	var a, b, c, d float64
	for len(xs) >= 4 {
		a += float64(xs[0])
		b += float64(xs[1])
		c += float64(xs[2])
		d += float64(xs[3])
		xs = xs[4:]
	}
	for _, x := range xs {
		a += float64(x)
	}
	return (a + b) + (c + d)
}

// ResponseRows says which responses belong together. Trajectory is read only by the scopes that need
// it; both number freely.
type ResponseRows struct {
	Group      []int      // B
	Trajectory []int      // B; for EntropyTrajectory
	Entropy    []Interval // B, H̄ of each response
}

func (r ResponseRows) validate(scope EntropyScope) error {
	if err := checkLength("entropy", len(r.Entropy), len(r.Group)); err != nil {
		return err
	}
	if scope == EntropyTrajectory {
		if err := checkLength("trajectory", len(r.Trajectory), len(r.Group)); err != nil {
			return err
		}
	}
	for i, h := range r.Entropy {
		if err := h.validate(i); err != nil {
			return err
		}
	}
	return nil
}

// scopeRows sorts the rows into the sets that are normalised together.
func (r ResponseRows) scopeRows(scope EntropyScope) buckets {
	switch scope {
	case EntropyBatch:
		return bucketize(make([]int, len(r.Group)), min(1, len(r.Group)))
	case EntropyTrajectory:
		pairs, ids := make(interner), make([]int, len(r.Group))
		for i := range ids {
			ids[i] = pairs.id(r.Group[i], r.Trajectory[i])
		}
		return bucketize(ids, len(pairs))
	}
	ids, n := dense(r.Group)
	return bucketize(ids, n)
}

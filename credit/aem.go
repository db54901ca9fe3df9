package credit

import (
	"fmt"
	"math"
)

// EntropyScope says which responses AEM normalises together.
type EntropyScope string

// The scopes. The group is AEM's own; the other two are its ablations.
const (
	EntropyGroup      EntropyScope = "group"
	EntropyTrajectory EntropyScope = "trajectory" // trajectory-norm
	EntropyBatch      EntropyScope = "batch"      // batch-norm
)

// AEMConfig parametrises adaptive entropy modulation. DefaultAEM has the paper's values.
type AEMConfig struct {
	Lambda   float64      `json:"lambda"`    // λ >= 0: strength
	Epsilon  float64      `json:"epsilon"`   // in both divisions; > 0
	MinRange float64      `json:"min_range"` // nats: α = 1 in scopes whose entropies differ by less
	Scope    EntropyScope `json:"scope"`     // group; trajectory and batch are ablations
	Reverse  bool         `json:"reverse"`   // ablation: λ changes sign, so that uncertain responses gain
	Shuffle  bool         `json:"shuffle"`   // ablation: α is dealt out at random within each scope
	Seed     uint64       `json:"seed"`      // of Shuffle
}

// DefaultAEM returns λ = 1, ε = 1e-8, skip range 0.1 nats, group scope, no ablation.
func DefaultAEM() AEMConfig {
	return AEMConfig{Lambda: 1, Epsilon: 1e-8, MinRange: 0.1, Scope: EntropyGroup}
}

// Validate reports the first setting outside its range (ErrConfig).
func (c AEMConfig) Validate() error {
	if err := checkRange("aem.lambda", c.Lambda, 0, 700); err != nil {
		return err // beyond 700, exp(−λ) underflows
	}
	if err := checkRange("aem.min_range", c.MinRange, 0, math.Inf(1)); err != nil {
		return err
	}
	if !(c.Epsilon > 0) || !finite(c.Epsilon) {
		return fmt.Errorf("aem.epsilon is %v, want a finite number > 0: %w", c.Epsilon, ErrConfig)
	}
	switch c.Scope {
	case EntropyGroup, EntropyTrajectory, EntropyBatch:
		return nil
	}
	return fmt.Errorf("aem.scope %q is unknown, want %q, %q or %q: %w", c.Scope, EntropyGroup, EntropyTrajectory, EntropyBatch, ErrConfig)
}

func (c AEMConfig) signedLambda() float64 {
	if c.Reverse {
		return -c.Lambda
	}
	return c.Lambda
}

// Modulation is one positive factor per response.
type Modulation struct {
	Factor    []float64 `json:"factor"`    // B factors: AEM's α or EAR's γ
	Stats     Stats     `json:"stats"`     // of Factor
	Modulated int       `json:"modulated"` // rows in scopes that were not skipped
	Clipped   int       `json:"clipped"`   // rows at EAR's clip bounds
	Inexact   int       `json:"inexact"`   // rows whose entropy is known by bounds only
	Undecided int       `json:"undecided"` // rows whose entropy bounds allow a factor above 1 and one below 1
}

// AEM computes the response factors of adaptive entropy modulation,
//
//	H̃_i = (H̄_i − min)/(max − min + ε)      α_i = exp(−λH̃_i)/(mean_j exp(−λH̃_j) + ε)
//
// with minimum, maximum and mean over the response's scope. α = 1 where max − min < MinRange. α > 0,
// and its mean over a scope is 1 up to ε. Undecided counts by SignUndecided.
//
// Source: AEM, arXiv 2605.00425, response-level modulation coefficient and its ablations.
func AEM(rows ResponseRows, cfg AEMConfig) (*Modulation, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("modulate by entropy: %w", err)
	}
	if err := rows.validate(cfg.Scope); err != nil {
		return nil, fmt.Errorf("modulate by entropy: %w", err)
	}
	m := &Modulation{Factor: make([]float64, len(rows.Group))}
	lambda := cfg.signedLambda()
	scopes := rows.scopeRows(cfg.Scope)
	for k := range scopes.len() {
		members := scopes.of(k)
		if aemFactors(m.Factor, rows.Entropy, members, lambda, cfg) {
			m.Modulated += len(members)
		}
		m.countBounds(rows.Entropy, members, func(i int) bool {
			return aemUndecided(rows.Entropy, members, i, lambda, cfg.MinRange)
		})
	}
	if cfg.Shuffle {
		shuffleWithin(m.Factor, scopes, cfg.Seed)
	}
	m.Stats = Summarize(m.Factor)
	return m, nil
}

// countBounds counts the members of a scope whose entropies are bounds, and those among all members
// whose factor's side of 1 they leave open.
func (m *Modulation) countBounds(h []Interval, members []int, undecided func(i int) bool) {
	inexact := 0
	for _, i := range members {
		if !h[i].Known() {
			inexact++
		}
	}
	m.Inexact += inexact
	if inexact == 0 {
		return
	}
	for _, i := range members {
		if undecided(i) {
			m.Undecided++
		}
	}
}

// aemFactors fills one scope and reports whether it was wide enough to be modulated.
func aemFactors(out []float64, h []Interval, members []int, lambda float64, cfg AEMConfig) bool {
	lo, hi := h[members[0]].Mean, h[members[0]].Mean
	for _, i := range members {
		lo, hi = min(lo, h[i].Mean), max(hi, h[i].Mean)
	}
	if hi-lo < cfg.MinRange || hi == lo {
		for _, i := range members {
			out[i] = 1
		}
		return false
	}
	sum := 0.0
	for _, i := range members {
		out[i] = math.Exp(-lambda * (h[i].Mean - lo) / (hi - lo + cfg.Epsilon))
		sum += out[i]
	}
	div := sum/float64(len(members)) + cfg.Epsilon
	for _, i := range members {
		out[i] /= div
	}
	return true
}

// shuffleWithin deals each scope's factors out anew. The stream is SplitMix64: fixed here, so that a
// seed means the same shuffle for ever. The deal depends on the order of rows.
func shuffleWithin(factor []float64, scopes buckets, seed uint64) {
	next := func(n int) int {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return int((z ^ z>>31) % uint64(n)) // the bias of % is below n/2^64
	}
	for k := range scopes.len() {
		rows := scopes.of(k)
		for a := len(rows) - 1; a > 0; a-- {
			b := next(a + 1)
			factor[rows[a]], factor[rows[b]] = factor[rows[b]], factor[rows[a]]
		}
	}
}

package credit

import (
	"fmt"
	"math"
)

// EARConfig parametrises entropy-aware reweighting. DefaultEAR has κ = 1, c = 0.2.
type EARConfig struct {
	Kappa float64 `json:"kappa"` // κ >= 0: strength
	Clip  float64 `json:"clip"`  // c in [0, 1): γ stays in [1−c, 1+c]
}

// DefaultEAR returns κ = 1, c = 0.2.
func DefaultEAR() EARConfig { return EARConfig{Kappa: 1, Clip: 0.2} }

// Validate reports the first setting outside its range (ErrConfig). c < 1 keeps γ positive, without
// which the sign of an advantage could change.
func (c EARConfig) Validate() error {
	if err := checkRange("ear.kappa", c.Kappa, 0, math.Inf(1)); err != nil {
		return err
	}
	if !(c.Clip >= 0 && c.Clip < 1) {
		return fmt.Errorf("ear.clip is %v, want a number in [0, 1): %w", c.Clip, ErrConfig)
	}
	return nil
}

// EAR computes the response factors of entropy-aware reweighting,
//
//	γ_i = clip(1 + κ(m − H̄_i)/m, 1−c, 1+c)
//
// m the mean of H̄ over the group's responses; γ = 1 where m is 0 (no response of the group had any
// entropy). Clipped counts rows at a bound.
func EAR(rows ResponseRows, cfg EARConfig) (*Modulation, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("reweight by entropy: %w", err)
	}
	if err := rows.validate(EntropyGroup); err != nil {
		return nil, fmt.Errorf("reweight by entropy: %w", err)
	}
	out := &Modulation{Factor: make([]float64, len(rows.Group))}
	groups := rows.scopeRows(EntropyGroup)
	for k := range groups.len() {
		members, sum := groups.of(k), 0.0
		for _, i := range members {
			sum += rows.Entropy[i].Mean
		}
		m := sum / float64(len(members))
		if m > 0 {
			out.Modulated += len(members)
		}
		for _, i := range members {
			x := 1.0
			if m > 0 {
				x += cfg.Kappa * (m - rows.Entropy[i].Mean) / m
			}
			out.Factor[i] = math.Min(math.Max(x, 1-cfg.Clip), 1+cfg.Clip)
			if out.Factor[i] != x {
				out.Clipped++
			}
		}
		out.countBounds(rows.Entropy, members, func(i int) bool {
			return earUndecided(rows.Entropy, members, i, cfg)
		})
	}
	out.Stats = Summarize(out.Factor)
	return out, nil
}

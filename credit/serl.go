package credit

import (
	"fmt"
	"math"
)

// SERLConfig parametrises the token weights. DefaultSERL has the reference's values.
type SERLConfig struct {
	Lambda     float64 `json:"lambda"`      // λ_0 in [0, 1]: share of the weight in the blend at update 0
	DecaySteps int     `json:"decay_steps"` // K: updates until λ reaches 0; 0 = λ stays
	Clip       float64 `json:"clip"`        // c >= 0: weights stay in [1−c, 1+c]
	SyncEvery  int     `json:"sync_every"`  // updates between hard copies of the policy into the teacher; 0 = never
}

// DefaultSERL returns λ_0 = 0.5 over K = 50 updates, c = 0.2, teacher sync every 10 updates.
// Source: OliverLeeXZ/SERL@5a2a85b:recipe/serl/run_alfworld.sh.
func DefaultSERL() SERLConfig {
	return SERLConfig{Lambda: 0.5, DecaySteps: 50, Clip: 0.2, SyncEvery: 10}
}

// Validate reports the first setting outside its range (ErrConfig).
func (c SERLConfig) Validate() error {
	if err := checkRange("serl.lambda", c.Lambda, 0, 1); err != nil {
		return err
	}
	if err := checkRange("serl.clip", c.Clip, 0, math.Inf(1)); err != nil {
		return err
	}
	if c.DecaySteps < 0 {
		return fmt.Errorf("serl.decay_steps is %d, want >= 0: %w", c.DecaySteps, ErrConfig)
	}
	if c.SyncEvery < 0 {
		return fmt.Errorf("serl.sync_every is %d, want >= 0: %w", c.SyncEvery, ErrConfig)
	}
	return nil
}

// LambdaAt is the schedule λ_k = λ_0·max(0, 1 − k/K) at update k; λ_0 for ever where K is 0.
// Source: OliverLeeXZ/SERL@5a2a85b:verl/trainer/ppo/core_algos.py:_serl_effective_lambda.
func (c SERLConfig) LambdaAt(update int) float64 {
	if c.DecaySteps == 0 {
		return c.Lambda
	}
	return c.Lambda * math.Max(0, 1-float64(update)/float64(c.DecaySteps))
}

// TeacherAt is the update whose policy the teacher holds at update k: the last multiple of SyncEvery,
// and 0 (the initial model) where the teacher is never synced.
func (c SERLConfig) TeacherAt(update int) int {
	if c.SyncEvery == 0 {
		return 0
	}
	return update / c.SyncEvery * c.SyncEvery
}

// SERLStats describe the weights of one pass, as the reference reports them.
type SERLStats struct {
	Lambda        float64 `json:"lambda"`         // λ_k that was blended with
	Weight        Stats   `json:"weight"`         // clipped weights w of the selected tokens, before blending
	DeltaAbsMean  float64 `json:"delta_abs_mean"` // mean |teacher − student| of the selected tokens, nats
	Rows          int     `json:"rows"`           // rows with a hindsight context
	Candidates    int     `json:"candidates"`     // response tokens of those rows
	ClippedShare  float64 `json:"clipped_share"`  // share of selected weights at a clip bound
	SelectedShare float64 `json:"selected_share"` // selected tokens / Candidates
}

// Empty reports that no token was selected: the pass changed nothing.
func (s SERLStats) Empty() bool { return s.Weight.N == 0 }

// tally gathers SERLStats.
type tally struct {
	weight     accumulator
	deltaAbs   float64
	clipped    int
	rows       int
	candidates int
}

func (t *tally) stats(lambda float64) SERLStats {
	n := math.Max(float64(t.weight.n), 1)
	return SERLStats{
		Lambda: lambda, Weight: t.weight.stats(), DeltaAbsMean: t.deltaAbs / n, Rows: t.rows, Candidates: t.candidates,
		ClippedShare: float64(t.clipped) / n, SelectedShare: float64(t.weight.n) / math.Max(float64(t.candidates), 1),
	}
}

// SERLWeight is the clipped weight of one token,
//
//	w = clip(exp(clamp(sign(A)·Δ, ±20)), 1−c, 1+c)
//
// Δ = teacher − student log-probability in nats. Sources: SERL, arXiv 2605.19447;
// OliverLeeXZ/SERL@5a2a85b:verl/trainer/ppo/core_algos.py:compute_serl_action_mask_reweighted_advantages.
func SERLWeight(sign, delta, clip float64) float64 {
	w := math.Exp(math.Max(-20, math.Min(20, sign*delta)))
	return math.Min(math.Max(w, 1-clip), 1+clip)
}

func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

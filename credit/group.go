package credit

import (
	"errors"
	"math"
)

// grouped is GRPO (NormMeanStd) and Dr.GRPO (NormMean):
//
//	A_i = (s_i − mean)/(std + ε)      A_i = s_i − mean
//
// mean and unbiased std over the group's rows or over its trajectories' first rows. A group of one
// number has mean 0 and std 1 by convention: it keeps s/(1+ε), or s.
//
// Sources: GRPO, arXiv 2402.03300 eq. 21; Dr.GRPO, arXiv 2503.20783 eq. 3;
// OliverLeeXZ/SERL@5a2a85b:verl/trainer/ppo/core_algos.py:compute_grpo_outcome_advantage.
func (l *layout) grouped(scores []float64, cfg EstimatorConfig, norm Norm, r *Advantages) []float64 {
	out := make([]float64, len(scores))
	sample := l.sample(cfg.Scope)
	for k := range l.groups.len() {
		m := momentsOf(scores, sample.of(k))
		r.count(m)
		mean, div := m.mean, m.std()
		if m.n == 1 {
			mean, div = 0, 1
		}
		div += cfg.Epsilon
		if norm == NormMean {
			div = 1
		}
		for _, i := range l.groups.of(k) {
			out[i] = (scores[i] - mean) / div
		}
	}
	return out
}

// count notes what kind of group m describes.
func (r *Advantages) count(m moments) {
	r.checkSpread(m)
	switch {
	case m.n == 1:
		r.Singles++
	case m.ss == 0:
		r.Flat++
	}
}

// checkSpread notes numbers so large that their squares overflow: a std of +Inf would turn every
// advantage into 0 without a word.
func (r *Advantages) checkSpread(m moments) {
	r.overflow = r.overflow || !finite(m.ss) || !finite(m.mean)
}

// leaveOneOut is RLOO: each score against the mean of the others,
//
//	A_i = s_i − Σ_{j≠i} s_j/(n−1) = (s_i − mean)·n/(n−1)
//
// The right-hand form also serves rows whose trajectory's first row stands for them. A group of one
// keeps its score.
//
// Sources: arXiv 2402.14740 §3; OliverLeeXZ/SERL@5a2a85b:verl/trainer/ppo/core_algos.py:
// compute_rloo_outcome_advantage.
func (l *layout) leaveOneOut(scores []float64, cfg EstimatorConfig, r *Advantages) []float64 {
	out := make([]float64, len(scores))
	sample := l.sample(cfg.Scope)
	for k := range l.groups.len() {
		m := momentsOf(scores, sample.of(k))
		r.count(m)
		mean, factor := m.mean, float64(m.n)/float64(m.n-1)
		if m.n == 1 {
			mean, factor = 0, 1
		}
		for _, i := range l.groups.of(k) {
			out[i] = (scores[i] - mean) * factor
		}
	}
	return out
}

// reinforcePP is the REINFORCE++ baseline: scores minus their group's mean, then whitened over all
// response tokens of the batch,
//
//	x_i = s_i − mean_g      A_i = (x_i − μ)/sqrt(σ² + 1e-8)
//
// μ and unbiased σ² over tokens, so that a row counts T_i times.
//
// Sources: arXiv 2501.03262; OliverLeeXZ/SERL@5a2a85b:verl/trainer/ppo/core_algos.py:
// compute_reinforce_plus_plus_baseline_outcome_advantage, with masked_whiten.
func (l *layout) reinforcePP(scores []float64, cfg EstimatorConfig, r *Advantages) error {
	if l.Tokens == nil {
		return errors.New("the whitening runs over tokens, and the batch has no token counts")
	}
	x := l.grouped(scores, cfg, NormMean, r)
	tokens, sum := 0.0, 0.0
	for i, t := range l.Tokens {
		tokens += float64(t)
		sum += float64(t) * x[i]
	}
	if tokens < 2 {
		return errors.New("whitening needs two tokens or more in the batch")
	}
	mean, ss := sum/tokens, 0.0
	for i, t := range l.Tokens {
		d := x[i] - mean
		ss += float64(t) * d * d
	}
	scale := 1 / math.Sqrt(ss/(tokens-1)+whitenEpsilon)
	for i := range x {
		x[i] = (x[i] - mean) * scale
	}
	r.Values = x
	return nil
}

// whitenEpsilon is added to a variance before its root is divided by (verl's masked_whiten).
const whitenEpsilon = 1e-8

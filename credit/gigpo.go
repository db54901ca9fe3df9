package credit

import "errors"

// StepReturns computes each row's discounted return to its trajectory's end, G_t = r_t + γ·G_{t+1}.
// Source: GiGPO, arXiv 2505.10978 eq. 5.
func StepReturns(b *Batch, gamma float64) ([]float64, error) {
	l, err := newLayout(b)
	if err != nil {
		return nil, err
	}
	if err := checkRange("gamma", gamma, 0, 1); err != nil {
		return nil, err
	}
	return l.stepReturns(gamma)
}

func (l *layout) stepReturns(gamma float64) ([]float64, error) {
	if l.Reward == nil {
		return nil, errors.New("step returns need step rewards, and the batch has none")
	}
	out := make([]float64, len(l.Reward))
	for k := range l.trajs.len() {
		rows, g := l.trajs.of(k), 0.0
		for t := len(rows) - 1; t >= 0; t-- {
			g = l.Reward[rows[t]] + gamma*g
			out[rows[t]] = g
		}
	}
	return out, nil
}

// gigpo adds an episode part and an anchor part:
//
//	A_i = A^E_i + ω·A^S_i
//
// A^E is the group-relative advantage of the episode return (grouped). A^S compares the discounted
// step return with those of all rows of the group that started from the same anchor observation; a
// row alone at its anchor gets 0. NormMean takes the mean off, NormMeanStd also divides by the
// unbiased std + ε. Linear in rows (similarity anchors excepted).
//
// Sources: arXiv 2505.10978 eqs. 3, 6–8; OliverLeeXZ/SERL@5a2a85b:recipe/gigpo/core_gigpo.py.
func (l *layout) gigpo(scores []float64, cfg EstimatorConfig, r *Advantages) error {
	if l.Anchor == nil {
		return errors.New("anchor groups need anchor observations, and the batch has none")
	}
	returns, err := l.stepReturns(cfg.Gamma)
	if err != nil {
		return err
	}
	returns = l.penalized(returns, cfg.InvalidPenalty)
	ids, err := l.anchorClusters(cfg.AnchorSimilarity)
	if err != nil {
		return err
	}
	r.Values = l.grouped(scores, cfg, cfg.Norm, r)
	clusters := bucketize(ids.of, ids.n)
	r.Anchors = clusters.len()
	for k := range clusters.len() {
		rows := clusters.of(k)
		if len(rows) == 1 {
			r.LoneRows++
			continue
		}
		m := momentsOf(returns, rows)
		r.checkSpread(m)
		div := 1.0
		if cfg.Norm == NormMeanStd {
			div = m.std() + cfg.Epsilon
		}
		for _, i := range rows {
			r.Values[i] += cfg.StepWeight * (returns[i] - m.mean) / div
		}
	}
	return nil
}

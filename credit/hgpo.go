package credit

import (
	"errors"
	"math"
)

// hgpo compares a row with the rows of its group that share its last k observations, for k = 1 (the
// anchor alone) to K+1 (the anchor and K steps of history), and averages the parts:
//
//	A_i = Σ_k w_k·a_{i,k}/(Σ_k w_k + ε),   w_k = (k+1)^α,   a_{i,k} = (G_i − mean)/(std + ε)
//
// mean and population std of the discounted step returns over all rows with the same context; NormMean
// leaves the std out. Contexts of one row yield no part; parts that are exactly zero are left out of
// both sums; a row without parts gets 0. With BaseGroup, the episode advantage joins in as k = 0.
//
// "Exactly zero" is meant at float32 resolution, in which the original works: a return whose distance
// to the mean vanishes there is dropped there. In float64 the distance of such a return is a rounding
// error that depends on the order of rows, so the comparison rounds to float32 as well.
//
// A context of k observations is the pair (context of k−1 observations one step earlier, observation),
// so each level costs one look-up a row: linear in rows times K.
//
// Source: OliverLeeXZ/SERL@5a2a85b:recipe/hgpo/core_hgpo.py:hgpo_advantage_estimate.
func (l *layout) hgpo(scores []float64, cfg EstimatorConfig, r *Advantages) error {
	if l.Anchor == nil {
		return errors.New("history groups need anchor observations, and the batch has none")
	}
	returns, err := l.stepReturns(cfg.Gamma)
	if err != nil {
		return err
	}
	returns = l.penalized(returns, cfg.InvalidPenalty)
	w := newWeighted(len(returns))
	base := l.grouped(scores, cfg, cfg.Norm, r)
	if cfg.BaseGroup {
		deviation := l.grouped(scores, cfg, NormMean, new(Advantages))
		for i, a := range base {
			if !tied(scores[i], scores[i]-deviation[i]) {
				w.add(i, a, 1)
			}
		}
	}
	first := l.exactAnchors()
	shared := make([]bool, len(returns))
	level := first
	for k := 1; ; k++ {
		contexts := bucketizeSome(level)
		r.Anchors += contexts.len()
		l.historyParts(returns, contexts, cfg, math.Pow(float64(k+1), cfg.LengthAlpha), w, shared, r)
		if k == cfg.History+1 {
			break
		}
		level = l.extend(level, first)
	}
	for _, s := range shared {
		if !s {
			r.LoneRows++
		}
	}
	r.Values = w.means(cfg.Epsilon)
	return nil
}

// tied reports whether x equals its group's mean at float32 resolution.
func tied(x, mean float64) bool { return float32(x) == float32(mean) }

// extend lengthens every context by one observation: row i of level k+1 is row i−1 of level k and the
// observation of row i. Rows without that much history are −1.
func (l *layout) extend(level, first clusterIDs) clusterIDs {
	out, pairs := make([]int, len(level.of)), make(interner, len(level.of)/2)
	for k := range l.trajs.len() {
		previous := -1
		for _, i := range l.trajs.of(k) {
			out[i] = -1
			if previous >= 0 && level.of[previous] >= 0 {
				out[i] = pairs.id(level.of[previous], first.of[i])
			}
			previous = i
		}
	}
	return clusterIDs{out, len(pairs)}
}

// bucketizeSome is bucketize for ids of which some are −1 (in no bucket).
func bucketizeSome(c clusterIDs) buckets {
	ids := make([]int, len(c.of))
	for i, k := range c.of {
		ids[i] = k + 1
	}
	b := bucketize(ids, c.n+1)
	return buckets{start: b.start[1:], rows: b.rows}
}

func (l *layout) historyParts(returns []float64, contexts buckets, cfg EstimatorConfig, weight float64, w *weighted, shared []bool, r *Advantages) {
	for c := range contexts.len() {
		rows := contexts.of(c)
		if len(rows) < 2 {
			continue
		}
		m := momentsOf(returns, rows)
		r.checkSpread(m)
		div := 1.0
		if cfg.Norm == NormMeanStd {
			div = m.populationStd() + cfg.Epsilon
		}
		for _, i := range rows {
			shared[i] = true
			if !tied(returns[i], m.mean) {
				w.add(i, (returns[i]-m.mean)/div, weight)
			}
		}
	}
}

// weighted gathers weighted means of non-zero parts, one per row.
type weighted struct{ sum, weight []float64 }

func newWeighted(n int) *weighted { return &weighted{make([]float64, n), make([]float64, n)} }

func (w *weighted) add(i int, x, weight float64) {
	if x != 0 {
		w.sum[i] += weight * x
		w.weight[i] += weight
	}
}

func (w *weighted) means(epsilon float64) []float64 {
	for i := range w.sum {
		w.sum[i] /= w.weight[i] + epsilon
	}
	return w.sum
}

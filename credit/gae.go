package credit

import (
	"errors"
	"fmt"
	"math"
)

// GAE computes generalised advantage estimates and value targets of one sequence of T tokens (or
// steps),
//
//	δ_t = r_t + γV_{t+1} − V_t      A_t = δ_t + γλA_{t+1}      target_t = A_t + V_t
//
// V after the last token is bootstrap: 0 where the sequence ended, the value of the state in which it
// was cut off otherwise. rewards and values have length T.
//
// Source: arXiv 1506.02438 eqs. 11–16; OliverLeeXZ/SERL@5a2a85b:verl/trainer/ppo/core_algos.py:
// compute_gae_advantage_return, which then whitens (see Whiten).
func GAE(rewards, values []float64, gamma, lambda, bootstrap float64) (advantages, targets []float64, err error) {
	if len(rewards) != len(values) {
		return nil, nil, fmt.Errorf("gae: rewards have %d tokens, values have %d: %w", len(rewards), len(values), ErrLength)
	}
	if err := errors.Join(checkRange("gamma", gamma, 0, 1), checkRange("lambda", lambda, 0, 1)); err != nil {
		return nil, nil, fmt.Errorf("gae: %w", err)
	}
	if !finite(bootstrap) {
		return nil, nil, fmt.Errorf("gae: bootstrap value is %v: %w", bootstrap, ErrNotFinite)
	}
	advantages, targets = make([]float64, len(rewards)), make([]float64, len(rewards))
	next, a := bootstrap, 0.0
	for t := len(rewards) - 1; t >= 0; t-- {
		a = rewards[t] + gamma*next - values[t] + gamma*lambda*a
		if !finite(a) {
			return nil, nil, fmt.Errorf("gae: token %d: reward is %v, value is %v: %w", t, rewards[t], values[t], ErrNotFinite)
		}
		advantages[t], targets[t] = a, a+values[t]
		next = values[t]
	}
	return advantages, targets, nil
}

// Whiten shifts and scales all rows' tokens, in place, to mean 0 and variance 1 over the batch:
// (x − μ)/sqrt(σ² + 1e-8), σ² unbiased. It needs two tokens or more.
// Source: OliverLeeXZ/SERL@5a2a85b:verl/utils/torch_functional.py:masked_whiten.
func Whiten(rows [][]float64) error {
	n, total := 0, 0.0
	for i, row := range rows {
		for t, x := range row {
			if !finite(x) {
				return fmt.Errorf("whiten: row %d: token %d is %v: %w", i, t, x, ErrNotFinite)
			}
			total += x
		}
		n += len(row)
	}
	if n < 2 {
		return fmt.Errorf("whiten: %d tokens, want two or more: %w", n, ErrLength)
	}
	mean, ss := total/float64(n), 0.0
	for _, row := range rows {
		for _, x := range row {
			ss += (x - mean) * (x - mean)
		}
	}
	scale := 1 / math.Sqrt(ss/float64(n-1)+whitenEpsilon)
	for _, row := range rows {
		for t := range row {
			row[t] = (row[t] - mean) * scale
		}
	}
	return nil
}

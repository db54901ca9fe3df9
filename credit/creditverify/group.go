package creditverify

import (
	"math"
	"strings"

	"github.com/hindsightrl/harness/credit"
)

// groupCase is one case of group_advantages.json: values per token, float32.
type groupCase struct {
	Group        []string               `json:"group"`
	Trajectory   []string               `json:"trajectory"`
	TokenRewards [][]float64            `json:"token_rewards"`
	ResponseMask [][]float64            `json:"response_mask"`
	Out          map[string][][]float64 `json:"out"`
}

func checkGroup(raw []byte, c *comparer) error {
	var v groupCase
	if err := decode(raw, &v); err != nil {
		return err
	}
	rows := len(v.Group)
	if err := sameLength(rows, map[string]int{
		"trajectory": len(v.Trajectory), "token_rewards": len(v.TokenRewards), "response_mask": len(v.ResponseMask),
	}); err != nil {
		return err
	}
	b := &credit.Batch{Group: credit.IDs(v.Group), Trajectory: credit.IDs(v.Trajectory), Return: make([]float64, rows)}
	for i, rewards := range v.TokenRewards {
		for _, r := range rewards {
			b.Return[i] += r
		}
	}
	for name, want := range v.Out {
		cfg, ok := groupConfig(name)
		if !ok {
			c.mismatches++
			c.report("output " + name + " is not known")
			continue
		}
		if err := sameLength(rows, map[string]int{name: len(want)}); err != nil {
			return err
		}
		got, err := credit.Estimate(b, cfg)
		if err != nil {
			return err
		}
		sample := everyRow
		if cfg.Scope == credit.ScopeTrajectories {
			sample = firstRows(b)
		}
		floor := operands(b.Return, b.Return, b.Group, sample, cfg.Name == credit.GRPO, false)
		for i := range want {
			if err := sameLength(len(want[i]), map[string]int{"response_mask of a row": len(v.ResponseMask[i])}); err != nil {
				return err
			}
			for t, w := range want[i] {
				c.close32(name, i, got.Values[i]*v.ResponseMask[i][t], w, floor[i])
			}
		}
	}
	return nil
}

// groupConfig reads an output's name: estimator, cross1 = over rows, std0 = without the std.
func groupConfig(name string) (credit.EstimatorConfig, bool) {
	var cfg credit.EstimatorConfig
	switch {
	case strings.HasPrefix(name, "grpo_") && strings.HasSuffix(name, "_std1"):
		cfg = credit.DefaultEstimator(credit.GRPO)
	case strings.HasPrefix(name, "grpo_") && strings.HasSuffix(name, "_std0"):
		cfg = credit.DefaultEstimator(credit.DrGRPO)
	case strings.HasPrefix(name, "rloo_"):
		cfg = credit.DefaultEstimator(credit.RLOO)
	default:
		return cfg, false
	}
	switch {
	case strings.Contains(name, "cross0"):
		cfg.Scope = credit.ScopeTrajectories
	case !strings.Contains(name, "cross1"):
		return cfg, false
	}
	return cfg, true
}

// everyRow samples every row.
func everyRow(int) bool { return true }

// firstRows samples each trajectory's first row in its group, over which trajectory statistics run.
func firstRows(b *credit.Batch) func(int) bool {
	seen, first := make(map[[2]int]bool), make([]bool, len(b.Group))
	for i := range first {
		key := [2]int{b.Group[i], b.Trajectory[i]}
		first[i] = !seen[key]
		seen[key] = true
	}
	return func(i int) bool { return first[i] }
}

// operands sizes what was subtracted to get each row's advantage: the greatest size of the row's set,
// divided by the std + ε of the set's sampled rows where the estimator divides. The std is itself a
// result of such subtractions, hence the advantage's own size as a second factor. sizes are those of
// the numbers that xs were summed from, xs themselves where they were not.
func operands(xs, sizes []float64, set []int, sample func(int) bool, std, population bool) []float64 {
	type acc struct{ n, sum, ss, top float64 }
	sets := make(map[int]*acc)
	for i, x := range xs {
		a := sets[set[i]]
		if a == nil {
			a = &acc{}
			sets[set[i]] = a
		}
		a.top = math.Max(a.top, math.Abs(sizes[i]))
		if sample(i) {
			a.n++
			a.sum += x
		}
	}
	for i, x := range xs {
		if a := sets[set[i]]; sample(i) {
			a.ss += (x - a.sum/a.n) * (x - a.sum/a.n)
		}
	}
	out := make([]float64, len(xs))
	for i, x := range xs {
		a := sets[set[i]]
		out[i] = a.top
		if !std || a.n < 2 {
			continue
		}
		div := a.n - 1
		if population {
			div = a.n
		}
		s := math.Sqrt(a.ss/div) + 1e-6
		out[i] = a.top / s * (1 + math.Abs(x-a.sum/a.n)/s)
	}
	return out
}

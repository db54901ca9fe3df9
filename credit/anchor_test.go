package credit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/internal/difflib"
)

// gigpoTwin is GiGPO by its definition: each row against every other row.
func gigpoTwin(b *Batch, c EstimatorConfig, same func(i, j int) bool) []float64 {
	returns := returnsTwin(b, c)
	episode := make([]float64, len(b.Group))
	for i := range episode {
		episode[i] = b.Return[i]
		if !b.Valid[i] {
			episode[i] -= c.InvalidPenalty
		}
	}
	out := make([]float64, len(b.Group))
	for i := range out {
		var e, s []float64
		for j := range out {
			if b.Group[i] == b.Group[j] {
				e = append(e, episode[j])
				if same(i, j) {
					s = append(s, returns[j])
				}
			}
		}
		if len(e) == 1 {
			out[i] = episode[i]
			if c.Norm == NormMeanStd {
				out[i] /= 1 + c.Epsilon
			}
		} else {
			out[i] = deviation(episode[i], e, c, len(e)-1)
		}
		if len(s) > 1 {
			out[i] += c.StepWeight * deviation(returns[i], s, c, len(s)-1)
		}
	}
	return out
}

// returnsTwin discounts by powers instead of by recursion.
func returnsTwin(b *Batch, c EstimatorConfig) []float64 {
	out := make([]float64, len(b.Group))
	for i := range out {
		for j := range out {
			if b.Trajectory[i] == b.Trajectory[j] && b.Step[j] >= b.Step[i] {
				out[i] += math.Pow(c.Gamma, float64(b.Step[j]-b.Step[i])) * b.Reward[j]
			}
		}
		if !b.Valid[i] {
			out[i] -= c.InvalidPenalty
		}
	}
	return out
}

// deviation is x − mean, over std + ε where the norm says so, with divisor n for the variance.
// A deviation beyond float32's resolution of x is none.
func deviation(x float64, xs []float64, c EstimatorConfig, n int) float64 {
	sum, ss := 0.0, 0.0
	for _, y := range xs {
		sum += y
	}
	mean := sum / float64(len(xs))
	for _, y := range xs {
		ss += (y - mean) * (y - mean)
	}
	if math.Abs(x-mean) < 1e-9*math.Max(1, math.Abs(x)) {
		return 0
	}
	if c.Norm == NormMean {
		return x - mean
	}
	return (x - mean) / (math.Sqrt(ss/float64(n)) + c.Epsilon)
}

func TestGiGPOTwin(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 30 {
		b := randomBatch(rnd)
		for _, norm := range []Norm{NormMean, NormMeanStd} {
			c := DefaultEstimator(GiGPO)
			c.Norm, c.StepWeight, c.InvalidPenalty = norm, 0.7, 0.1
			same := func(i, j int) bool { return b.Anchor[i] == b.Anchor[j] }
			sameFloats(t, string(norm), mustEstimate(t, b, c).Values, gigpoTwin(b, c, same), 1e-6)
		}
	}
}

// hgpoTwin writes every context out as text.
func hgpoTwin(b *Batch, c EstimatorConfig) []float64 {
	returns := returnsTwin(b, c)
	at := make(map[[2]int]int)
	for i := range b.Group {
		at[[2]int{b.Trajectory[i], b.Step[i]}] = i
	}
	context := func(i, k int) string {
		if b.Step[i]+1 < k {
			return ""
		}
		parts := []string{fmt.Sprint(b.Group[i])}
		for s := range k {
			parts = append(parts, b.Anchor[at[[2]int{b.Trajectory[i], b.Step[i] - s}]])
		}
		return strings.Join(parts, "\n")
	}
	base := mustValues(b, c)
	out := make([]float64, len(b.Group))
	for i := range out {
		sum, weight := 0.0, 0.0
		if c.BaseGroup && math.Abs(base[i]) > 1e-9 {
			sum, weight = base[i], 1
		}
		for k := 1; k <= c.History+1; k++ {
			var xs []float64
			for j := range out {
				if x := context(i, k); x != "" && x == context(j, k) {
					xs = append(xs, returns[j])
				}
			}
			if len(xs) < 2 {
				continue
			}
			if a := deviation(returns[i], xs, c, len(xs)); a != 0 {
				w := math.Pow(float64(k+1), c.LengthAlpha)
				sum, weight = sum+w*a, weight+w
			}
		}
		out[i] = sum / (weight + c.Epsilon)
	}
	return out
}

// mustValues are the episode advantages that HGPO's base group uses.
func mustValues(b *Batch, c EstimatorConfig) []float64 {
	c.Name = DrGRPO
	if c.Norm == NormMeanStd {
		c.Name = GRPO
	}
	r, err := Estimate(b, c)
	if err != nil {
		panic(err)
	}
	return r.Values
}

func TestHGPOTwin(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 20 {
		b := randomBatch(rnd)
		for _, norm := range []Norm{NormMean, NormMeanStd} {
			for _, base := range []bool{false, true} {
				for history := range 4 {
					c := DefaultEstimator(HGPO)
					c.Norm, c.BaseGroup, c.History, c.LengthAlpha = norm, base, history, 1.5
					what := fmt.Sprintf("%s, base group %v, history %d", norm, base, history)
					sameFloats(t, what, mustEstimate(t, b, c).Values, hgpoTwin(b, c), 1e-6)
				}
			}
		}
	}
}

// prefix is a similarity that is cheap to reason about: as many equal leading bytes as the threshold
// asks of the first string.
func prefix(a, b string, threshold float64) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return float64(n) >= threshold*float64(len(a))
}

// TestSimilarAnchors compares with the greedy rule without any memory of earlier observations.
func TestSimilarAnchors(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 30 {
		b := randomBatch(rnd)
		calls := 0
		b.Similar = func(x, y string, threshold float64) bool { calls++; return prefix(x, y, threshold) }
		for i := range b.Anchor {
			b.Anchor[i] = strings.Repeat("a", rnd.IntN(4)) + strings.Repeat("b", rnd.IntN(4))
		}
		got, err := AnchorGroups(b, 0.6)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]int, len(got))
		type cluster struct {
			group int
			rep   string
		}
		var clusters []cluster
		for i, obs := range b.Anchor {
			k := slices.IndexFunc(clusters, func(c cluster) bool {
				return c.group == b.Group[i] && prefix(obs, c.rep, 0.6)
			})
			if k < 0 {
				k = len(clusters)
				clusters = append(clusters, cluster{b.Group[i], obs})
			}
			want[i] = k
		}
		if !slices.Equal(IDs(got), IDs(want)) {
			t.Fatalf("anchors %q in groups %v: got %v, want %v", b.Anchor, b.Group, got, want)
		}
		c := DefaultEstimator(GiGPO)
		c.AnchorSimilarity = 0.6
		same := func(i, j int) bool { return want[i] == want[j] }
		sameFloats(t, "similar", mustEstimate(t, b, c).Values, gigpoTwin(b, c, same), 1e-6)
		if calls == 0 && len(clusters) > len(slices.Compact(slices.Sorted(slices.Values(b.Group)))) {
			t.Error("Similar was never asked")
		}
	}
}

// TestDifflibAnchors joins observations that differ in a digit, with the ratio that the original uses.
func TestDifflibAnchors(t *testing.T) {
	t.Parallel()
	b := &Batch{
		Group: []int{1, 1, 1, 2}, Trajectory: []int{1, 2, 3, 4}, Return: []float64{0, 0, 0, 0}, Similar: difflib.Similar,
		Anchor: []string{
			"You are in the middle of a room. You see a desk 1 and a lamp 1.", "You are in the middle of a room. You see a desk 2 and a lamp 1.",
			"On the shelf 3, you see nothing.", "You are in the middle of a room. You see a desk 1 and a lamp 1.",
		},
	}
	for threshold, want := range map[float64][]int{0: {0, 1, 2, 3}, 0.95: {0, 0, 1, 2}, 0.99: {0, 1, 2, 3}} {
		got, err := AnchorGroups(b, threshold)
		if err != nil || !slices.Equal(IDs(got), want) {
			t.Errorf("threshold %v: clusters %v, %v, want %v", threshold, got, err, want)
		}
	}
}

func TestAnchorGroupsRefuses(t *testing.T) {
	t.Parallel()
	b := &Batch{Group: []int{1}, Trajectory: []int{1}, Return: []float64{1}, Anchor: []string{"a"}}
	if _, err := AnchorGroups(b, 1.5); err == nil || !strings.Contains(err.Error(), "anchor_similarity is 1.5") {
		t.Errorf("threshold 1.5: %v", err)
	}
	b.Anchor = nil
	if _, err := AnchorGroups(b, 0); err == nil {
		t.Error("no anchors: no error")
	}
	if _, err := StepReturns(b, 0.9); err == nil || !strings.Contains(err.Error(), "step rewards") {
		t.Errorf("no rewards: %v", err)
	}
	b.Reward = []float64{1}
	if _, err := StepReturns(b, 2); err == nil {
		t.Error("γ = 2: no error")
	}
}

// TestHGPODropsTies: a return equal to its context's mean has no part, in any order of rows. The
// returns are such that adding them in some orders misses their exact mean.
func TestHGPODropsTies(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	returns := []float64{0.1, 0.2, 0.3, 0.7, 0.4, 0.5, 0.6}
	for range 20 {
		order := rnd.Perm(len(returns))
		b := &Batch{}
		for i, j := range order {
			b.Group, b.Trajectory, b.Step = append(b.Group, 1), append(b.Trajectory, i), append(b.Step, 0)
			b.Reward, b.Return, b.Anchor = append(b.Reward, returns[j]), append(b.Return, returns[j]), append(b.Anchor, "x")
		}
		r := mustEstimate(t, b, DefaultEstimator(HGPO))
		for i, j := range order {
			if zero := r.Values[i] == 0; zero != (returns[j] == 0.4) {
				t.Fatalf("order %v: return %v has advantage %v", order, returns[j], r.Values[i])
			}
		}
	}
}

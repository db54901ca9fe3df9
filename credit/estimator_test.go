package credit

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// TestPermutationOfRows: the order of rows and groups changes nothing, in any variant.
func TestPermutationOfRows(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 20 {
		b := randomBatch(rnd)
		order := rnd.Perm(len(b.Group))
		p := b.permuted(order)
		for _, c := range configs() {
			got, want := mustEstimate(t, p, c), mustEstimate(t, b, c)
			back := make([]float64, len(order))
			for i, j := range order {
				back[j] = got.Values[i]
			}
			sameFloats(t, c.label(), back, want.Values, 1e-9)
			if got.Groups != want.Groups || got.Singles != want.Singles || got.Flat != want.Flat ||
				got.Anchors != want.Anchors || got.LoneRows != want.LoneRows {
				t.Fatalf("%s: counts %+v, want %+v", c.label(), got, want)
			}
		}
	}
}

// TestRenumbering: names of groups and trajectories carry no meaning, nor does their density.
func TestRenumbering(t *testing.T) {
	t.Parallel()
	b := randomBatch(newRand(t))
	p := b.permuted(identity(len(b.Group)))
	for i := range p.Group {
		p.Group[i] = -1e12 * (p.Group[i] + 3)
		p.Trajectory[i] = 1 << 40 / p.Trajectory[i]
	}
	for _, c := range configs() {
		sameFloats(t, c.label(), mustEstimate(t, p, c).Values, mustEstimate(t, b, c).Values, 0)
	}
}

func identity(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestScalingRewards: GRPO divides the scale out again, up to ε; Dr.GRPO and RLOO carry it along.
func TestScalingRewards(t *testing.T) {
	t.Parallel()
	b := randomBatch(newRand(t))
	scaled := b.permuted(identity(len(b.Group)))
	for i := range scaled.Return {
		scaled.Return[i] *= 8 // a power of two: no rounding
	}
	for _, name := range []Estimator{GRPO, DrGRPO, RLOO} {
		c := DefaultEstimator(name)
		c.Epsilon = 1e-12
		got, want := mustEstimate(t, scaled, c), mustEstimate(t, b, c)
		for i := range want.Values {
			factor := 8.0
			if single := groupRows(b, i) == 1; name == GRPO && !single {
				factor = 1
			}
			want.Values[i] *= factor
		}
		sameFloats(t, string(name), got.Values, want.Values, 1e-9)
	}
}

func groupRows(b *Batch, row int) int {
	n := 0
	for _, g := range b.Group {
		if g == b.Group[row] {
			n++
		}
	}
	return n
}

// TestShiftingRewards: what every member of a group gets tells nothing.
func TestShiftingRewards(t *testing.T) {
	t.Parallel()
	b := randomBatch(newRand(t))
	shifted := b.permuted(identity(len(b.Group)))
	for i := range shifted.Return {
		shifted.Return[i] += 3
	}
	for _, name := range []Estimator{GRPO, DrGRPO, RLOO} {
		got, want := mustEstimate(t, shifted, DefaultEstimator(name)), mustEstimate(t, b, DefaultEstimator(name))
		for i := range want.Values {
			if groupRows(b, i) > 1 && math.Abs(got.Values[i]-want.Values[i]) > 1e-9*math.Max(1, math.Abs(want.Values[i])) {
				t.Errorf("%s, row %d: %v after the shift, %v before", name, i, got.Values[i], want.Values[i])
			}
		}
	}
}

// TestSumsToZero: RLOO over rows, and the mean-centred estimators, balance within each group.
func TestSumsToZero(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 20 {
		b := randomBatch(rnd)
		for _, name := range []Estimator{RLOO, GRPO, DrGRPO} {
			r := mustEstimate(t, b, DefaultEstimator(name))
			sums := make(map[int]float64)
			for i, a := range r.Values {
				if groupRows(b, i) > 1 {
					sums[b.Group[i]] += a
				}
			}
			for g, s := range sums {
				if math.Abs(s) > 1e-9*math.Max(1, maxAbs(r.Values)) {
					t.Fatalf("%s, group %d: advantages sum to %v", name, g, s)
				}
			}
		}
	}
}

// TestFlatGroupHasNoSignal: equal returns that float64 cannot average exactly still give exactly 0.
func TestFlatGroupHasNoSignal(t *testing.T) {
	t.Parallel()
	b := &Batch{Group: []int{1, 1, 1}, Trajectory: []int{1, 2, 3}, Return: []float64{0.1, 0.1, 0.1}, Tokens: []int{1, 2, 3}}
	for _, name := range []Estimator{GRPO, DrGRPO, RLOO, ReinforcePP} {
		r := mustEstimate(t, b, DefaultEstimator(name))
		for i, a := range r.Values {
			if a != 0 {
				t.Errorf("%s, row %d: %v, want exactly 0", name, i, a)
			}
		}
		if r.Flat != 1 || r.Singles != 0 {
			t.Errorf("%s: %d flat and %d single groups, want 1 and 0", name, r.Flat, r.Singles)
		}
	}
}

func TestSingleRowGroup(t *testing.T) {
	t.Parallel()
	b := &Batch{Group: []int{4}, Trajectory: []int{9}, Return: []float64{10}, Tokens: []int{3}}
	for name, want := range map[Estimator]float64{GRPO: 10 / (1 + 1e-6), DrGRPO: 10, RLOO: 10} {
		r := mustEstimate(t, b, DefaultEstimator(name))
		sameFloats(t, string(name), r.Values, []float64{want}, 1e-15)
		if r.Singles != 1 {
			t.Errorf("%s: %d singles, want 1", name, r.Singles)
		}
	}
}

// TestTrajectoryScope: a trajectory of many rows weighs no more than one of one row, and its lowest
// step stands for it wherever it lies in the batch.
func TestTrajectoryScope(t *testing.T) {
	t.Parallel()
	b := &Batch{
		Group: []int{1, 1, 1, 1}, Trajectory: []int{5, 5, 5, 6}, Step: []int{2, 0, 1, 0},
		Return: []float64{4, 4, 4, 0}, Valid: []bool{false, true, true, true},
	}
	c := DefaultEstimator(DrGRPO)
	c.Scope, c.InvalidPenalty = ScopeTrajectories, 1
	r := mustEstimate(t, b, c)
	// The mean is that of 4 (step 0, valid) and 0; step 2 pays the penalty for itself.
	sameFloats(t, "trajectories", r.Values, []float64{1, 2, 2, -2}, 0)
	if r.Invalid != 1 {
		t.Errorf("%d invalid rows, want 1", r.Invalid)
	}
	c.Scope = ScopeRows
	sameFloats(t, "rows", mustEstimate(t, b, c).Values, []float64{0.25, 1.25, 1.25, -2.75}, 0)
}

// TestReinforcePP compares with whitening every token on its own.
func TestReinforcePP(t *testing.T) {
	t.Parallel()
	b := randomBatch(newRand(t))
	base := mustEstimate(t, b, DefaultEstimator(DrGRPO)).Values
	tokens := make([][]float64, len(base))
	for i, a := range base {
		for range b.Tokens[i] {
			tokens[i] = append(tokens[i], a)
		}
	}
	if err := Whiten(tokens); err != nil {
		t.Skip("one token in the whole batch")
	}
	want := make([]float64, len(base))
	for i := range want {
		want[i] = tokens[i][0]
	}
	sameFloats(t, "whitened", mustEstimate(t, b, DefaultEstimator(ReinforcePP)).Values, want, 1e-9)
}

func TestClipAdvantages(t *testing.T) {
	t.Parallel()
	adv := []float64{-3, -2, 0, 1, 2.5}
	if share := ClipAdvantages(adv, 2); share != 0.4 {
		t.Errorf("share %v, want 0.4", share)
	}
	sameFloats(t, "clipped", adv, []float64{-2, -2, 0, 1, 2}, 0)
	if ClipAdvantages(adv, 0) != 0 || ClipAdvantages(nil, 2) != 0 {
		t.Error("β = 0 and no rows must clip nothing")
	}
	b := &Batch{Group: []int{1, 1}, Trajectory: []int{1, 2}, Return: []float64{10, 0}}
	c := DefaultEstimator(DrGRPO)
	c.AdvClip = 2
	if r := mustEstimate(t, b, c); r.Values[0] != 2 || r.Values[1] != -2 || r.ClipShare != 1 {
		t.Errorf("%v with share %v, want [2 -2] with 1", r.Values, r.ClipShare)
	}
}

func TestEstimateRefuses(t *testing.T) {
	t.Parallel()
	good := func() *Batch {
		return &Batch{
			Group: []int{1, 1}, Trajectory: []int{1, 2}, Return: []float64{1, 0}, Reward: []float64{1, 0},
			Anchor: []string{"a", "a"}, Tokens: []int{1, 1},
		}
	}
	for _, c := range []struct {
		name   string
		cfg    EstimatorConfig
		change func(*Batch, *EstimatorConfig)
		kind   error
		want   string
	}{
		{"NaN", DefaultEstimator(GRPO), func(b *Batch, _ *EstimatorConfig) { b.Return[1] = math.NaN() }, ErrNotFinite, "row 1: return is NaN"},
		{"infinity", DefaultEstimator(GiGPO), func(b *Batch, _ *EstimatorConfig) { b.Reward[0] = math.Inf(-1) }, ErrNotFinite, "row 0: reward is -Inf"},
		{"overflow", DefaultEstimator(GRPO), func(b *Batch, _ *EstimatorConfig) { b.Return = []float64{math.MaxFloat64, -math.MaxFloat64} }, ErrNotFinite, "a variance overflows"},
		{"length", DefaultEstimator(GRPO), func(b *Batch, _ *EstimatorConfig) { b.Return = b.Return[:1] }, ErrLength, "return has 1 rows, group has 2"},
		{"trajectory length", DefaultEstimator(GRPO), func(b *Batch, _ *EstimatorConfig) { b.Trajectory = nil }, ErrLength, "trajectory has 0 rows, group has 2"},
		{"valid length", DefaultEstimator(GRPO), func(b *Batch, _ *EstimatorConfig) { b.Valid = []bool{true} }, ErrLength, "valid has 1 rows"},
		{"negative tokens", DefaultEstimator(GRPO), func(b *Batch, _ *EstimatorConfig) { b.Tokens[1] = -1 }, ErrConfig, "row 1: -1 tokens"},
		{"torn trajectory", DefaultEstimator(GRPO), func(b *Batch, _ *EstimatorConfig) { b.Group[1], b.Trajectory[1] = 2, 1 }, ErrConfig, "trajectory 1 is in group 1 (row 0) and in group 2 (row 1)"},
		{"no anchors", DefaultEstimator(GiGPO), func(b *Batch, _ *EstimatorConfig) { b.Anchor = nil }, nil, "batch has none"},
		{"no rewards", DefaultEstimator(HGPO), func(b *Batch, _ *EstimatorConfig) { b.Reward = nil }, nil, "batch has none"},
		{"no tokens", DefaultEstimator(ReinforcePP), func(b *Batch, _ *EstimatorConfig) { b.Tokens = nil }, nil, "no token counts"},
		{"one token", DefaultEstimator(ReinforcePP), func(b *Batch, _ *EstimatorConfig) { b.Tokens = []int{1, 0} }, nil, "two tokens"},
		{"no similarity", DefaultEstimator(GiGPO), func(_ *Batch, c *EstimatorConfig) { c.AnchorSimilarity = 0.95 }, nil, "no Similar function"},
		{"similarity range", DefaultEstimator(GiGPO), func(_ *Batch, c *EstimatorConfig) { c.AnchorSimilarity = 1 }, ErrConfig, "anchor_similarity is 1"},
		{"name", DefaultEstimator("ppo"), nil, ErrConfig, `estimator "ppo" is unknown`},
		{"scope", DefaultEstimator(GRPO), func(_ *Batch, c *EstimatorConfig) { c.Scope = "all" }, ErrConfig, `scope "all"`},
		{"norm", DefaultEstimator(GRPO), func(_ *Batch, c *EstimatorConfig) { c.Norm = "" }, ErrConfig, `norm ""`},
		{"epsilon", DefaultEstimator(GRPO), func(_ *Batch, c *EstimatorConfig) { c.Epsilon = 0 }, ErrConfig, "epsilon is 0"},
		{"gamma", DefaultEstimator(GRPO), func(_ *Batch, c *EstimatorConfig) { c.Gamma = math.NaN() }, ErrConfig, "gamma is NaN"},
		{"history", DefaultEstimator(HGPO), func(_ *Batch, c *EstimatorConfig) { c.History = -1 }, ErrConfig, "history is -1"},
		{"adv clip", DefaultEstimator(GRPO), func(_ *Batch, c *EstimatorConfig) { c.AdvClip = -2 }, ErrConfig, "adv_clip is -2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, cfg := good(), c.cfg
			if c.change != nil {
				c.change(b, &cfg)
			}
			r, err := Estimate(b, cfg)
			if err == nil {
				t.Fatalf("no error, advantages %v", r.Values)
			}
			if !strings.HasPrefix(err.Error(), "estimate ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q in it", err, c.want)
			}
			if c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("error %q is not %q", err, c.kind)
			}
		})
	}
}

func TestEmptyBatch(t *testing.T) {
	t.Parallel()
	for _, name := range []Estimator{GRPO, DrGRPO, RLOO, GiGPO, HGPO} {
		r, err := Estimate(&Batch{Reward: []float64{}, Anchor: []string{}}, DefaultEstimator(name))
		if err != nil || len(r.Values) != 0 || r.Groups != 0 || r.Stats != (Stats{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

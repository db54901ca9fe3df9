package credit

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// gaeTwin sums the series instead of recursing.
func gaeTwin(rewards, values []float64, gamma, lambda, bootstrap float64) []float64 {
	out := make([]float64, len(rewards))
	value := func(t int) float64 {
		if t == len(values) {
			return bootstrap
		}
		return values[t]
	}
	for t := range out {
		for l := t; l < len(rewards); l++ {
			delta := rewards[l] + gamma*value(l+1) - value(l)
			out[t] += math.Pow(gamma*lambda, float64(l-t)) * delta
		}
	}
	return out
}

func TestGAE(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 50 {
		n := rnd.IntN(20)
		rewards, values := make([]float64, n), make([]float64, n)
		for i := range rewards {
			rewards[i], values[i] = rnd.NormFloat64(), rnd.NormFloat64()
		}
		gamma, lambda, bootstrap := rnd.Float64(), rnd.Float64(), rnd.NormFloat64()
		adv, targets, err := GAE(rewards, values, gamma, lambda, bootstrap)
		if err != nil {
			t.Fatal(err)
		}
		sameFloats(t, "gae", adv, gaeTwin(rewards, values, gamma, lambda, bootstrap), 1e-12)
		for i := range targets {
			if targets[i] != adv[i]+values[i] {
				t.Fatalf("target %d is %v, want %v", i, targets[i], adv[i]+values[i])
			}
		}
	}
	// γ = λ = 1 is return minus value.
	adv, _, err := GAE([]float64{0, 0, 1}, []float64{0.5, 0.25, 0.75}, 1, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	sameFloats(t, "return minus value", adv, []float64{0.5, 0.75, 0.25}, 1e-15)
}

func TestGAERefuses(t *testing.T) {
	t.Parallel()
	one := []float64{1}
	for want, call := range map[string]func() error{
		"rewards have 1 tokens, values have 0": func() error { _, _, err := GAE(one, nil, 1, 1, 0); return err },
		"token 0: reward is NaN":               func() error { _, _, err := GAE([]float64{math.NaN()}, one, 1, 1, 0); return err },
		"bootstrap value is +Inf":              func() error { _, _, err := GAE(one, one, 1, 1, math.Inf(1)); return err },
		"gamma is 2":                           func() error { _, _, err := GAE(one, one, 2, 1, 0); return err },
		"lambda is -1":                         func() error { _, _, err := GAE(one, one, 1, -1, 0); return err },
		"1 tokens, want two or more":           func() error { return Whiten([][]float64{{}, {1}}) },
		"row 1: token 0 is -Inf":               func() error { return Whiten([][]float64{{1}, {math.Inf(-1)}}) },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

func TestWhiten(t *testing.T) {
	t.Parallel()
	rows := [][]float64{{1, 2, 3}, {}, {6}}
	if err := Whiten(rows); err != nil {
		t.Fatal(err)
	}
	// mean 3, unbiased variance 14/3
	s := math.Sqrt(14.0/3 + 1e-8)
	sameFloats(t, "row 0", rows[0], []float64{-2 / s, -1 / s, 0}, 1e-12)
	sameFloats(t, "row 2", rows[2], []float64{3 / s}, 1e-12)
}

func TestDynamicSampling(t *testing.T) {
	t.Parallel()
	b := &Batch{
		Group:      []int{5, 5, 5, 7, 7, 9, 9, 5},
		Trajectory: []int{1, 1, 2, 3, 4, 6, 6, 8},
		Return:     []float64{10, 10, 10, 0, 10, 10, 10, 10},
	}
	got, err := DynamicSampling(b, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []Verdict{
		{Group: 5, Rows: 4, Trajectories: 3, Returns: Stats{3, 10, 10, 10}, Reason: DropEqual},
		{Group: 7, Rows: 2, Trajectories: 2, Returns: Stats{2, 5, 0, 10}},
		{Group: 9, Rows: 2, Trajectories: 1, Returns: Stats{1, 10, 10, 10}, Reason: DropSingle},
	}
	if !slices.Equal(got, want) {
		t.Errorf("verdicts %+v, want %+v", got, want)
	}
	for i, text := range []string{
		"group 5 dropped: all 3 trajectories returned 10", "group 7 kept: 2 trajectories returned 0 to 10",
		"group 9 dropped: it has one trajectory",
	} {
		if got[i].String() != text || got[i].Keep() != (i == 1) {
			t.Errorf("verdict %d says %q, kept %v", i, got[i], got[i].Keep())
		}
	}
	if got, err = DynamicSampling(b, true); err != nil || !got[2].Keep() {
		t.Errorf("single trajectory with keepSingles: %v, %v", got[2], err)
	}
	b.Return[3] = math.NaN()
	if _, err := DynamicSampling(b, true); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN: %v", err)
	}
}

// TestDynamicSamplingOf judges rows by a number that differs within a trajectory: rows that are not all
// alike keep their group, though the returns are.
func TestDynamicSamplingOf(t *testing.T) {
	t.Parallel()
	b := &Batch{
		Group:      []int{0, 0, 0, 1, 1, 2, 2},
		Trajectory: []int{1, 1, 2, 3, 4, 5, 5},
		Return:     []float64{1, 1, 1, 1, 1, 1, 1},
	}
	got, err := DynamicSamplingOf(b, []float64{1, 0.9, 1, 2, 2, 1, 0.9}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []Verdict{
		{Group: 0, Rows: 3, Trajectories: 2, Returns: Stats{2, 1, 0.9, 1}},
		{Group: 1, Rows: 2, Trajectories: 2, Returns: Stats{2, 2, 2, 2}, Reason: DropEqual},
		{Group: 2, Rows: 2, Trajectories: 1, Returns: Stats{1, 1, 0.9, 1}, Reason: DropSingle},
	}
	if !slices.Equal(got, want) {
		t.Errorf("verdicts %+v, want %+v", got, want)
	}
	if _, err := DynamicSamplingOf(b, []float64{1}, false); !errors.Is(err, ErrLength) {
		t.Errorf("one value for seven rows: %v", err)
	}
	if _, err := DynamicSamplingOf(b, []float64{1, 1, 1, 1, 1, 1, math.Inf(1)}, false); !errors.Is(err, ErrNotFinite) {
		t.Errorf("an infinite value: %v", err)
	}
}

// TestDroppedGroupsHadNoSignal ties the filter to the estimator it serves: a dropped group's GRPO
// advantages are all 0, a kept group's are not.
func TestDroppedGroupsHadNoSignal(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 30 {
		b := randomBatch(rnd)
		verdicts, err := DynamicSampling(b, false)
		if err != nil {
			t.Fatal(err)
		}
		c := DefaultEstimator(GRPO)
		c.Scope = ScopeTrajectories
		adv := mustEstimate(t, b, c).Values
		for _, v := range verdicts {
			signal := slices.ContainsFunc(identity(len(adv)), func(i int) bool { return b.Group[i] == v.Group && adv[i] != 0 })
			if v.Trajectories > 1 && signal != v.Keep() {
				t.Fatalf("%v: signal %v", v, signal)
			}
		}
	}
}

func TestOverlong(t *testing.T) {
	t.Parallel()
	o := Overlong{MaxTokens: 100, Buffer: 20, Factor: 0.5}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	for tokens, want := range map[int]float64{0: 0, 80: 0, 85: -0.125, 90: -0.25, 100: -0.5, 130: -0.5} {
		if got := o.Penalty(tokens); got != want {
			t.Errorf("%d tokens: %v, want %v", tokens, got, want)
		}
	}
	for _, bad := range []Overlong{{100, 0, 1}, {100, 101, 1}, {100, 10, -1}, {100, 10, math.NaN()}} {
		if err := bad.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestLossWeights checks the modes on token losses against their definitions.
func TestLossWeights(t *testing.T) {
	t.Parallel()
	losses := [][]float64{{1, 2, 3}, {4}, {}, {5, 7}}
	tokens := []int{3, 1, 0, 2}
	for mode, want := range map[LossMode]float64{
		TokenMean:        22.0 / 6,
		SeqMeanTokenMean: (2.0 + 4 + 0 + 6) / 4,
		SeqMeanTokenSum:  22.0 / 4,
		SeqSumNorm:       22.0 / 10,
	} {
		w, err := LossWeights(tokens, mode, 10)
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for i, row := range losses {
			for _, l := range row {
				got += w[i] * l
			}
		}
		sameFloats(t, string(mode), []float64{got}, []float64{want}, 1e-12)
	}
	for want, call := range map[string]func() ([]float64, error){
		"constant length is 0": func() ([]float64, error) { return LossWeights(tokens, SeqSumNorm, 0) },
		`mode "sum"`:           func() ([]float64, error) { return LossWeights(tokens, "sum", 10) },
		"row 0: -1 tokens":     func() ([]float64, error) { return LossWeights([]int{-1}, TokenMean, 10) },
	} {
		if _, err := call(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ppo", "grpo", "dr_grpo", "dapo", "gspo"} {
		h, err := HintsFor(name)
		if err != nil || h.Name != name || h.ClipLow <= 0 || h.ClipHigh < h.ClipLow {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
		if (h.Ratio == RatioSequence) != (name == "gspo") || (h.ClipHigh > h.ClipLow) != (name == "dapo" || name == "gspo") {
			t.Errorf("%s: %+v", name, h)
		}
	}
	if _, err := HintsFor("trpo"); !errors.Is(err, ErrConfig) {
		t.Errorf("trpo: %v", err)
	}
}

func TestSequenceIDs(t *testing.T) {
	t.Parallel()
	b := &Batch{Group: []int{1, 1, 1}, Trajectory: []int{9, 4, 9}, Return: []float64{0, 0, 0}}
	for scope, want := range map[Scope][]int{ScopeRows: {0, 1, 2}, ScopeTrajectories: {0, 1, 0}} {
		if got, err := SequenceIDs(b, scope); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", scope, got, err, want)
		}
	}
	if _, err := SequenceIDs(b, "x"); !errors.Is(err, ErrConfig) {
		t.Errorf("scope x: %v", err)
	}
}

func TestSDPO(t *testing.T) {
	t.Parallel()
	student, teacher := []float32{-1, -2, -3}, []float32{-1.5, -1, -3}
	out := make([]float32, 3)
	if err := SDPO(out, student, teacher, nil); err != nil || !slices.Equal(out, []float32{-0.5, 1, 0}) {
		t.Errorf("%v, %v", out, err)
	}
	mask := []bool{true, false, true}
	if err := SDPO(out, student, teacher, mask); err != nil || !slices.Equal(out, []float32{-0.5, 0, 0}) {
		t.Errorf("masked: %v, %v", out, err)
	}
	teacher[2] = float32(math.NaN())
	for want, call := range map[string]func() error{
		"token 2: student logp is -3, teacher logp is NaN": func() error { return SDPO(out, student, teacher, mask) },
		"student logp has 1 tokens, out has 3":             func() error { return SDPO(out, student[:1], teacher, nil) },
		"teacher logp has 0 tokens, out has 3":             func() error { return SDPO(out, student, nil, nil) },
		"mask has 2 tokens, out has 3":                     func() error { return SDPO(out, student, teacher, mask[:2]) },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// TestReweightIsFuse: the reference's interface is the fusion without its other stages.
func TestReweightIsFuse(t *testing.T) {
	t.Parallel()
	rows := randomRows[float32](newRand(t), 12)
	cfg := DefaultFusion()
	cfg.Update = 7
	want, err := Fuse(rows, cfg)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Reweight(rows, cfg.SERL, 7)
	if err != nil || got.SERL != want.SERL || got.Config != want.Config {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

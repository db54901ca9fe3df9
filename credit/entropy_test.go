package credit

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func randomResponses(rnd *rand.Rand, bounded bool) ResponseRows {
	var r ResponseRows
	for g := range 1 + rnd.IntN(3) {
		for i := range 1 + rnd.IntN(7) {
			r.Group = append(r.Group, g)
			r.Trajectory = append(r.Trajectory, i/2)
			h := Exact(rnd.ExpFloat64())
			if bounded {
				h.Low = h.Mean * rnd.Float64()
				h.High = h.Mean + 0.5*rnd.Float64()
			}
			r.Entropy = append(r.Entropy, h)
		}
	}
	return r
}

func mustAEM(t *testing.T, r ResponseRows, c AEMConfig) *Modulation {
	t.Helper()
	m, err := AEM(r, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAEMMean: α averages to 1 over each scope, up to ε/mean(exp(−λH̃)) < ε·e^λ, and is positive, in
// every ablation.
func TestAEMMean(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 50 {
		r := randomResponses(rnd, false)
		for _, scope := range []EntropyScope{EntropyGroup, EntropyTrajectory, EntropyBatch} {
			for _, shuffle := range []bool{false, true} {
				for _, reverse := range []bool{false, true} {
					c := DefaultAEM()
					c.Scope, c.Shuffle, c.Reverse, c.Seed, c.Lambda = scope, shuffle, reverse, rnd.Uint64(), 2*rnd.Float64()
					m := mustAEM(t, r, c)
					scopes := r.scopeRows(scope)
					for k := range scopes.len() {
						sum := 0.0
						for _, i := range scopes.of(k) {
							sum += m.Factor[i]
							if m.Factor[i] <= 0 {
								t.Fatalf("row %d: α = %v", i, m.Factor[i])
							}
						}
						if mean := sum / float64(scopes.size(k)); math.Abs(mean-1) > 1e-8*math.Exp(2) {
							t.Fatalf("%+v: α averages to %v", c, mean)
						}
					}
				}
			}
		}
	}
}

// TestAEMOrder: more entropy, less weight; reverse turns that round.
func TestAEMOrder(t *testing.T) {
	t.Parallel()
	r := ResponseRows{Group: []int{1, 1, 1}, Entropy: []Interval{Exact(0.2), Exact(1.2), Exact(0.7)}}
	c := DefaultAEM()
	a := mustAEM(t, r, c)
	if !(a.Factor[0] > a.Factor[2] && a.Factor[2] > a.Factor[1]) || a.Modulated != 3 {
		t.Errorf("α = %v of %d rows for entropies 0.2, 1.2, 0.7", a.Factor, a.Modulated)
	}
	c.Reverse = true
	if b := mustAEM(t, r, c); !(b.Factor[0] < b.Factor[2] && b.Factor[2] < b.Factor[1]) {
		t.Errorf("reversed α = %v for entropies 0.2, 1.2, 0.7", b.Factor)
	}
	c = DefaultAEM()
	c.Lambda = 0
	sameFloats(t, "λ = 0", mustAEM(t, r, c).Factor, []float64{1, 1, 1}, 1e-7)
}

func TestAEMSkipsNarrowScopes(t *testing.T) {
	t.Parallel()
	r := ResponseRows{
		Group:   []int{1, 1, 2, 2, 3, 4, 4},
		Entropy: []Interval{Exact(0.5), Exact(0.59), Exact(0), Exact(0.125), Exact(7), Exact(2), Exact(2)},
	}
	c := DefaultAEM()
	m := mustAEM(t, r, c)
	for i, skipped := range []bool{true, true, false, false, true, true, true} {
		if (m.Factor[i] == 1) != skipped {
			t.Errorf("row %d: α = %v, skipped %v", i, m.Factor[i], skipped)
		}
	}
	if m.Modulated != 2 {
		t.Errorf("%d rows modulated, want 2", m.Modulated)
	}
	c.MinRange = 0 // equal entropies have no range to divide by, whatever the setting
	if m := mustAEM(t, r, c); m.Factor[5] != 1 || m.Factor[6] != 1 || m.Modulated != 4 {
		t.Errorf("min range 0: %v, %d modulated", m.Factor, m.Modulated)
	}
}

// TestAEMShuffle: a deal of the same factors within each scope, fixed by the seed.
func TestAEMShuffle(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	var r ResponseRows
	for i := range 40 {
		r.Group, r.Entropy = append(r.Group, i%2), append(r.Entropy, Exact(rnd.Float64()))
	}
	c := DefaultAEM()
	plain := mustAEM(t, r, c).Factor
	c.Shuffle, c.Seed = true, 11
	got, again := mustAEM(t, r, c).Factor, mustAEM(t, r, c).Factor
	if !slices.Equal(got, again) {
		t.Error("one seed, two shuffles")
	}
	c.Seed = 12
	if slices.Equal(got, plain) || slices.Equal(got, mustAEM(t, r, c).Factor) {
		t.Error("the shuffle left 40 factors where they were, or ignores its seed")
	}
	for g := range 2 {
		var a, b []float64
		for i := range plain {
			if r.Group[i] == g {
				a, b = append(a, plain[i]), append(b, got[i])
			}
		}
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("group %d: the shuffle changed the factors", g)
		}
	}
}

// TestPermutationOfResponses: the order of rows changes no factor.
func TestPermutationOfResponses(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	r := randomResponses(rnd, true)
	order := rnd.Perm(len(r.Group))
	var p ResponseRows
	for _, j := range order {
		p.Group, p.Trajectory = append(p.Group, r.Group[j]), append(p.Trajectory, r.Trajectory[j])
		p.Entropy = append(p.Entropy, r.Entropy[j])
	}
	check := func(name string, got, want *Modulation) {
		back := make([]float64, len(order))
		for i, j := range order {
			back[j] = got.Factor[i]
		}
		sameFloats(t, name, back, want.Factor, 1e-12)
		if got.Undecided != want.Undecided || got.Modulated != want.Modulated || got.Clipped != want.Clipped {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for _, scope := range []EntropyScope{EntropyGroup, EntropyTrajectory, EntropyBatch} {
		c := DefaultAEM()
		c.Scope = scope
		check(string(scope), mustAEM(t, p, c), mustAEM(t, r, c))
	}
	got, err := EAR(p, DefaultEAR())
	want, err2 := EAR(r, DefaultEAR())
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	check("ear", got, want)
}

func TestEAR(t *testing.T) {
	t.Parallel()
	r := ResponseRows{
		Group:   []int{1, 1, 1, 2, 2},
		Entropy: []Interval{Exact(1), Exact(1.1), Exact(0.3), Exact(0), Exact(0)},
	}
	m, err := EAR(r, DefaultEAR())
	if err != nil {
		t.Fatal(err)
	}
	// The mean of the first group is 0.8: 1 + (0.8−1)/0.8 = 0.75, clipped; 0.625, clipped; 1.625, clipped.
	sameFloats(t, "γ", m.Factor, []float64{0.8, 0.8, 1.2, 1, 1}, 1e-15)
	if m.Clipped != 3 || m.Modulated != 3 {
		t.Errorf("%d clipped, %d modulated, want 3 and 3", m.Clipped, m.Modulated)
	}
	m, err = EAR(r, EARConfig{Kappa: 0.5, Clip: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	sameFloats(t, "γ at κ = 0.5", m.Factor, []float64{0.875, 0.8125, 1.2, 1, 1}, 1e-15)
}

// TestUndecidedNeverMisses draws entropies within their bounds: whenever two draws put one response's
// factor on two sides of 1, the response must have been counted.
func TestUndecidedNeverMisses(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	found := 0
	for range 150 {
		r := randomResponses(rnd, true)
		c := DefaultAEM()
		c.Reverse, c.Lambda = rnd.IntN(2) == 0, 0.1+2*rnd.Float64()
		groups := r.scopeRows(EntropyGroup)
		above, below := make([]bool, len(r.Group)), make([]bool, len(r.Group))
		earAbove, earBelow := make([]bool, len(r.Group)), make([]bool, len(r.Group))
		for range 60 {
			d := ResponseRows{Group: r.Group}
			for _, h := range r.Entropy {
				x := h.Low + rnd.Float64()*(h.High-h.Low)
				switch rnd.IntN(3) {
				case 0:
					x = h.Low
				case 1:
					x = h.High
				}
				d.Entropy = append(d.Entropy, Exact(x))
			}
			m, err := EAR(d, DefaultEAR())
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range mustAEM(t, d, c).Factor {
				above[i], below[i] = above[i] || a > 1+1e-6, below[i] || a < 1-1e-6
				earAbove[i], earBelow[i] = earAbove[i] || m.Factor[i] > 1, earBelow[i] || m.Factor[i] < 1
			}
		}
		for k := range groups.len() {
			members := groups.of(k)
			for _, i := range members {
				if above[i] && below[i] {
					found++
					if !aemUndecided(r.Entropy, members, i, c.signedLambda(), c.MinRange) {
						t.Fatalf("AEM %+v: row %d of %v in %v may fall on both sides and is not counted", c, i, members, r.Entropy)
					}
				}
				if earAbove[i] && earBelow[i] && !earUndecided(r.Entropy, members, i, DefaultEAR()) {
					t.Fatalf("EAR: row %d of %v in %v may fall on both sides and is not counted", i, members, r.Entropy)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no response fell on both sides: the test tests nothing")
	}
}

// TestUndecidedByHand: far apart, narrow bounds decide; where they overlap they do not; exact entropies
// always decide.
func TestUndecidedByHand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		h               []Interval
		aem, ear, bound int
	}{
		{"exact", []Interval{Exact(0.2), Exact(0.5), Exact(0.9), Exact(1.1)}, 0, 0, 0},
		{"apart", []Interval{{0.2, 0.1, 0.3}, {2, 1.9, 2.1}}, 0, 0, 2},
		{"overlapping", []Interval{{0.5, 0.1, 1.5}, {1, 0.2, 1.6}}, 2, 2, 2},
		{"within the skipped range", []Interval{{0.5, 0.48, 0.52}, {0.51, 0.49, 0.53}}, 0, 2, 2},
		{"one unsure", []Interval{Exact(1), {1, 0.5, 1.5}}, 2, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := ResponseRows{Group: make([]int, len(c.h)), Entropy: c.h}
			m := mustAEM(t, r, DefaultAEM())
			e, err := EAR(r, DefaultEAR())
			if err != nil {
				t.Fatal(err)
			}
			if m.Undecided != c.aem || e.Undecided != c.ear || m.Inexact != c.bound || e.Inexact != c.bound {
				t.Errorf("undecided %d (AEM) and %d (EAR) of %d inexact, want %d and %d of %d",
					m.Undecided, e.Undecided, m.Inexact, c.aem, c.ear, c.bound)
			}
		})
	}
}

func TestMeanEntropy(t *testing.T) {
	t.Parallel()
	h := []float32{0.5, 1.5, 0, 2, 1}
	got, err := MeanEntropy(h, nil, nil, nil)
	if err != nil || got != Exact(1) {
		t.Errorf("%v, %v, want exactly 1", got, err)
	}
	mask := []bool{true, true, false, false, true}
	got, err = MeanEntropy(h, []float32{0, 1, 9, 9, 0.5}, []float32{1, 2, 9, 9, 1.5}, mask)
	if want := (Interval{1, 0.5, 1.5}); err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := MeanEntropy[float32](nil, nil, nil, nil); err != nil || got != Exact(0) {
		t.Errorf("no tokens: %v, %v", got, err)
	}
	for want, call := range map[string]func() (Interval, error){
		"mask has 1 tokens, entropy has 5":         func() (Interval, error) { return MeanEntropy(h, nil, nil, mask[:1]) },
		"entropy_high has 0 tokens, entropy has 5": func() (Interval, error) { return MeanEntropy(h, h, nil, nil) },
		"entropy_low has 4 tokens, entropy has 5":  func() (Interval, error) { return MeanEntropy(h, h[:4], h, nil) },
		"mean entropy is NaN":                      func() (Interval, error) { return MeanEntropy([]float64{math.NaN()}, nil, nil, nil) },
	} {
		if _, err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

func TestEntropyRefuses(t *testing.T) {
	t.Parallel()
	good := ResponseRows{Group: []int{1, 1}, Trajectory: []int{1, 2}, Entropy: []Interval{Exact(1), Exact(2)}}
	for _, c := range []struct {
		name   string
		change func(*ResponseRows, *AEMConfig)
		kind   error
		want   string
	}{
		{"NaN", func(r *ResponseRows, _ *AEMConfig) { r.Entropy = []Interval{Exact(1), Exact(math.NaN())} }, ErrNotFinite, "row 1: entropy is NaN"},
		{"infinite bound", func(r *ResponseRows, _ *AEMConfig) { r.Entropy = []Interval{{1, 0, math.Inf(1)}, Exact(1)} }, ErrNotFinite, "row 0"},
		{"negative", func(r *ResponseRows, _ *AEMConfig) { r.Entropy = []Interval{Exact(-1), Exact(1)} }, ErrConfig, "row 0"},
		{"bounds crossed", func(r *ResponseRows, _ *AEMConfig) { r.Entropy = []Interval{Exact(1), {1, 1.5, 2}} }, ErrConfig, "row 1"},
		{"length", func(r *ResponseRows, _ *AEMConfig) { r.Entropy = r.Entropy[:1] }, ErrLength, "entropy has 1 rows, group has 2"},
		{"trajectories", func(r *ResponseRows, c *AEMConfig) { r.Trajectory, c.Scope = nil, EntropyTrajectory }, ErrLength, "trajectory has 0 rows"},
		{"lambda", func(_ *ResponseRows, c *AEMConfig) { c.Lambda = -1 }, ErrConfig, "aem.lambda is -1"},
		{"epsilon", func(_ *ResponseRows, c *AEMConfig) { c.Epsilon = math.Inf(1) }, ErrConfig, "aem.epsilon"},
		{"range", func(_ *ResponseRows, c *AEMConfig) { c.MinRange = -0.1 }, ErrConfig, "aem.min_range"},
		{"scope", func(_ *ResponseRows, c *AEMConfig) { c.Scope = "rows" }, ErrConfig, `aem.scope "rows"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, cfg := good, DefaultAEM()
			c.change(&r, &cfg)
			_, err := AEM(r, cfg)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
	for _, cfg := range []EARConfig{{Kappa: -1, Clip: 0.2}, {Kappa: 1, Clip: 1}, {Kappa: 1, Clip: math.NaN()}} {
		if _, err := EAR(good, cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	good.Entropy = []Interval{Exact(1), Exact(math.Inf(1))}
	if _, err := EAR(good, DefaultEAR()); !errors.Is(err, ErrNotFinite) {
		t.Errorf("EAR with an infinity: %v", err)
	}
}

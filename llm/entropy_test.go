package llm

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hindsightrl/harness/internal/almost"
)

// distributions draws token distributions of the kinds that models have: flat, peaked, long-tailed.
func distributions(rng *rand.Rand, vocab int) []float64 {
	p := make([]float64, vocab)
	sharp := math.Exp(rng.NormFloat64() * 1.5)
	zipf := rng.IntN(2) == 0
	order := rng.Perm(vocab)
	z := 0.0
	for i := range p {
		w := rng.NormFloat64() * sharp
		if zipf {
			w = -sharp * math.Log(float64(order[i]+1))
		}
		p[i] = math.Exp(w)
		z += p[i]
	}
	for i := range p {
		p[i] /= z
	}
	return p
}

func topOf(p []float64, k int) []TokenLogprob {
	all := make([]TokenLogprob, len(p))
	for i, v := range p {
		all[i] = TokenLogprob{int32(i), float32(math.Log(v))}
	}
	slices.SortFunc(all, func(a, b TokenLogprob) int { return cmp.Compare(b.Logprob, a.Logprob) })
	return all[:k]
}

func TestEntropyBoundsAreTrueAndTheEstimateIsGood(t *testing.T) {
	t.Parallel()
	const seed = 20240607
	rng := rand.New(rand.NewPCG(seed, 1))
	var estErr, midErr float64
	for n := range 2000 {
		vocab := 2 + rng.IntN(400)
		p := distributions(rng, vocab)
		k := 1 + rng.IntN(min(vocab, 20))
		h := 0.0
		for _, v := range p {
			h += xlogx(v)
		}
		sampled := rng.IntN(vocab)
		e, err := EntropyFromTop(topOf(p, k), TokenLogprob{int32(sampled), float32(math.Log(p[sampled]))}, vocab)
		if err != nil {
			t.Fatalf("seed %d, case %d: %v", seed, n, err)
		}
		// float32 log-probabilities are exact to 6e-8 relative; the remaining mass inherits that.
		const slack = 2e-5
		if h < e.Low-slack || h > e.High+slack || e.Estimate < e.Low || e.Estimate > e.High || e.K != k {
			t.Fatalf("seed %d, case %d: entropy %g, got %+v (vocab %d, k %d)", seed, n, h, e, vocab, k)
		}
		loose, err := EntropyFromTop(topOf(p, k), TokenLogprob{int32(sampled), float32(math.Log(p[sampled]))}, 0)
		if err != nil || loose.Low > e.Low+slack || loose.High < e.High-slack {
			t.Fatalf("seed %d, case %d: bounds without a vocabulary size are tighter: %+v, %+v, %v", seed, n, loose, e, err)
		}
		estErr += math.Abs(e.Estimate - h)
		midErr += math.Abs((e.Low+e.High)/2 - h)
	}
	t.Logf("mean error of the geometric estimate %.4f nats, of the bounds' middle %.4f", estErr/2000, midErr/2000)
}

func TestEntropyIsExactWhereAllTokensAreKnown(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		vocab := 2 + rng.IntN(60)
		p := distributions(rng, vocab)
		logits := make([]float32, vocab)
		for i, v := range p {
			logits[i] = float32(math.Log(v)) + 3
		}
		exact, err := EntropyExact(logits)
		if err != nil {
			t.Fatal(err)
		}
		e, err := EntropyFromTop(topOf(p, vocab), TokenLogprob{0, float32(math.Log(p[0]))}, vocab)
		if err != nil {
			t.Fatal(err)
		}
		// Both start from float32 numbers.
		if e.Low != e.High || e.Estimate != e.Low || !almost.Equal(e.Estimate, exact, 0, 1e-5) {
			t.Fatalf("all %d tokens known: %+v, exact %g", vocab, e, exact)
		}
	}
}

func TestEntropyByHand(t *testing.T) {
	t.Parallel()
	lp := func(p float64) float32 { return float32(math.Log(p)) }
	tests := []struct {
		name           string
		top            []TokenLogprob
		sampled        TokenLogprob
		vocab          int
		low, high, est float64
	}{
		// Known 0.5 and 0.25; 0.25 is left for two tokens of at most 0.25 each: one takes all, or both
		// half; the geometric tail would exceed the latter and is clamped.
		{
			"two of four",
			[]TokenLogprob{{0, lp(.5)}, {1, lp(.25)}},
			TokenLogprob{0, lp(.5)},
			4,
			1.5 * math.Log(2), 1.75 * math.Log(2), 1.75 * math.Log(2),
		},
		// The sampled token outside the best two is known too; one token is left, so all is known.
		{
			"the sampled one outside",
			[]TokenLogprob{{0, lp(.5)}, {1, lp(.25)}},
			TokenLogprob{3, lp(.125)},
			4,
			1.75 * math.Log(2), 1.75 * math.Log(2), 1.75 * math.Log(2),
		},
		{"certain", []TokenLogprob{{9, 0}}, TokenLogprob{9, 0}, 50000, 0, 0, 0},
		{
			"all mass in the list, rounding above 1",
			[]TokenLogprob{{0, lp(.6)}, {1, lp(.404)}},
			TokenLogprob{0, lp(.6)},
			10,
			xlogx(.6) + xlogx(.404), xlogx(.6) + xlogx(.404), xlogx(.6) + xlogx(.404),
		},
	}
	for _, tt := range tests {
		e, err := EntropyFromTop(tt.top, tt.sampled, tt.vocab)
		const tol = 1e-6 // float32 inputs
		if err != nil || !almost.Equal(e.Low, tt.low, 0, tol) || !almost.Equal(e.High, tt.high, 0, tol) || !almost.Equal(e.Estimate, tt.est, 0, tol) {
			t.Errorf("%s: %+v, %v; want low %g, high %g, estimate %g", tt.name, e, err, tt.low, tt.high, tt.est)
		}
	}
}

func TestEntropyRefusesWhatIsNoDistribution(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func() error{
		"nothing": func() error { _, err := EntropyFromTop(nil, TokenLogprob{}, 10); return err },
		"mass above 1": func() error {
			_, err := EntropyFromTop([]TokenLogprob{{0, -0.1}, {1, -0.2}}, TokenLogprob{0, -0.1}, 10)
			return err
		},
		"sampled beats best": func() error { _, err := EntropyFromTop([]TokenLogprob{{0, -3}}, TokenLogprob{1, -1}, 10); return err },
		"more than all": func() error {
			_, err := EntropyFromTop([]TokenLogprob{{0, -1}, {1, -2}}, TokenLogprob{0, -1}, 1)
			return err
		},
		"NaN": func() error {
			_, err := EntropyFromTop([]TokenLogprob{{0, float32(math.NaN())}}, TokenLogprob{0, -1}, 10)
			return err
		},
		"exact: NaN logit":  func() error { _, err := EntropyExact([]float32{0, float32(math.NaN())}); return err },
		"exact: +Inf logit": func() error { _, err := EntropyExact([]float32{0, float32(math.Inf(1))}); return err },
		"exact: no logit":   func() error { _, err := EntropyExact(nil); return err },
		"exact: only −Inf":  func() error { _, err := EntropyExact([]float32{float32(math.Inf(-1))}); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if h, err := EntropyExact([]float32{7, float32(math.Inf(-1)), 7}); err != nil || !almost.Equal(h, math.Log(2), 1e-12, 0) {
		t.Errorf("two equal logits: %g, %v", h, err)
	}
}

func FuzzEntropyFromTop(f *testing.F) {
	f.Add(float32(-0.5), float32(-1.5), float32(-2), 100)
	f.Add(float32(-20), float32(-20), float32(-20), 3)
	f.Add(float32(0), float32(-100), float32(-100), 0)
	f.Fuzz(func(t *testing.T, a, b, s float32, vocab int) {
		if a < b {
			a, b = b, a
		}
		e, err := EntropyFromTop([]TokenLogprob{{0, a}, {1, b}}, TokenLogprob{2, s}, vocab)
		if err != nil {
			return
		}
		if !(e.Low <= e.Estimate && e.Estimate <= e.High) || e.Low < 0 || math.IsInf(e.High, 0) {
			t.Errorf("%g %g %g %d: %+v", a, b, s, vocab, e)
		}
	})
}

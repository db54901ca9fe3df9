package creditrun

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/credit"
)

// chain is a policy over responses of two tokens whose every number is known: first token by p, second
// by q[first].
type chain struct {
	p []float64
	q [][]float64
}

func (c chain) entropy(p []float64) (h float64) {
	for _, v := range p {
		h -= v * math.Log(v)
	}
	return h
}

func draw(r *rand.Rand, p []float64) int {
	u := r.Float64()
	for i, v := range p {
		if u -= v; u < 0 {
			return i
		}
	}
	return len(p) - 1
}

func (c chain) sample(r *rand.Rand) Sampled {
	i := draw(r, c.p)
	j := draw(r, c.q[i])
	return Sampled{
		Surprisal: -math.Log(c.p[i]) - math.Log(c.q[i][j]),
		Entropy:   (c.entropy(c.p) + c.entropy(c.q[i])) / 2, Tokens: 2, Reward: float64(i % 2),
	}
}

func (c chain) responseEntropy() float64 {
	h := c.entropy(c.p)
	for i, v := range c.p {
		h += v * c.entropy(c.q[i])
	}
	return h
}

var sharp = chain{p: []float64{0.4, 0.3, 0.3}, q: [][]float64{{0.97, 0.02, 0.01}, {0.4, 0.3, 0.3}, {0.8, 0.1, 0.1}}}

func states(seed uint64, n, samples int) [][]Sampled {
	r := rand.New(rand.NewPCG(seed, 3))
	out := make([][]Sampled, n)
	for k := range out {
		for range samples {
			out[k] = append(out[k], sharp.sample(r))
		}
	}
	return out
}

// TestMonteCarloEntropy: the mean surprisal of samples is the entropy of the response.
func TestMonteCarloEntropy(t *testing.T) {
	t.Parallel()
	excess, h := PerResponse.relative(states(1, 1, 200_000)[0])
	if want := sharp.responseEntropy(); math.Abs(h-want) > 0.01 {
		t.Errorf("H_resp %v, want %v", h, want)
	}
	if m := meanOf(excess); math.Abs(m) > 1e-9 {
		t.Errorf("mean S − H_resp is %v", m)
	}
	_, perToken := PerToken.relative(states(1, 1, 1000)[0])
	_, whole := PerResponse.relative(states(1, 1, 1000)[0])
	if math.Abs(perToken-whole/2) > 1e-12 {
		t.Errorf("%v per token, %v in all", perToken, whole)
	}
}

// TestCorrelate: where uncertain responses are the surprising ones, α−1 and −(S−H) agree; with the
// reverse ablation they disagree as much.
func TestCorrelate(t *testing.T) {
	t.Parallel()
	s := states(2, 20, 64)
	c, err := Correlate(s, credit.DefaultAEM(), PerResponse)
	if err != nil {
		t.Fatal(err)
	}
	if c.Responses != 20*64 || c.Modulated != c.Responses || c.WithinOf != 20 || c.Pearson < 0.5 || c.Within < 0.5 || c.Agreement() < 0.6 {
		t.Errorf("%+v", *c)
	}
	rev := credit.DefaultAEM()
	rev.Reverse = true
	r, err := Correlate(s, rev, PerResponse)
	if err != nil || r.Pearson > -0.5 || r.Agreement() > 0.5 {
		t.Errorf("reverse: pearson %v, agreement %v, %v", r.Pearson, r.Agreement(), err)
	}
	skip := credit.DefaultAEM()
	skip.MinRange = 10
	n, err := Correlate(s, skip, PerResponse)
	if err != nil || n.Modulated != 0 || n.Decided != 0 || n.Pearson != 0 || n.Agreement() != 0 {
		t.Errorf("all skipped: %+v, %v", n, err)
	}
	s[3][5].Tokens = 0
	if _, err := Correlate(s, credit.DefaultAEM(), PerResponse); err == nil || !strings.Contains(err.Error(), "state 3, response 5") {
		t.Errorf("a response without tokens: %v", err)
	}
}

// TestEntropyStepIsExact compares the step on samples with the step on the distribution itself, whose
// samples here are all responses in proportion.
func TestEntropyStepIsExact(t *testing.T) {
	t.Parallel()
	p := []float64{0.5, 0.25, 0.125, 0.125}
	gain := []float64{1, -1, 0.5, 0}
	var state []Sampled
	var g []float64
	for i, v := range p {
		for range int(v * 8) {
			state = append(state, Sampled{Surprisal: -math.Log(v), Tokens: 1})
			g = append(g, gain[i])
		}
	}
	entropyAt := func(eta float64) (h float64) {
		z := 0.0
		for i, v := range p {
			z += v * math.Exp(eta*gain[i])
		}
		for i, v := range p {
			q := v * math.Exp(eta*gain[i]) / z
			h -= q * math.Log(q)
		}
		return h
	}
	for _, eta := range []float64{0.01, 0.3, 2} {
		_, got := entropyStep(state, g, eta)
		if want := entropyAt(eta) - entropyAt(0); math.Abs(got-want) > 1e-12 {
			t.Errorf("η %v: ΔH %v, want %v", eta, got, want)
		}
	}
	drift, _ := entropyStep(state, g, 1)
	if want := (entropyAt(1e-6) - entropyAt(-1e-6)) / 2e-6; math.Abs(drift-want) > 1e-6 {
		t.Errorf("dH/dη %v, want %v", drift, want)
	}
}

// TestMaskedSteps: the two masks split what the unmasked step learns from, and their drifts add up to
// its drift where nothing is centred away twice.
func TestMaskedSteps(t *testing.T) {
	t.Parallel()
	effects, err := MaskedSteps(states(4, 30, 64), credit.DefaultAEM(), 0.1)
	if err != nil {
		t.Fatal(err)
	}
	by := map[Mask]MaskEffect{}
	for _, e := range effects {
		by[e.Mask] = e
	}
	if by[MaskPositive].Kept+by[MaskNegative].Kept != by[MaskNone].Kept || by[MaskNone].Kept != 30*64 {
		t.Errorf("kept %d + %d of %d", by[MaskPositive].Kept, by[MaskNegative].Kept, by[MaskNone].Kept)
	}
	if d := by[MaskPositive].Drift + by[MaskNegative].Drift - by[MaskNone].Drift; math.Abs(d) > 1e-9 {
		t.Errorf("drifts do not add up: %v", d)
	}
	if by[MaskPositive].Drift >= by[MaskNone].Drift || by[MaskNegative].Drift <= by[MaskNone].Drift {
		t.Errorf("α−1 is against the surprisal here, so its sign must part the drifts: %+v", effects)
	}
	if a, b := by[MaskAEM].Drift+by[MaskReverse].Drift, 2*by[MaskNone].Drift; math.Abs(a-b) > 1e-9 {
		t.Errorf("α and 2 − α: %v, want %v", a, b)
	}
	if e := by[MaskNone]; e.DriftE <= 0 || e.StepE <= 0 || math.Abs(e.Step-0.1*e.Drift) > 0.05 {
		t.Errorf("%+v", e)
	}
}

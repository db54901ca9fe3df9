package creditrun

import (
	"fmt"
	"math"

	"github.com/hindsightrl/harness/credit"
)

// Sampled is a response that was sampled from the model's own distribution (temperature 1, nothing cut
// off) in some state.
type Sampled struct {
	Surprisal float64 // S = −Σ_t log π(y_t), nats
	Entropy   float64 // H̄, mean token entropy, nats
	Tokens    int     // T >= 1
	Reward    float64
}

// Measure says in which unit surprisals are compared.
type Measure string

// The measures. The theorem behind AEM is about the whole response; its proxy H̄ is a mean over tokens.
const (
	PerResponse Measure = "response" // S
	PerToken    Measure = "token"    // S/T
)

func (m Measure) of(r *Sampled) float64 {
	if m == PerToken {
		return r.Surprisal / float64(r.Tokens)
	}
	return r.Surprisal
}

// relative is a state's S − H_resp; H_resp, the entropy of the response, is the Monte-Carlo mean of
// S over the state's own samples.
func (m Measure) relative(state []Sampled) (excess []float64, entropy float64) {
	for i := range state {
		entropy += m.of(&state[i]) / float64(len(state))
	}
	excess = make([]float64, len(state))
	for i := range state {
		excess[i] = m.of(&state[i]) - entropy
	}
	return excess, entropy
}

// Correlation is how well AEM's α−1 stands in for −(S − H_resp).
type Correlation struct {
	Measure   Measure   `json:"measure"`
	States    int       `json:"states"`
	Responses int       `json:"responses"`
	Modulated int       `json:"modulated"` // responses of states that are not skipped: elsewhere α = 1
	Pearson   float64   `json:"pearson"`   // over all responses of all states
	Within    float64   `json:"within"`    // mean over states of the correlation within the state
	WithinOf  int       `json:"within_of"` // states that have one: α and S both vary
	Agree     int       `json:"agree"`     // pairs of equal sign
	Decided   int       `json:"decided"`   // pairs of which neither is 0
	X         []float64 `json:"-"`         // α − 1
	Y         []float64 `json:"-"`         // −(S − H_resp), nats
}

// Agreement is the share of decided pairs with equal signs; 0 where there are none.
func (c *Correlation) Agreement() float64 { return float64(c.Agree) / float64(max(c.Decided, 1)) }

// Correlate computes α over each state's responses (they are AEM's group) and compares α − 1 with the
// Monte-Carlo −(S − H_resp). Source of the question: AEM, arXiv 2605.00425.
func Correlate(states [][]Sampled, cfg credit.AEMConfig, measure Measure) (*Correlation, error) {
	alpha, err := alphas(states, cfg)
	if err != nil {
		return nil, err
	}
	c := &Correlation{Measure: measure, States: len(states)}
	for k, state := range states {
		excess, _ := measure.relative(state)
		x, y := make([]float64, len(state)), make([]float64, len(state))
		varies := false
		for i := range state {
			x[i], y[i] = alpha[k][i]-1, -excess[i]
			varies = varies || x[i] != 0
		}
		if varies {
			c.Modulated += len(state)
		}
		if r := Pearson(x, y); r != 0 {
			c.Within += r
			c.WithinOf++
		}
		c.X, c.Y = append(c.X, x...), append(c.Y, y...)
	}
	c.Responses = len(c.X)
	c.Within /= float64(max(c.WithinOf, 1))
	c.Pearson = Pearson(c.X, c.Y)
	c.Agree, c.Decided = SignAgreement(c.X, c.Y)
	return c, nil
}

// alphas computes AEM's factors with each state as a group.
func alphas(states [][]Sampled, cfg credit.AEMConfig) ([][]float64, error) {
	var rows credit.ResponseRows
	for k, state := range states {
		for i := range state {
			if state[i].Tokens < 1 {
				return nil, fmt.Errorf("state %d, response %d has %d tokens, want 1 or more", k, i, state[i].Tokens)
			}
			rows.Group = append(rows.Group, k)
			rows.Trajectory = append(rows.Trajectory, len(rows.Trajectory))
			rows.Entropy = append(rows.Entropy, credit.Exact(state[i].Entropy))
		}
	}
	m, err := credit.AEM(rows, cfg)
	if err != nil {
		return nil, err
	}
	out, rest := make([][]float64, len(states)), m.Factor
	for k, state := range states {
		out[k], rest = rest[:len(state)], rest[len(state):]
	}
	return out, nil
}

// Mask names which responses a masked step learns from, and with what advantage.
type Mask string

// The masks of analysis B.
const (
	MaskNone     Mask = "A"          // all responses, unmodulated
	MaskAEM      Mask = "A·α"        // all responses, modulated
	MaskPositive Mask = "A(α−1) > 0" // those alone, unmodulated
	MaskNegative Mask = "A(α−1) < 0" // the others alone, unmodulated
	MaskReverse  Mask = "A·(2−α)"    // all responses, modulated the other way
)

// Masks lists the masks in the order of a report.
func Masks() []Mask { return []Mask{MaskNone, MaskAEM, MaskReverse, MaskPositive, MaskNegative} }

func (m Mask) weight(a, alpha float64) float64 {
	switch s := a * (alpha - 1); {
	case m == MaskAEM:
		return a * alpha
	case m == MaskReverse:
		return a * (2 - alpha)
	case m == MaskPositive && s <= 0, m == MaskNegative && s >= 0:
		return 0
	}
	return a
}

// MaskEffect is what one step with a mask does to the entropy of the response distribution.
type MaskEffect struct {
	Mask   Mask    `json:"mask"`
	Kept   int     `json:"kept"`    // responses with an advantage that is not 0
	Drift  float64 `json:"drift"`   // dH/dη at η = 0: mean over states of Cov(g, S), nats
	DriftE float64 `json:"drift_e"` // its standard error over states
	Step   float64 `json:"step"`    // H(η) − H(0) after the exact step, nats
	StepE  float64 `json:"step_e"`
}

// MaskedSteps measures, for each mask, how the entropy of the response distribution of a state changes
// with one natural-gradient step of size eta on the masked advantages g,
//
//	π_η(y) ∝ π(y)·exp(η·g(y))
//
// which is the closed form for a distribution over whole responses. From samples of π, with
// v_i ∝ exp(η·g_i), Σ v = 1 and log Z = log mean exp(η·g_i):
//
//	H(η) = Σ v_i·(S_i − η·g_i) + log Z        dH/dη at 0 = mean g·(S − H_resp)
//
// (g centred). Advantages are GRPO's over the state's responses. It needs no weights that can be
// trained, and says nothing about what training of a real network does.
func MaskedSteps(states [][]Sampled, cfg credit.AEMConfig, eta float64) ([]MaskEffect, error) {
	alpha, err := alphas(states, cfg)
	if err != nil {
		return nil, err
	}
	adv, err := stateAdvantages(states)
	if err != nil {
		return nil, err
	}
	var out []MaskEffect
	for _, mask := range Masks() {
		e := MaskEffect{Mask: mask}
		var drifts, stepsTaken []float64
		for k, state := range states {
			g := make([]float64, len(state))
			for i := range state {
				if g[i] = mask.weight(adv[k][i], alpha[k][i]); g[i] != 0 {
					e.Kept++
				}
			}
			drift, step := entropyStep(state, g, eta)
			drifts, stepsTaken = append(drifts, drift), append(stepsTaken, step)
		}
		e.Drift, e.DriftE = meanAndError(drifts)
		e.Step, e.StepE = meanAndError(stepsTaken)
		out = append(out, e)
	}
	return out, nil
}

// stateAdvantages are GRPO's, each response a trajectory of one step.
func stateAdvantages(states [][]Sampled) ([][]float64, error) {
	b := &credit.Batch{}
	for k, state := range states {
		for i := range state {
			b.Group, b.Trajectory = append(b.Group, k), append(b.Trajectory, len(b.Trajectory))
			b.Return = append(b.Return, state[i].Reward)
		}
	}
	a, err := credit.Estimate(b, credit.DefaultEstimator(credit.GRPO))
	if err != nil {
		return nil, err
	}
	out, rest := make([][]float64, len(states)), a.Values
	for k, state := range states {
		out[k], rest = rest[:len(state)], rest[len(state):]
	}
	return out, nil
}

// entropyStep is the change of a state's entropy: per unit of η at 0, and after the step.
func entropyStep(state []Sampled, g []float64, eta float64) (drift, step float64) {
	n := float64(len(state))
	excess, before := PerResponse.relative(state)
	mean, top := 0.0, math.Inf(-1)
	for _, v := range g {
		mean += v / n
		top = max(top, eta*v)
	}
	z, sum := 0.0, 0.0
	for i := range state {
		drift += (g[i] - mean) * excess[i] / n
		v := math.Exp(eta*g[i] - top)
		z += v
		sum += v * (state[i].Surprisal - eta*g[i])
	}
	return drift, sum/z + math.Log(z/n) + top - before
}

// meanAndError is the mean of values and its standard error.
func meanAndError(v []float64) (mean, e float64) {
	mean = meanOf(v)
	if len(v) < 2 {
		return mean, 0
	}
	return mean, deviation(v, len(v)-1) / math.Sqrt(float64(len(v)))
}

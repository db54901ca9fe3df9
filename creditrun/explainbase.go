package creditrun

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/credit"
)

// base explains the base advantage.
func (x *explainer) base() error {
	c := x.cfg.Estimator
	a := 0.0
	var err error
	switch c.Name {
	case credit.GRPO:
		a = x.grouped("A", credit.NormMeanStd)
	case credit.DrGRPO:
		a = x.grouped("A", credit.NormMean)
	case credit.RLOO:
		a = x.leaveOneOut()
	case credit.ReinforcePP:
		a = x.whitened()
	case credit.GiGPO:
		a, err = x.gigpo()
	case credit.HGPO:
		a = x.hgpo()
	case credit.Tree:
		a = x.treed()
	}
	if err != nil {
		return err
	}
	if c.AdvClip > 0 {
		x.add("A", min(max(a, -c.AdvClip), c.AdvClip), "clipped to ±%s", num(c.AdvClip))
	}
	return nil
}

// score is a step's return less the penalty for an invalid response.
func (x *explainer) score(s *Step) float64 {
	if !s.Valid {
		return s.Return - x.cfg.Estimator.InvalidPenalty
	}
	return s.Return
}

// sample lists the scores that the group's statistics run over.
func (x *explainer) sample() (scores []float64, what string) {
	if x.cfg.Estimator.Scope == credit.ScopeTrajectories {
		first := map[int64]*Step{}
		for i := range x.steps {
			s := &x.steps[i]
			if f := first[s.Episode]; f == nil || s.Index < f.Index {
				first[s.Episode] = s
			}
		}
		for _, s := range first {
			scores = append(scores, x.score(s))
		}
		slices.Sort(scores)
		return scores, "trajectories"
	}
	for i := range x.steps {
		scores = append(scores, x.score(&x.steps[i]))
	}
	return scores, "rows"
}

// own starts an arithmetic with the step's score.
func (x *explainer) own() float64 {
	s := x.self()
	r := x.add("R", s.Return, "reward of episode %d", s.Episode)
	if p := x.cfg.Estimator.InvalidPenalty; !s.Valid && p > 0 {
		r = x.add("R", r-p, "%s − %s: the response is invalid", num(r), num(p))
	}
	return r
}

func (x *explainer) grouped(name string, norm credit.Norm) float64 {
	r := x.own()
	scores, what := x.sample()
	eps := x.cfg.Estimator.Epsilon
	if len(scores) == 1 {
		if norm == credit.NormMean {
			return x.add(name, r, "the group has one of the %s: the raw score", what)
		}
		return x.add(name, r/(1+eps), "%s/(1 + %s): the group has one of the %s", num(r), num(eps), what)
	}
	mean := x.add("mean", meanOf(scores), "(%s)/%d, over the group's %s", counted(scores, num), len(scores), what)
	if norm == credit.NormMean {
		return x.add(name, r-mean, "%s − %s", num(r), num(mean))
	}
	std := x.add("std", deviation(scores, len(scores)-1), "√((%s)/%d)", counted(scores, squared(mean)), len(scores)-1)
	return x.add(name, (r-mean)/(std+eps), "(%s − %s)/(%s + %s)", num(r), num(mean), num(std), num(eps))
}

func (x *explainer) leaveOneOut() float64 {
	r := x.own()
	scores, what := x.sample()
	n := len(scores)
	if n == 1 {
		return x.add("A", r, "the group has one of the %s: the raw score", what)
	}
	mean := x.add("mean", meanOf(scores), "(%s)/%d, over the group's %s", counted(scores, num), n, what)
	return x.add("A", (r-mean)*float64(n)/float64(n-1), "(%s − %s)·%d/%d", num(r), num(mean), n, n-1)
}

func (x *explainer) whitened() float64 {
	d := x.grouped("R − mean", credit.NormMean)
	means := map[int]*explainer{} // one of each group
	for i := range x.all {
		if g := x.all[i].Group; means[g] == nil {
			means[g] = newExplainer(x.all, x.cfg, i)
		}
	}
	base := map[int]float64{}
	for g, y := range means {
		base[g] = y.score(y.self()) - y.deviationOnly()
	}
	tokens, sum := 0.0, 0.0
	for i := range x.all {
		s := &x.all[i]
		tokens += float64(s.Tokens)
		sum += float64(s.Tokens) * (x.score(s) - base[s.Group])
	}
	mu, ss := sum/tokens, 0.0
	for i := range x.all {
		s := &x.all[i]
		v := x.score(s) - base[s.Group] - mu
		ss += float64(s.Tokens) * v * v
	}
	x.add("μ", mu, "mean of R − mean over the %d tokens of the run", int(tokens))
	v := x.add("σ²", ss/(tokens-1), "its variance over the same")
	return x.add("A", (d-mu)/math.Sqrt(v+1e-8), "(%s − %s)/√(%s + 1e-08)", num(d), num(mu), num(v))
}

func (x *explainer) deviationOnly() float64 {
	scores, _ := x.sample()
	if len(scores) == 1 {
		return x.score(x.self())
	}
	return x.score(x.self()) - meanOf(scores)
}

// stepReturn is a step's discounted return, less its penalty.
func (x *explainer) stepReturn(s *Step) float64 {
	c, g := x.cfg.Estimator, 0.0
	for i := range x.steps {
		if o := &x.steps[i]; o.Episode == s.Episode && o.Index >= s.Index {
			g += math.Pow(c.Gamma, float64(o.Index-s.Index)) * o.Reward
		}
	}
	if !s.Valid {
		g -= c.InvalidPenalty
	}
	return g
}

// ownReturn explains the step's discounted return by the rewards that are not zero.
func (x *explainer) ownReturn() float64 {
	var terms []string
	for i := range x.steps {
		o := &x.steps[i]
		if o.Episode == x.self().Episode && o.Index >= x.self().Index && o.Reward != 0 {
			terms = append(terms, fmt.Sprintf("%s^%d·%s", num(x.cfg.Estimator.Gamma), o.Index-x.self().Index, num(o.Reward)))
		}
	}
	if p := x.cfg.Estimator.InvalidPenalty; !x.self().Valid && p > 0 {
		terms = append(terms, "−"+num(p))
	}
	if len(terms) == 0 {
		terms = []string{"no reward from here on"}
	}
	return x.add("G", x.stepReturn(x.self()), "%s", strings.Join(terms, " + "))
}

func (x *explainer) gigpo() (float64, error) {
	c := x.cfg.Estimator
	episode := x.grouped("A^E", c.Norm)
	ids, err := credit.AnchorGroups(batch(x.steps), c.AnchorSimilarity)
	if err != nil {
		return 0, err
	}
	g := x.ownReturn()
	var returns []float64
	for i := range x.steps {
		if ids[i] == ids[x.i] {
			returns = append(returns, x.stepReturn(&x.steps[i]))
		}
	}
	step := 0.0
	if len(returns) == 1 {
		x.add("A^S", 0, "no other row of the group started from this observation")
	} else {
		m := x.add("mean G", meanOf(returns), "(%s)/%d, over the rows that started from this observation", counted(returns, num), len(returns))
		if c.Norm == credit.NormMean {
			step = x.add("A^S", g-m, "%s − %s", num(g), num(m))
		} else {
			sd := x.add("std G", deviation(returns, len(returns)-1), "√((%s)/%d)", counted(returns, squared(m)), len(returns)-1)
			step = x.add("A^S", (g-m)/(sd+c.Epsilon), "(%s − %s)/(%s + %s)", num(g), num(m), num(sd), num(c.Epsilon))
		}
	}
	return x.add("A", episode+c.StepWeight*step, "%s + %s·%s", num(episode), num(c.StepWeight), num(step)), nil
}

// hgpo compares the step with the steps that share its last k observations.
func (x *explainer) hgpo() float64 {
	c := x.cfg.Estimator
	sum, weights := 0.0, 0.0
	var terms, divisors []string
	part := func(a, w float64) {
		sum, weights = sum+w*a, weights+w
		terms, divisors = append(terms, num(w)+"·"+num(a)), append(divisors, num(w))
	}
	if c.BaseGroup {
		a := x.grouped("a_0", c.Norm)
		if d := x.deviationOnly(); float32(x.score(x.self())) != float32(x.score(x.self())-d) {
			part(a, 1)
		}
	}
	g := x.ownReturn()
	for k := 1; k <= c.History+1; k++ {
		own, ok := x.context(x.self(), k)
		if !ok {
			break
		}
		var returns []float64
		for i := range x.steps {
			if other, ok := x.context(&x.steps[i], k); ok && slices.Equal(own, other) {
				returns = append(returns, x.stepReturn(&x.steps[i]))
			}
		}
		name := fmt.Sprintf("a_%d", k)
		if len(returns) < 2 {
			x.add(name, 0, "alone with its last %d observations: no part", k)
			continue
		}
		m := meanOf(returns)
		if float32(g) == float32(m) {
			x.add(name, 0, "G is the mean of the %d rows with its last %d observations: no part", len(returns), k)
			continue
		}
		w := math.Pow(float64(k+1), c.LengthAlpha)
		if c.Norm == credit.NormMean {
			part(x.add(name, g-m, "%s − %s, %d rows share the last %d observations", num(g), num(m), len(returns), k), w)
			continue
		}
		sd := deviation(returns, len(returns))
		part(x.add(name, (g-m)/(sd+c.Epsilon), "(%s − %s)/(%s + %s), %d rows share the last %d observations", num(g), num(m), num(sd), num(c.Epsilon), len(returns), k), w)
	}
	if weights == 0 {
		return x.add("A", 0, "no part")
	}
	return x.add("A", sum/(weights+c.Epsilon), "(%s)/(%s + %s)", strings.Join(terms, " + "), strings.Join(divisors, " + "), num(c.Epsilon))
}

// context is the last k observations up to a step; ok is false where its episode has not so many.
func (x *explainer) context(s *Step, k int) (anchors []string, ok bool) {
	for i := range x.steps {
		if o := &x.steps[i]; o.Episode == s.Episode && o.Index <= s.Index && o.Index > s.Index-k {
			anchors = append(anchors, o.Anchor)
		}
	}
	return anchors, len(anchors) == k
}

func meanOf(xs []float64) float64 { return credit.Summarize(xs).Mean }

// deviation is the root of the squared deviations' sum over div; exactly 0 for equal numbers.
func deviation(xs []float64, div int) float64 {
	if s := credit.Summarize(xs); s.Min == s.Max {
		return 0
	}
	m, ss := meanOf(xs), 0.0
	for _, v := range xs {
		ss += (v - m) * (v - m)
	}
	return math.Sqrt(ss / float64(div))
}

// maxTerms is how many different numbers a formula spells out.
const maxTerms = 12

// counted writes a sum with equal terms gathered: 3·10 + 5·0.
func counted(xs []float64, term func(float64) string) string {
	counts := map[float64]int{}
	for _, v := range xs {
		counts[v]++
	}
	values := make([]float64, 0, len(counts))
	for v := range counts {
		values = append(values, v)
	}
	slices.Sort(values)
	slices.Reverse(values)
	var parts []string
	for _, v := range values {
		if len(parts) == maxTerms {
			parts = append(parts, fmt.Sprintf("… %d more", len(values)-maxTerms))
			break
		}
		parts = append(parts, strconv.Itoa(counts[v])+"·"+term(v))
	}
	return strings.Join(parts, " + ")
}

func squared(mean float64) func(float64) string {
	return func(v float64) string { return fmt.Sprintf("(%s − %s)²", num(v), num(mean)) }
}

// num prints a number as a formula shows it: six significant digits, a true minus sign.
func num(v float64) string {
	return strings.ReplaceAll(strconv.FormatFloat(v, 'g', 6, 64), "-", "−")
}

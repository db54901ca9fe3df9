package creditrun

import (
	"fmt"
	"math"

	"github.com/hindsightrl/harness/credit"
)

// Line is one step of an arithmetic: a name, the formula with its numbers in, and what it makes.
type Line struct {
	Name    string  `json:"name"`
	Formula string  `json:"formula"`
	Value   float64 `json:"value"`
}

// Member is an episode of the explained step's group.
type Member struct {
	Episode int64   `json:"episode"`
	Sample  int     `json:"sample"`
	Return  float64 `json:"return"`
	Rows    int     `json:"rows"`
	Invalid int     `json:"invalid"` // rows whose response broke the format's rules
}

// TokenLine is the arithmetic of one token. Raw and Weight are 1 for a token without a weight; Student,
// Teacher and Delta are 0 where no teacher scored the step.
type TokenLine struct {
	Weighted  bool    `json:"weighted"`
	Entropy   float64 `json:"entropy"` // nats; 0 where none is known
	Student   float64 `json:"student"` // log-probability without the hindsight context, nats
	Teacher   float64 `json:"teacher"` // with it
	Delta     float64 `json:"delta"`   // teacher − student
	Raw       float64 `json:"raw"`     // exp(sign(A)·Δ), before the clip
	Weight    float64 `json:"weight"`  // after it
	Advantage float64 `json:"advantage"`
}

// Explanation is the whole arithmetic from the rewards of a group to the advantages of one step's
// tokens, computed by the plain formulas and not by package credit.
type Explanation struct {
	Step     int64       `json:"step_id"`
	Members  []Member    `json:"members"`
	Base     []Line      `json:"base"`     // the last one is the base advantage
	Response []Line      `json:"response"` // the last one is the factor; empty where no response stage ran
	Lambda   float64     `json:"lambda"`   // λ_k; 0 where no token stage ran
	Scored   bool        `json:"scored"`   // a teacher's log-probabilities of the tokens are known
	Tokens   []TokenLine `json:"tokens"`   // empty where the policy gave no tokens
}

// BaseAdvantage is the result of the base arithmetic.
func (e *Explanation) BaseAdvantage() float64 { return e.Base[len(e.Base)-1].Value }

// Factor is the result of the response arithmetic, 1 where there is none.
func (e *Explanation) Factor() float64 {
	if len(e.Response) == 0 {
		return 1
	}
	return e.Response[len(e.Response)-1].Value
}

// Explain computes step i of a run's steps by hand. steps must be those that the pass was computed from.
func Explain(steps []Step, cfg Config, i int) (*Explanation, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("explain credit: %w", err)
	}
	steps, _, err := rewarded(steps, cfg.Reward)
	if err != nil {
		return nil, fmt.Errorf("explain credit: %w", err)
	}
	s := &steps[i]
	e := &Explanation{Step: s.ID, Members: membersOf(steps, s.Group)}
	x := newExplainer(steps, cfg, i)
	if err := x.base(); err != nil {
		return nil, fmt.Errorf("explain credit of episode %d, step %d: %w", s.Episode, s.Index, err)
	}
	e.Base = x.lines
	if !s.hasTokens() {
		return e, nil
	}
	x.lines = nil
	if err := x.response(); err != nil {
		return nil, fmt.Errorf("explain credit of episode %d, step %d: %w", s.Episode, s.Index, err)
	}
	e.Response = x.lines
	if cfg.Token != credit.TokenNone {
		e.Lambda = cfg.SERL.LambdaAt(cfg.Update)
	}
	e.Scored = s.Score != nil
	e.Tokens = x.tokens(e.BaseAdvantage(), x.share(e.BaseAdvantage()), e.Factor(), e.Lambda)
	return e, nil
}

// explainer gathers the lines of one arithmetic.
type explainer struct {
	all   []Step // the run's
	steps []Step // the explained step's group, in the run's order
	cfg   Config
	i     int // of the explained step, in steps
	lines []Line

	pieces []credit.Piece // runs of the row's tokens with one advantage; nil: all have the base advantage
}

func newExplainer(all []Step, cfg Config, i int) *explainer {
	x := &explainer{all: all, cfg: cfg}
	for j := range all {
		if j == i {
			x.i = len(x.steps)
		}
		if all[j].Group == all[i].Group {
			x.steps = append(x.steps, all[j])
		}
	}
	return x
}

func (x *explainer) self() *Step { return &x.steps[x.i] }

func (x *explainer) add(name string, value float64, format string, args ...any) float64 {
	x.lines = append(x.lines, Line{name, fmt.Sprintf(format, args...), value})
	return value
}

func membersOf(steps []Step, group int) []Member {
	var out []Member
	at := map[int64]int{}
	for i := range steps {
		s := &steps[i]
		if s.Group != group {
			continue
		}
		k, ok := at[s.Episode]
		if !ok {
			k = len(out)
			at[s.Episode] = k
			out = append(out, Member{Episode: s.Episode, Sample: s.Sample, Return: s.Return})
		}
		out[k].Rows++
		if !s.Valid {
			out[k].Invalid++
		}
	}
	return out
}

// response explains AEM's α or EAR's γ.
func (x *explainer) response() error {
	if x.cfg.Response == credit.ResponseNone {
		return nil
	}
	var all []float64
	for i := range x.all {
		s := &x.all[i]
		if !s.hasTokens() || !x.sameScope(s) {
			continue
		}
		h, err := s.entropy()
		if err != nil {
			return err
		}
		all = append(all, h.Mean)
	}
	own, err := x.self().entropy()
	if err != nil {
		return err
	}
	h := x.add("H̄", own.Mean, "mean entropy of the response's %d tokens, nats", x.self().Tokens)
	if !own.Known() {
		x.add("H̄ at least", own.Low, "its lower bound")
		x.add("H̄ at most", own.High, "its upper bound")
	}
	if x.cfg.Response == credit.ResponseEAR {
		x.ear(h, all)
		return nil
	}
	return x.aem(h, all)
}

// sameScope reports whether a step's entropy is normalised together with the explained one's.
func (x *explainer) sameScope(s *Step) bool {
	if x.cfg.Response == credit.ResponseAEM {
		switch x.cfg.AEM.Scope {
		case credit.EntropyBatch:
			return true
		case credit.EntropyTrajectory:
			return s.Episode == x.self().Episode
		}
	}
	return s.Group == x.self().Group
}

func (x *explainer) aem(h float64, all []float64) error {
	c := x.cfg.AEM
	lambda := c.Lambda
	if c.Reverse {
		lambda = -lambda
	}
	st := credit.Summarize(all)
	x.add("min H̄", st.Min, "over %d responses of the %s", st.N, c.Scope)
	x.add("max H̄", st.Max, "over the same")
	if st.Max-st.Min < c.MinRange || st.Max == st.Min {
		x.add("α", 1, "max − min = %s < %s: no modulation", num(st.Max-st.Min), num(c.MinRange))
		return nil
	}
	scaled := func(h float64) float64 { return (h - st.Min) / (st.Max - st.Min + c.Epsilon) }
	t := x.add("H̃", scaled(h), "(%s − %s)/(%s − %s + %s)", num(h), num(st.Min), num(st.Max), num(st.Min), num(c.Epsilon))
	e := x.add("exp(−λH̃)", math.Exp(-lambda*t), "exp(−%s·%s)", num(lambda), num(t))
	sum := 0.0
	for _, o := range all {
		sum += math.Exp(-lambda * scaled(o))
	}
	m := x.add("mean exp(−λH̃)", sum/float64(len(all)), "over the same %d responses", len(all))
	x.add("α", e/(m+c.Epsilon), "%s/(%s + %s)", num(e), num(m), num(c.Epsilon))
	if c.Shuffle {
		dealt, err := x.shuffled()
		if err != nil {
			return err
		}
		x.add("α", dealt, "dealt from another response of the %s by seed %d", c.Scope, c.Seed)
	}
	return nil
}

// shuffled is the factor that the ablation dealt to the explained step: there is no formula for it.
func (x *explainer) shuffled() (float64, error) {
	var rows credit.ResponseRows
	at := -1
	for i := range x.all {
		s := &x.all[i]
		if !s.hasTokens() {
			continue
		}
		h, err := s.entropy()
		if err != nil {
			return 0, err
		}
		if s.ID == x.self().ID {
			at = len(rows.Group)
		}
		rows.Group, rows.Trajectory, rows.Entropy = append(rows.Group, s.Group), append(rows.Trajectory, int(s.Episode)), append(rows.Entropy, h)
	}
	m, err := credit.AEM(rows, x.cfg.AEM)
	if err != nil {
		return 0, err
	}
	return m.Factor[at], nil
}

func (x *explainer) ear(h float64, all []float64) {
	c := x.cfg.EAR
	m := x.add("m", credit.Summarize(all).Mean, "mean H̄ of the group's %d responses", len(all))
	if m == 0 {
		x.add("γ", 1, "no response of the group had any entropy")
		return
	}
	raw := x.add("1 + κ(m − H̄)/m", 1+c.Kappa*(m-h)/m, "1 + %s·(%s − %s)/%s", num(c.Kappa), num(m), num(h), num(m))
	x.add("γ", min(max(raw, 1-c.Clip), 1+c.Clip), "clipped to [%s, %s]", num(1-c.Clip), num(1+c.Clip))
}

// tokens explains every token of a response. pieces are the runs of its tokens with one base advantage;
// nil: base is that of all.
func (x *explainer) tokens(base float64, pieces []credit.Piece, factor, lambda float64) []TokenLine {
	s := x.self()
	out := make([]TokenLine, s.Tokens)
	for j := range out {
		t, a := &out[j], base*factor
		for _, p := range pieces {
			if p.From <= j {
				a = p.Value * factor
			}
		}
		t.Raw, t.Weight, t.Advantage = 1, 1, a
		if s.Entropies != nil {
			t.Entropy = float64(s.Entropies[j])
		}
		if s.Score == nil {
			continue
		}
		t.Student, t.Teacher = float64(s.Score.Student[j]), float64(s.Score.Teacher[j])
		t.Delta = t.Teacher - t.Student
		if x.cfg.Token == credit.TokenNone || x.cfg.Token == credit.TokenSERL && !s.Score.Action[j] {
			continue
		}
		t.Weighted = true
		c := x.cfg.SERL.Clip
		t.Raw = math.Exp(min(max(signOf(a)*t.Delta, -20), 20))
		t.Weight = min(max(t.Raw, 1-c), 1+c)
		t.Advantage = a * ((1 - lambda) + lambda*t.Weight)
	}
	return out
}

// Differs compares the arithmetic with a stored row and says where they disagree; "" = nowhere. Numbers
// agree to 1e-9 relative, token advantages to float32's precision.
func (e *Explanation) Differs(r Row) string {
	near := func(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b)) }
	switch {
	case !near(e.BaseAdvantage(), r.Base, 1e-9):
		return fmt.Sprintf("the base advantage is %v by hand and %v in the pass", e.BaseAdvantage(), r.Base)
	case !near(e.Factor(), r.Factor, 1e-9):
		return fmt.Sprintf("the factor is %v by hand and %v in the pass", e.Factor(), r.Factor)
	case len(e.Tokens) != len(r.Tokens):
		return fmt.Sprintf("%d tokens by hand and %d in the pass", len(e.Tokens), len(r.Tokens))
	}
	for j, t := range e.Tokens {
		if !near(t.Advantage, float64(r.Tokens[j]), 1e-6) {
			return fmt.Sprintf("token %d is %v by hand and %v in the pass", j, t.Advantage, r.Tokens[j])
		}
	}
	return ""
}

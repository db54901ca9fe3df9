package teacher

import (
	"cmp"
	"math"
	"slices"

	"github.com/hindsightrl/harness"
)

// Paired is one step under two passes.
type Paired struct {
	Env  string
	Won  bool // outcome of its episode
	A, B *harness.StepScore
}

// Side is what one pass says about a set of steps. Deltas are in nats; means over no tokens are 0.
type Side struct {
	Scored    int     `json:"scored"`     // steps with a delta
	Action    float64 `json:"action"`     // mean delta of action tokens
	ActionAbs float64 `json:"action_abs"` // mean |delta| of action tokens
	Reason    float64 `json:"reason"`     // mean delta of the other tokens
	ReasonAbs float64 `json:"reason_abs"` // mean |delta| of the other tokens
	Clipped   float64 `json:"clipped"`    // share of action tokens whose weight is at a bound
	ActionTok int     `json:"action_tokens"`
	ReasonTok int     `json:"reason_tokens"`
}

// Comparison says how far two passes agree on a set of steps.
type Comparison struct {
	Name     string  `json:"name"` // "all", "env alfworld", "won", "lost"
	Steps    int     `json:"steps"`
	A        Side    `json:"a"`
	B        Side    `json:"b"`
	Both     int     `json:"both"`      // steps with a delta in both
	Tokens   int     `json:"tokens"`    // action tokens of those
	SameSign float64 `json:"same_sign"` // share of these tokens whose deltas have one sign
	Spearman float64 `json:"spearman"`  // rank correlation of their deltas; NaN never: 0 where it is not defined
	Defined  bool    `json:"defined"`   // the rank correlation is defined: two tokens that differ in both passes
}

// Compare sums up pairs: all of them, by environment, and by outcome. Weights are clipped to 1 ± clip, as
// SERL does for a positive advantage.
func Compare(pairs []Paired, clip float64) []Comparison {
	sets := map[string][]Paired{}
	var envs []string
	for _, p := range pairs {
		outcome := "lost"
		if p.Won {
			outcome = "won"
		}
		env := "env " + p.Env
		if _, known := sets[env]; !known {
			envs = append(envs, env)
		}
		sets[env], sets[outcome] = append(sets[env], p), append(sets[outcome], p)
	}
	slices.Sort(envs)
	out := []Comparison{compareSet("all", pairs, clip)}
	for _, name := range append(envs, "won", "lost") {
		if len(sets[name]) > 0 {
			out = append(out, compareSet(name, sets[name], clip))
		}
	}
	return out
}

func compareSet(name string, pairs []Paired, clip float64) Comparison {
	c := Comparison{Name: name, Steps: len(pairs)}
	var a, b sideSum
	var x, y []float64
	same := 0
	for _, p := range pairs {
		a.add(p.A, clip)
		b.add(p.B, clip)
		if !scored(p.A) || !scored(p.B) {
			continue
		}
		c.Both++
		da, db := p.A.Delta(), p.B.Delta()
		for i, action := range p.A.ActionMask {
			if !action || i >= len(db) {
				continue
			}
			x, y = append(x, float64(da[i])), append(y, float64(db[i]))
			if cmp.Compare(da[i], 0) == cmp.Compare(db[i], 0) {
				same++
			}
		}
	}
	c.A, c.B, c.Tokens = a.side(), b.side(), len(x)
	c.SameSign = ratio(float64(same), c.Tokens)
	c.Spearman, c.Defined = Spearman(x, y)
	return c
}

func scored(s *harness.StepScore) bool { return s != nil && s.Status == harness.ScoreDone }

// sideSum gathers a Side.
type sideSum struct {
	rows, action, reason, clipped            int
	actionSum, actionAbs, reasonSum, reasonA float64
}

func (s *sideSum) add(r *harness.StepScore, clip float64) {
	if !scored(r) {
		return
	}
	s.rows++
	for i, d := range r.Delta() {
		v := float64(d)
		if !r.ActionMask[i] {
			s.reason++
			s.reasonSum += v
			s.reasonA += math.Abs(v)
			continue
		}
		s.action++
		s.actionSum += v
		s.actionAbs += math.Abs(v)
		if w := math.Exp(v); w <= 1-clip || w >= 1+clip {
			s.clipped++
		}
	}
}

// SideSum gathers a Side step by step. Weights are clipped to 1 ± Clip, as SERL does for a positive advantage.
type SideSum struct {
	Clip float64
	sum  sideSum
}

// Add counts a step in; one without a delta, or nil, changes nothing.
func (s *SideSum) Add(r *harness.StepScore) { s.sum.add(r, s.Clip) }

// Side is what was gathered so far.
func (s *SideSum) Side() Side { return s.sum.side() }

func (s *sideSum) side() Side {
	return Side{
		Scored: s.rows, ActionTok: s.action, ReasonTok: s.reason,
		Action: ratio(s.actionSum, s.action), ActionAbs: ratio(s.actionAbs, s.action),
		Reason: ratio(s.reasonSum, s.reason), ReasonAbs: ratio(s.reasonA, s.reason), Clipped: ratio(float64(s.clipped), s.action),
	}
}

func ratio(sum float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// Spearman is the rank correlation of x and y, with the mean rank for ties. It is not defined where one of
// them has no two different values.
func Spearman(x, y []float64) (rho float64, defined bool) {
	rx, ry := ranks(x), ranks(y)
	mean := (float64(len(x)) + 1) / 2
	var xy, xx, yy float64
	for i := range rx {
		dx, dy := rx[i]-mean, ry[i]-mean
		xy, xx, yy = xy+dx*dy, xx+dx*dx, yy+dy*dy
	}
	if xx == 0 || yy == 0 {
		return 0, false
	}
	return xy / math.Sqrt(xx*yy), true
}

// ranks are 1-based; equal values share the mean of their ranks.
func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	out := make([]float64, len(v))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && v[order[to]] == v[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to+1) / 2
		}
		from = to
	}
	return out
}

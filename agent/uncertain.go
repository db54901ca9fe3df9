package agent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
)

// Measures of a step's uncertainty.
const (
	MeasureMean = "mean" // of the entropies of its tokens
	MeasureMax  = "max"
)

// Regions of a response that count.
const (
	RegionAction   = "action"   // the tokens of the executable action; a step without any has no place
	RegionResponse = "response" // all tokens
)

// Uncertain is the Chooser that forks at the steps whose response was the most uncertain. Its zero value
// forks before the token of the action with the highest entropy.
type Uncertain struct {
	At       ForkAt  // "" = ForkAtToken
	Measure  string  // "" = MeasureMax
	Region   string  // "" = RegionAction
	Distance int     // at least so many steps between two forks on a path; 0 = 1
	Above    float64 // nats: steps that are not more uncertain are left alone; nothing forks at 0
}

var _ Chooser = Uncertain{}

// Validate reports the first value that cannot work.
func (u Uncertain) Validate() error {
	for _, c := range []struct {
		what, got string
		known     []string
	}{
		{"fork at", string(u.At), []string{"", string(ForkAtToken), string(ForkAtResponse)}},
		{"measure", u.Measure, []string{"", MeasureMean, MeasureMax}},
		{"region", u.Region, []string{"", RegionAction, RegionResponse}},
	} {
		if !slices.Contains(c.known, c.got) {
			return fmt.Errorf("tree config: %s %q: want one of %q", c.what, c.got, c.known[1:])
		}
	}
	if u.Distance < 0 || !(u.Above >= 0) {
		return fmt.Errorf("tree config: a distance of %d steps and a bound of %v nats: neither can be negative", u.Distance, u.Above)
	}
	return nil
}

// Token reports whether it forks inside responses.
func (u Uncertain) Token() bool { return u.At != ForkAtResponse }

// Places lists one place per step that is uncertain enough and far enough from the forks that the tree has.
func (u Uncertain) Places(episodes []Grown, taken []harness.Fork) []Place {
	var out []Place
	for e := range episodes {
		g := &episodes[e]
		from := 0
		if g.Fork != nil {
			from = g.Fork.Step
		}
		for i := from; i < len(g.Steps); i++ {
			p, ok := u.place(g, i)
			if !ok || u.crowded(g, i, taken) {
				continue
			}
			p.Episode = e
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.Entropy, a.Entropy), cmp.Compare(episodes[a.Episode].Ref.Sample, episodes[b.Episode].Ref.Sample), cmp.Compare(a.Step, b.Step))
	})
	return out
}

// crowded reports whether a fork of g's path is too near to step i.
func (u Uncertain) crowded(g *Grown, i int, taken []harness.Fork) bool {
	near := func(f harness.Fork) bool { return max(i-f.Step, f.Step-i) < max(u.Distance, 1) }
	if g.Fork != nil && near(*g.Fork) {
		return true
	}
	return slices.ContainsFunc(taken, func(f harness.Fork) bool { return f.Parent == g.Ref.ID && near(f) })
}

// place measures step i of g and finds where it would fork.
func (u Uncertain) place(g *Grown, i int) (Place, bool) {
	s := &g.Steps[i]
	t := s.Tokens
	if t == nil || t.Entropies == nil {
		return Place{}, false
	}
	counts := u.region(s)
	best, sum, n := -1, 0.0, 0
	for k, h := range t.Entropies {
		if !counts(k) || !g.Own(i, k) {
			continue
		}
		sum += float64(h)
		n++
		if best < 0 || h > t.Entropies[best] {
			best = k
		}
	}
	if best < 0 {
		return Place{}, false
	}
	p := Place{Step: i, Token: best, Entropy: float64(t.Entropies[best])}
	if u.Measure == MeasureMean {
		p.Entropy = sum / float64(n)
	}
	if !(p.Entropy > u.Above) {
		return Place{}, false
	}
	if !u.Token() {
		p.Token = 0
	} else if p.Token > 0 {
		if _, err := CutPrefix(s, p.Token); err != nil {
			return Place{}, false
		}
	}
	return p, g.Fork == nil || harness.Fork{Step: p.Step, Token: p.Token}.After(*g.Fork)
}

// region returns which tokens of a step count.
func (u Uncertain) region(s *harness.Step) func(token int) bool {
	if u.Region == RegionResponse {
		return func(int) bool { return true }
	}
	offsets, err := s.Tokens.Spans(s.Response)
	if err != nil || offsets == nil {
		return func(int) bool { return false }
	}
	mask := harness.MaskSpans(offsets, s.Spans)
	return func(k int) bool { return mask[k] }
}

package creditrun

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/credit"
)

// treeMember is an episode of the explained step's group with its place in the tree.
type treeMember struct {
	episode int64
	ret     float64
	fork    *credit.Fork // nil: a root
}

// behind reports whether the fork lies behind a place: the place is the parent's.
func behind(f *credit.Fork, step, token int) bool {
	return f != nil && (step < f.Step || step == f.Step && token < f.Token)
}

// members lists the group's episodes in the order of their numbers.
func (x *explainer) members() []treeMember {
	var out []treeMember
	for i := range x.steps {
		s := &x.steps[i]
		if !slices.ContainsFunc(out, func(m treeMember) bool { return m.episode == s.Episode }) {
			out = append(out, treeMember{s.Episode, s.Return, s.Fork})
		}
	}
	slices.SortFunc(out, func(a, b treeMember) int { return int(a.episode - b.episode) })
	return out
}

func find(all []treeMember, episode int64) *treeMember {
	return &all[slices.IndexFunc(all, func(m treeMember) bool { return m.episode == episode })]
}

// ownerOf is the episode that sampled the token at a place of an episode's path.
func ownerOf(all []treeMember, episode int64, step, token int) *treeMember {
	m := find(all, episode)
	for behind(m.fork, step, token) {
		m = find(all, int64(m.fork.Parent))
	}
	return m
}

// through lists the episodes whose path holds what owner sampled at a place.
func through(all []treeMember, owner int64, step, token int) (episodes []string, returns []float64) {
	for _, m := range all {
		if descends(all, m, owner, step, token) {
			episodes, returns = append(episodes, fmt.Sprint(m.episode)), append(returns, m.ret)
		}
	}
	return episodes, returns
}

// descends reports whether m is owner or grew out of it behind a place.
func descends(all []treeMember, m treeMember, owner int64, step, token int) bool {
	for {
		if m.episode == owner {
			return true
		}
		if m.fork == nil {
			return false
		}
		parent := int64(m.fork.Parent)
		if parent == owner {
			return behind(m.fork, step, token)
		}
		m = *find(all, parent)
	}
}

// familyOf finds where the segment of a place begins, and the mean returns of those that begin there: its
// own first.
func familyOf(all []treeMember, owner *treeMember, step, token int) (start string, values []float64) {
	begin := owner.fork
	for i := range all {
		f := all[i].fork
		if f != nil && int64(f.Parent) == owner.episode && !behind(f, step, token) && (begin == nil || behind(f, begin.Step, begin.Token) || begin == owner.fork) {
			begin = f
		}
	}
	mean := func(owner int64, step, token int) float64 {
		_, returns := through(all, owner, step, token)
		return meanOf(returns)
	}
	if begin == nil {
		values = []float64{mean(owner.episode, -1, 0)}
		for _, m := range all {
			if m.fork == nil && m.episode != owner.episode {
				values = append(values, mean(m.episode, -1, 0))
			}
		}
		return "the beginning", values
	}
	values = []float64{mean(owner.episode, begin.Step, begin.Token)}
	if parent := int64(begin.Parent); parent != owner.episode {
		values = append(values, mean(parent, begin.Step, begin.Token))
	}
	for _, m := range all {
		if m.fork != nil && *m.fork == *begin && m.episode != owner.episode {
			values = append(values, mean(m.episode, begin.Step, begin.Token))
		}
	}
	return fmt.Sprintf("the fork of episode %d at step %d, token %d", begin.Parent, begin.Step, begin.Token), values
}

// cutsOf are the tokens of the explained row before which a fork of its path lies.
func (x *explainer) cutsOf(all []treeMember) []int {
	s, out := x.self(), []int{0}
	for m := find(all, s.Episode); ; m = find(all, int64(m.fork.Parent)) {
		for _, o := range all {
			if o.fork != nil && (int64(o.fork.Parent) == m.episode || o.episode == m.episode) && o.fork.Step == s.Index && o.fork.Token > 0 && o.fork.Token < s.Tokens {
				out = append(out, o.fork.Token)
			}
		}
		if m.fork == nil {
			break
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// treed explains the tree estimator; the last line is the advantage behind the row's last fork.
func (x *explainer) treed() float64 {
	c, s := x.cfg.Estimator, x.self()
	episode, penalty := 0.0, 0.0
	switch {
	case !c.ForkOnly:
		episode = x.grouped("A^E", c.Norm)
	case !s.Valid:
		penalty = c.InvalidPenalty
	}
	all := x.members()
	a := 0.0
	cuts := x.cutsOf(all)
	for n, from := range cuts {
		name := func(base string) string {
			if n == len(cuts)-1 {
				return base
			}
			return fmt.Sprintf("%s before token %d", base, cuts[n+1])
		}
		owner := ownerOf(all, s.Episode, s.Index, from)
		start, values := familyOf(all, owner, s.Index, from)
		names, returns := through(all, owner.episode, s.Index, from)
		v := x.add(name("V"), values[0]-penalty, "(%s)/%d, over the episodes %s", counted(returns, num), len(returns), strings.Join(names, ", "))
		f := -penalty
		if len(values) > 1 {
			m := x.add(name("mean V"), meanOf(values), "(%s)/%d, over the ways on from %s", counted(values, num), len(values), start)
			if c.Norm == credit.NormMean {
				f = x.add(name("A^F"), v-m, "%s − %s", num(v), num(m))
			} else {
				sd := x.add(name("std V"), deviation(values, len(values)-1), "√((%s)/%d)", counted(values, squared(m)), len(values)-1)
				f = x.add(name("A^F"), (v-m)/(sd+c.Epsilon), "(%s − %s)/(%s + %s)", num(v), num(m), num(sd), num(c.Epsilon))
			}
		} else {
			x.add(name("A^F"), f, "no other way on from %s", start)
		}
		a = x.add(name("A"), episode+c.StepWeight*f, "%s + %s·%s", num(episode), num(c.StepWeight), num(f))
		x.pieces = append(x.pieces, credit.Piece{From: from, Leaves: len(returns), Value: a})
	}
	return a
}

// share explains how often the row's tokens count.
func (x *explainer) share(base float64) []credit.Piece {
	forked := slices.ContainsFunc(x.steps, func(s Step) bool { return s.Fork != nil })
	if x.pieces == nil && (!forked || x.cfg.Shared != SharedOnce) {
		return nil
	}
	out := slices.Clone(x.pieces)
	if out == nil {
		all, s := x.members(), x.self()
		for _, from := range x.cutsOf(all) {
			_, returns := through(all, ownerOf(all, s.Episode, s.Index, from).episode, s.Index, from)
			out = append(out, credit.Piece{From: from, Leaves: len(returns), Value: base})
		}
	}
	for j := range out {
		p := &out[j]
		if c := x.cfg.Estimator.AdvClip; c > 0 {
			p.Value = min(max(p.Value, -c), c)
		}
		if x.cfg.Shared == SharedOnce {
			p.Value /= float64(p.Leaves)
		}
	}
	return out
}

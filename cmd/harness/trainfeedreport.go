package main

import (
	"cmp"
	"slices"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/creditrun"
)

// addReports is the report of the groups of two reports together. Shares and means are weighed by what they
// are shares and means of.
func addReports(a, b creditrun.Report) creditrun.Report {
	a.Groups, a.Episodes, a.Rows, a.TextRows, a.Tokens = a.Groups+b.Groups, a.Episodes+b.Episodes, a.Rows+b.Rows, a.TextRows+b.TextRows, a.Tokens+b.Tokens
	a.Singles, a.Flat, a.Anchors, a.LoneRows, a.Invalid = a.Singles+b.Singles, a.Flat+b.Flat, a.Anchors+b.Anchors, a.LoneRows+b.LoneRows, a.Invalid+b.Invalid
	a.Inexact, a.Undecided, a.SignBroken = a.Inexact+b.Inexact, a.Undecided+b.Undecided, a.SignBroken+b.SignBroken
	a.SERL = addSERL(a.SERL, b.SERL)
	a.Stages = slices.Clone(a.Stages)
	for _, s := range b.Stages {
		i := slices.IndexFunc(a.Stages, func(have credit.Stage) bool { return have.Name == s.Name })
		if i < 0 {
			a.Stages = append(a.Stages, s)
			continue
		}
		have := &a.Stages[i]
		have.ClipShare = weighed(have.ClipShare, have.Stats.N, s.ClipShare, s.Stats.N)
		have.Stats = addStats(have.Stats, s.Stats)
		have.Rows, have.Tokens = have.Rows+s.Rows, have.Tokens+s.Tokens
	}
	last := func(s credit.Stage) int { // the result comes after what a group brought that others did not have
		if s.Name == "tokens" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(a.Stages, func(x, y credit.Stage) int { return cmp.Compare(last(x), last(y)) })
	return a
}

func addSERL(a, b credit.SERLStats) credit.SERLStats {
	if b.Candidates == 0 && b.Weight.N == 0 {
		return a
	}
	out := credit.SERLStats{Lambda: b.Lambda, Rows: a.Rows + b.Rows, Candidates: a.Candidates + b.Candidates, Weight: addStats(a.Weight, b.Weight)}
	out.DeltaAbsMean = weighed(a.DeltaAbsMean, a.Weight.N, b.DeltaAbsMean, b.Weight.N)
	out.ClippedShare = weighed(a.ClippedShare, a.Weight.N, b.ClippedShare, b.Weight.N)
	out.SelectedShare = weighed(a.SelectedShare, a.Candidates, b.SelectedShare, b.Candidates)
	return out
}

func addStats(a, b credit.Stats) credit.Stats {
	switch {
	case a.N == 0:
		return b
	case b.N == 0:
		return a
	}
	return credit.Stats{N: a.N + b.N, Mean: weighed(a.Mean, a.N, b.Mean, b.N), Min: min(a.Min, b.Min), Max: max(a.Max, b.Max)}
}

// weighed is the mean of x over n and y over m things.
func weighed(x float64, n int, y float64, m int) float64 {
	if n+m == 0 {
		return 0
	}
	return (x*float64(n) + y*float64(m)) / float64(n+m)
}

package creditrun

import (
	"cmp"
	"slices"

	"github.com/hindsightrl/harness/credit"
)

// Training is what one policy version's episodes looked like to the trainer: whether the groups agreed,
// and how large their advantages and factors were. A step of training is a policy version.
type Training struct {
	Version   int32 `json:"version"` // −1: the policy does not say
	Groups    int   `json:"groups"`
	Responses int   `json:"responses"` // rows

	Votes *VoteStats `json:"votes,omitempty"` // nil: no vote was held

	Positive credit.Stats  `json:"positive"` // base advantages above 0: how many, how large
	Negative credit.Stats  `json:"negative"` // below 0
	Factor   *Distribution `json:"factor,omitempty"`
}

// VoteStats sums up the votes of some groups.
type VoteStats struct {
	Groups     int     `json:"groups"`
	Responses  int     `json:"responses"`
	Abstained  int     `json:"abstained"`   // responses without an answer
	Classes    int     `json:"classes"`     // different answers, over all groups
	Tied       int     `json:"tied"`        // groups in which the first seen of several winners won
	Undecided  int     `json:"undecided"`   // groups in which nobody gave an answer
	Ratio      float64 `json:"ratio"`       // mean majority ratio
	Known      int     `json:"known"`       // groups whose answer the environment knows
	Right      int     `json:"right"`       // of these, groups whose label is right: maj@N, the label accuracy
	Solved     int     `json:"solved"`      // responses of these that are right: mean@N
	Asked      int     `json:"asked"`       // responses of these
	RewardsFit int     `json:"rewards_fit"` // of these, responses whose pseudo-reward is the environment's
}

// SumVotes sums votes up.
func SumVotes(votes []GroupVote) VoteStats {
	var s VoteStats
	for i := range votes {
		v := &votes[i]
		s.Groups++
		s.Responses += v.Responses
		s.Abstained += v.Abstained
		s.Classes += v.Classes
		s.Ratio += v.Ratio
		if v.Tied > 1 {
			s.Tied++
		}
		if v.Votes == 0 {
			s.Undecided++
		}
		if !v.Known {
			continue
		}
		s.Known++
		s.Asked += v.Responses
		s.Solved += v.Solved
		s.RewardsFit += v.RewardsFit
		if v.Right {
			s.Right++
		}
	}
	if s.Groups > 0 {
		s.Ratio /= float64(s.Groups)
	}
	return s
}

// Distribution is how numbers are spread.
type Distribution struct {
	credit.Stats
	Quantiles []float64 `json:"quantiles"` // at Quantiles
	Low       int       `json:"low"`       // at the lower clip bound
	High      int       `json:"high"`      // at the upper one
}

// trainingOf sorts rows by policy version. It says nothing where no vote was held and no response stage
// ran: then there is nothing to follow but the rewards, which the ledger has.
func trainingOf(steps []Step, rows []Row, votes []GroupVote, cfg Config) []Training {
	if votes == nil && cfg.Response == credit.ResponseNone {
		return nil
	}
	type gathered struct {
		groups             map[int]bool
		positive, negative []float64
		factors            []float64
		votes              []GroupVote
		rows               int
	}
	by := map[int32]*gathered{}
	of := func(version int32) *gathered {
		g := by[version]
		if g == nil {
			g = &gathered{groups: map[int]bool{}}
			by[version] = g
		}
		return g
	}
	for i := range steps {
		g, a := of(steps[i].Version), rows[i].Base
		g.groups[steps[i].Group] = true
		g.rows++
		switch {
		case a > 0:
			g.positive = append(g.positive, a)
		case a < 0:
			g.negative = append(g.negative, a)
		}
		if steps[i].hasTokens() {
			g.factors = append(g.factors, rows[i].Factor)
		}
	}
	for _, v := range votes {
		g := of(v.Version)
		g.votes = append(g.votes, v)
	}
	var out []Training
	for version, g := range by {
		t := Training{
			Version: version, Groups: len(g.groups), Responses: g.rows,
			Positive: credit.Summarize(g.positive), Negative: credit.Summarize(g.negative),
		}
		if votes != nil {
			s := SumVotes(g.votes)
			t.Votes = &s
		}
		if cfg.Response != credit.ResponseNone {
			t.Factor = distribution(g.factors, cfg)
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Training) int { return cmp.Compare(a.Version, b.Version) })
	return out
}

// distribution describes the response factors; only EAR's have bounds.
func distribution(factors []float64, cfg Config) *Distribution {
	d := &Distribution{Stats: credit.Summarize(factors), Quantiles: make([]float64, len(Quantiles))}
	slices.Sort(factors)
	for i, q := range Quantiles {
		d.Quantiles[i] = quantile(factors, q)
	}
	if cfg.Response == credit.ResponseEAR {
		for _, f := range factors {
			if f <= 1-cfg.EAR.Clip+clipMargin {
				d.Low++
			}
			if f >= 1+cfg.EAR.Clip-clipMargin {
				d.High++
			}
		}
	}
	return d
}

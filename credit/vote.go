package credit

import "fmt"

// Ballot is the vote of a group's responses on the answer. Its class numbers are the caller's.
type Ballot struct {
	Responses int     `json:"responses"` // N
	Abstained int     `json:"abstained"` // of them, responses without an answer
	Classes   int     `json:"classes"`   // different answers
	Winner    int     `json:"winner"`    // class with the most votes; −1 where nobody voted
	First     int     `json:"first"`     // index of the first response for the winner; −1 where nobody voted
	Votes     int     `json:"votes"`     // for the winner
	Tied      int     `json:"tied"`      // classes with as many votes as the winner, itself among them: 1 = no tie
	Ratio     float64 `json:"ratio"`     // majority ratio: Votes / N; 0 for no responses
}

// Vote counts a group's votes. class holds each response's answer as the number of its equivalence class,
// −1 for no answer: such a response abstains, and counts in the ratio. Of several classes with the most
// votes the one that was seen first wins, and Tied says so.
//
// Source: TTRL, arXiv 2504.16084 (majority voting reward); majority ratio: ETTRL, arXiv 2508.11356.
func Vote(class []int) (Ballot, error) {
	b := Ballot{Responses: len(class), Winner: -1, First: -1}
	ids, n := dense(class)
	votes, first := make([]int, n), make([]int, n)
	for i, k := range ids {
		if class[i] < -1 {
			return b, fmt.Errorf("vote: response %d has class %d, want a number or -1: %w", i, class[i], ErrConfig)
		}
		if class[i] == -1 {
			b.Abstained++
			continue
		}
		if votes[k] == 0 {
			first[k] = i
			b.Classes++
		}
		votes[k]++
	}
	for k, v := range votes {
		switch {
		case v == 0:
		case v > b.Votes, v == b.Votes && first[k] < b.First:
			if v > b.Votes {
				b.Tied = 0
			}
			b.Votes, b.First, b.Winner = v, first[k], class[first[k]]
			b.Tied++
		case v == b.Votes:
			b.Tied++
		}
	}
	if len(class) > 0 {
		b.Ratio = float64(b.Votes) / float64(len(class))
	}
	return b, nil
}

// Rewards are the pseudo-rewards of the vote: 1 for a response that gave the winning answer, 0 for the
// others. class is what Vote was given.
func (b Ballot) Rewards(class []int) []float64 {
	out := make([]float64, len(class))
	for i, k := range class {
		if k == b.Winner && k >= 0 {
			out[i] = 1
		}
	}
	return out
}

// EntropyReward is what a response gets for being sure of itself: −H̄, the negative mean of its token
// entropies in nats (RENT, arXiv 2505.22660), or, with sum set, −Σ_t H_t (EM-RL's token-level reward, arXiv
// 2505.15134), which also pays for being short. tokens is the response's length.
func EntropyReward(h Interval, tokens int, sum bool) float64 {
	r := -h.Mean
	if sum {
		r *= float64(tokens)
	}
	if r == 0 {
		return 0 // not -0
	}
	return r
}

// TreeTokenRatio is the share of tokens that a tree of one trunk and branches·forks leaves generates,
// against as many responses sampled in parallel, if forks lie in the middle of the trunk on average:
//
//	(1 + 0.5·B·N)/(1 + B·N)
//
// N forks, B branches from each beside the trunk itself. Without branches it is 1. Source: ETTRL, arXiv
// 2508.11356.
func TreeTokenRatio(forks, branches int) float64 {
	n := float64(forks) * float64(branches)
	return (1 + 0.5*n) / (1 + n)
}

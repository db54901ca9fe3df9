package creditrun

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness/credit"
	"github.com/hindsightrl/harness/internal/answer"
)

// RewardSource says where the rewards come from that a group is compared by.
type RewardSource string

// The sources. What the environment paid stays in the ledger, whichever is read.
const (
	RewardEnvironment RewardSource = "environment" // what the environment paid
	RewardVote        RewardSource = "vote"        // TTRL: 1 for the answer that most of the group gave
	RewardEntropy     RewardSource = "entropy"     // RENT: −H̄ of the episode's tokens
	RewardEntropySum  RewardSource = "entropy_sum" // EM-RL, by tokens: −Σ H_t
)

// RewardConfig chooses the rewards. The zero value is the environment's.
type RewardConfig struct {
	Source    RewardSource `json:"source"`
	Exact     bool         `json:"exact"`     // vote: answers are the same where their texts are
	Tolerance float64      `json:"tolerance"` // vote: relative, between numbers that may have been rounded
}

// DefaultReward takes the environment's rewards; a vote compares answers by meaning.
func DefaultReward() RewardConfig {
	return RewardConfig{Source: RewardEnvironment, Tolerance: answer.DefaultTolerance}
}

// Name is the source's; "environment" for the zero value.
func (c RewardConfig) Name() string { return string(cmp.Or(c.Source, RewardEnvironment)) }

// Validate reports the first setting outside its range (credit.ErrConfig).
func (c RewardConfig) Validate() error {
	known := []RewardSource{"", RewardEnvironment, RewardVote, RewardEntropy, RewardEntropySum}
	if !slices.Contains(known, c.Source) {
		return fmt.Errorf("reward.source is %q, want one of %q: %w", c.Source, known[1:], credit.ErrConfig)
	}
	if !(c.Tolerance >= 0 && c.Tolerance < 1) {
		return fmt.Errorf("reward.tolerance is %v, want a number in [0, 1): %w", c.Tolerance, credit.ErrConfig)
	}
	return nil
}

// canonical is c without what its source does not read; zero for the environment's rewards.
func (c RewardConfig) canonical() RewardConfig {
	switch c.Source {
	case "", RewardEnvironment:
		return RewardConfig{}
	case RewardVote:
		if c.Exact {
			c.Tolerance = 0
		}
		return c
	}
	return RewardConfig{Source: c.Source}
}

func (c RewardConfig) rules() answer.Rules {
	return answer.Rules{Exact: c.Exact, Tolerance: c.Tolerance}
}

// ErrNoAnswers says that a vote is to be held and the run's episodes do not end with an answer.
var ErrNoAnswers = errors.New("the run has no questions: nothing to vote on")

// GroupVote is the vote of one group.
type GroupVote struct {
	Group int `json:"group"`
	credit.Ballot
	Label string `json:"label"` // the winning answer as it was first written; "" where nobody voted
	Known bool   `json:"known"` // the environment knows the answer
	Right bool   `json:"right"` // and pays for the label

	Solved     int   `json:"solved"`      // responses that the environment pays for
	RewardsFit int   `json:"rewards_fit"` // responses whose pseudo-reward is 1 exactly where the environment pays
	Version    int32 `json:"version"`     // policy version; −1 = unknown
}

// Votes holds the vote of every group. Only the last step of an episode is read: it must carry an Answer.
func Votes(steps []Step, cfg RewardConfig) ([]GroupVote, error) {
	votes, _, err := holdVotes(steps, cfg)
	return votes, err
}

// holdVotes also returns the pseudo-reward of each episode.
func holdVotes(steps []Step, cfg RewardConfig) ([]GroupVote, map[int64]float64, error) {
	var votes []GroupVote
	rewards := map[int64]float64{}
	for _, members := range byGroup(lastSteps(steps)) {
		v, err := voteOf(members, cfg, rewards)
		if err != nil {
			return nil, nil, err
		}
		votes = append(votes, v)
	}
	return votes, rewards, nil
}

func voteOf(members []*Step, cfg RewardConfig, rewards map[int64]float64) (GroupVote, error) {
	v := GroupVote{Group: members[0].Group, Version: members[0].Version}
	answers := make([]string, len(members))
	for i, s := range members {
		if s.Answer == nil {
			return v, fmt.Errorf("vote of group %d: episode %d: %w", s.Group, s.Episode, ErrNoAnswers)
		}
		answers[i] = s.Answer.Text
		v.Known = v.Known || s.Answer.Known
		v.Version = min(v.Version, s.Version)
	}
	class := answer.Classes(answers, cfg.rules())
	var err error
	if v.Ballot, err = credit.Vote(class); err != nil {
		return v, fmt.Errorf("vote of group %d: %w", v.Group, err)
	}
	for i, r := range v.Rewards(class) {
		rewards[members[i].Episode] = r
		paid := members[i].Return > 0
		if paid {
			v.Solved++
		}
		if paid == (r > 0) {
			v.RewardsFit++
		}
	}
	if v.First >= 0 {
		v.Label, v.Right = answers[v.First], members[v.First].Return > 0
	}
	return v, nil
}

// lastSteps is the last step of each episode, in the order in which the episodes appear.
func lastSteps(steps []Step) []*Step {
	at := map[int64]int{}
	var out []*Step
	for i := range steps {
		s := &steps[i]
		k, ok := at[s.Episode]
		if !ok {
			at[s.Episode] = len(out)
			out = append(out, s)
		} else if s.Index > out[k].Index {
			out[k] = s
		}
	}
	return out
}

// byGroup sorts episodes into their groups, in order of first appearance; within a group they are in
// order of their samples, which decides who was seen first.
func byGroup(last []*Step) [][]*Step {
	at := map[int]int{}
	var out [][]*Step
	for _, s := range last {
		k, ok := at[s.Group]
		if !ok {
			k = len(out)
			at[s.Group], out = k, append(out, nil)
		}
		out[k] = append(out[k], s)
	}
	for _, g := range out {
		slices.SortStableFunc(g, func(a, b *Step) int { return a.Sample - b.Sample })
	}
	return out
}

// rewarded returns the steps with the rewards that the configuration asks for, and the votes where there
// were any. The steps that it was given stay as they are.
func rewarded(steps []Step, cfg RewardConfig) ([]Step, []GroupVote, error) {
	var votes []GroupVote
	var rewards map[int64]float64
	var err error
	switch cfg.Source {
	case "", RewardEnvironment:
		return steps, nil, nil
	case RewardVote:
		votes, rewards, err = holdVotes(steps, cfg)
	case RewardEntropy, RewardEntropySum:
		rewards, err = entropyRewards(steps, cfg.Source == RewardEntropySum)
	}
	if err != nil {
		return nil, nil, err
	}
	out := slices.Clone(steps)
	for i := range out {
		out[i].Return, out[i].Reward = rewards[out[i].Episode], 0
	}
	for _, s := range lastSteps(out) {
		s.Reward = s.Return
	}
	return out, votes, nil
}

// entropyRewards pays every episode for the certainty of all its tokens.
func entropyRewards(steps []Step, sum bool) (map[int64]float64, error) {
	type total struct {
		entropy float64
		tokens  int
	}
	all := map[int64]total{}
	for i := range steps {
		s := &steps[i]
		if !s.hasTokens() || s.Tokens > 0 && s.Entropies == nil {
			return nil, fmt.Errorf("reward of episode %d, step %d: %w", s.Episode, s.Index, ErrNoEntropies)
		}
		h, err := s.entropy()
		if err != nil {
			return nil, err
		}
		t := all[s.Episode]
		all[s.Episode] = total{t.entropy + h.Mean*float64(s.Tokens), t.tokens + s.Tokens}
	}
	out := make(map[int64]float64, len(all))
	for episode, t := range all {
		mean := t.entropy / float64(max(t.tokens, 1))
		out[episode] = credit.EntropyReward(credit.Exact(mean), t.tokens, sum)
	}
	return out, nil
}

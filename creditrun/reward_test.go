package creditrun

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/credit"
)

// quiz makes groups of single-turn episodes that answered. An answer with a "!" before it is right by the
// environment's word; "?" as the first answer of a group says that the environment does not know.
func quiz(groups ...[]string) []Step {
	var out []Step
	for g, answers := range groups {
		known := answers[0] != "?"
		if !known {
			answers = answers[1:]
		}
		for sample, a := range answers {
			text, right := strings.CutPrefix(a, "!")
			s := Step{
				ID: int64(len(out) + 1), Episode: int64(len(out) + 1), Group: g, Sample: sample, Valid: true, Anchor: "question",
				Tokens: 2, Entropies: []float32{0.1 * float32(sample+1), 0.1 * float32(sample+1)}, Version: int32(g / 2),
				Answer: &Answer{Text: text, Known: known},
			}
			if right {
				s.Return, s.Reward = 1, 1
			}
			out = append(out, s)
		}
	}
	return out
}

func voteConfig() Config {
	c := DefaultConfig(credit.GRPO, false)
	c.Reward.Source = RewardVote
	return c
}

func TestVotes(t *testing.T) {
	t.Parallel()
	steps := quiz(
		[]string{"!1/2", "3", "!0.5", ""},    // a majority that is right
		[]string{"4", "!5", "4", "4"},        // one that is wrong
		[]string{"?", "7", "8", "8", "7"},    // a tie, and nobody knows
		[]string{"", "", ""},                 // nobody votes
		[]string{"?", "x", "y", "z", "x, y"}, // all differ
	)
	votes, err := Votes(steps, voteConfig().Reward)
	if err != nil {
		t.Fatal(err)
	}
	want := []GroupVote{
		{Group: 0, Ballot: credit.Ballot{Responses: 4, Abstained: 1, Classes: 2, Votes: 2, Tied: 1, Ratio: 0.5}, Label: "1/2", Known: true, Right: true, Solved: 2, RewardsFit: 4},
		{Group: 1, Ballot: credit.Ballot{Responses: 4, Classes: 2, Votes: 3, Tied: 1, Ratio: 0.75}, Label: "4", Known: true, Solved: 1, RewardsFit: 0},
		{Group: 2, Ballot: credit.Ballot{Responses: 4, Classes: 2, Votes: 2, Tied: 2, Ratio: 0.5}, Label: "7", RewardsFit: 2, Version: 1},
		{Group: 3, Ballot: credit.Ballot{Responses: 3, Abstained: 3, Winner: -1, First: -1}, Known: true, RewardsFit: 3, Version: 1},
		{Group: 4, Ballot: credit.Ballot{Responses: 4, Classes: 4, Votes: 1, Tied: 4, Ratio: 0.25}, Label: "x", RewardsFit: 3, Version: 2},
	}
	if d := cmp.Diff(want, votes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sum := SumVotes(votes)
	if d := cmp.Diff(VoteStats{
		Groups: 5, Responses: 19, Abstained: 4, Classes: 10, Tied: 2, Undecided: 1, Ratio: 0.4, Known: 3, Right: 1, Solved: 3, Asked: 11, RewardsFit: 7,
	}, sum); d != "" {
		t.Errorf("sum (-want +got):\n%s", d)
	}
}

// TestVoteIsTheReward: credit of a vote is credit of the votes as rewards, and the steps that it was given
// keep their own.
func TestVoteIsTheReward(t *testing.T) {
	t.Parallel()
	steps := quiz([]string{"4", "!5", "4", ""}, []string{"?", "7", "8", "7"})
	before := quiz([]string{"4", "!5", "4", ""}, []string{"?", "7", "8", "7"})
	res, err := Run(steps, voteConfig())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, steps); d != "" {
		t.Errorf("the steps changed:\n%s", d)
	}
	paid := quiz([]string{"4", "!5", "4", ""}, []string{"?", "7", "8", "7"})
	for i, r := range []float64{1, 0, 1, 0, 1, 0, 1} {
		paid[i].Return, paid[i].Reward = r, r
	}
	want, err := Run(paid, DefaultConfig(credit.GRPO, false))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Rows, res.Rows); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(res.Report.Votes) != 2 || want.Report.Votes != nil {
		t.Errorf("votes %v and %v", res.Report.Votes, want.Report.Votes)
	}
	for i := range steps {
		e, err := Explain(steps, voteConfig(), i)
		if err != nil {
			t.Fatal(err)
		}
		if d := e.Differs(res.Rows[i]); d != "" {
			t.Errorf("step %d: %s", i, d)
		}
	}
}

func TestEntropyRewards(t *testing.T) {
	t.Parallel()
	steps := quiz([]string{"1", "2", "3"})
	steps = append(steps, steps[2]) // a second step of the last episode
	steps[3].ID, steps[3].Index, steps[3].Tokens, steps[3].Entropies = 4, 1, 4, []float32{0, 0, 0, 0}
	for source, want := range map[RewardSource][]float64{
		RewardEntropy:    {-0.1, -0.2, -0.1, -0.1}, // 2 tokens of 0.3 and 4 of 0
		RewardEntropySum: {-0.2, -0.4, -0.6, -0.6},
	} {
		got, votes, err := rewarded(steps, RewardConfig{Source: source})
		if err != nil || votes != nil {
			t.Fatal(votes, err)
		}
		for i := range got {
			if math.Abs(got[i].Return-want[i]) > 1e-7 {
				t.Errorf("%s: step %d returns %v, want %v", source, i, got[i].Return, want[i])
			}
		}
		if got[2].Reward != 0 || got[3].Reward != got[3].Return {
			t.Errorf("%s: the reward stands at steps %v and %v", source, got[2].Reward, got[3].Reward)
		}
	}
	steps[1].Entropies = nil
	if _, _, err := rewarded(steps, RewardConfig{Source: RewardEntropy}); !errors.Is(err, ErrNoEntropies) {
		t.Errorf("tokens without entropies: %v", err)
	}
	steps[1].Tokens = -1
	if _, _, err := rewarded(steps, RewardConfig{Source: RewardEntropy}); !errors.Is(err, ErrNoEntropies) {
		t.Errorf("no tokens: %v", err)
	}
}

func TestRewardConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []RewardConfig{{Source: "votes"}, {Source: RewardVote, Tolerance: -1}, {Source: RewardVote, Tolerance: math.NaN()}, {Tolerance: 1}} {
		if err := c.Validate(); !errors.Is(err, credit.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if (RewardConfig{}).Name() != "environment" || (RewardConfig{Source: RewardVote}).Name() != "vote" {
		t.Error("a source has another name")
	}
	// A pass by the environment's rewards has the key that it had before there were others.
	key := func(change func(*Config)) string {
		c := DefaultConfig(credit.GRPO, false)
		change(&c)
		k, err := c.Key("inputs", "")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	plain := key(func(*Config) {})
	for name, change := range map[string]func(*Config){
		"no reward named": func(c *Config) { c.Reward = RewardConfig{} },
		"unread":          func(c *Config) { c.Reward.Exact, c.Reward.Tolerance = true, 0.5 },
	} {
		if key(change) != plain {
			t.Errorf("%s: another key", name)
		}
	}
	vote := func(change func(*Config)) string {
		return key(func(c *Config) { c.Reward.Source = RewardVote; change(c) })
	}
	seen := map[string]string{plain: "environment"}
	for name, k := range map[string]string{
		"vote": vote(func(*Config) {}), "exact": vote(func(c *Config) { c.Reward.Exact = true }), "tolerance": vote(func(c *Config) { c.Reward.Tolerance = 0.1 }),
		"entropy": key(func(c *Config) { c.Reward.Source = RewardEntropy }), "sum": key(func(c *Config) { c.Reward.Source = RewardEntropySum }),
	} {
		if seen[k] != "" {
			t.Errorf("%s has the key of %s", name, seen[k])
		}
		seen[k] = name
	}
	if vote(func(c *Config) { c.Reward.Exact, c.Reward.Tolerance = true, 0.3 }) != vote(func(c *Config) { c.Reward.Exact = true }) {
		t.Error("an exact vote reads no tolerance")
	}
}

func TestVoteWithoutQuestions(t *testing.T) {
	t.Parallel()
	steps := quiz([]string{"1", "2"})
	steps[1].Answer = nil
	if _, err := Run(steps, voteConfig()); !errors.Is(err, ErrNoAnswers) {
		t.Errorf("got %v", err)
	}
	if _, err := Explain(steps, voteConfig(), 0); !errors.Is(err, ErrNoAnswers) {
		t.Errorf("explained: %v", err)
	}
}

// TestTraining: each policy version reports its own groups: votes, advantages, factors.
func TestTraining(t *testing.T) {
	t.Parallel()
	steps := quiz([]string{"!1", "!1", "2"}, []string{"3", "4", "3"}, []string{"5", "5", "5"})
	cfg := voteConfig()
	cfg.Response = credit.ResponseEAR
	res, err := Run(steps, cfg)
	if err != nil {
		t.Fatal(err)
	}
	got := res.Report.Training
	if len(got) != 2 || got[0].Version != 0 || got[1].Version != 1 {
		t.Fatalf("%+v", got)
	}
	first, second := got[0], got[1]
	if first.Groups != 2 || first.Responses != 6 || first.Votes.Groups != 2 || first.Votes.Right != 1 || first.Positive.N != 4 || first.Negative.N != 2 {
		t.Errorf("version 0: %+v, votes %+v", first, first.Votes)
	}
	if second.Groups != 1 || second.Positive.N+second.Negative.N != 0 || second.Votes.Ratio != 1 {
		t.Errorf("version 1: %+v", second)
	}
	// H̄ is 0.1, 0.2 and 0.3 in each group: γ is 1.2 at the bound, 1, and 0.8 at the bound.
	for _, g := range got {
		if d := g.Factor; math.Abs(d.Mean-1) > 1e-6 || d.Low != d.High || d.Low != g.Groups || math.Abs(d.Quantiles[2]-1) > 1e-6 {
			t.Errorf("version %d: factors %+v", g.Version, d)
		}
	}
	for name, change := range map[string]func(*Config){
		"no votes":   func(c *Config) { c.Reward.Source = RewardEnvironment },
		"no factors": func(c *Config) { c.Response = credit.ResponseNone },
	} {
		c := cfg
		change(&c)
		res, err := Run(steps, c)
		if err != nil || len(res.Report.Training) != 2 {
			t.Fatalf("%s: %v", name, err)
		}
		if one := res.Report.Training[0]; (one.Votes == nil) != (name == "no votes") || (one.Factor == nil) != (name == "no factors") {
			t.Errorf("%s: %+v", name, one)
		}
	}
	if res, err := Run(steps, DefaultConfig(credit.GRPO, false)); err != nil || res.Report.Training != nil {
		t.Errorf("neither: %v, %v", res.Report.Training, err)
	}
}

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Defaults of ETMR: 60 leaves per question.
const (
	DefaultETMRTrees    = 12
	DefaultETMRForks    = 2
	DefaultETMRBranches = 2
)

// ETMR is the Chooser of entropy-fork tree majority rollouts: in single-turn episodes it forks before the
// tokens of the response with the highest entropy, the earlier one of two equals first. The first token
// and the last can be among them. A response with fewer tokens than forks are wanted is forked at the
// same tokens again, so that every tree has all of its leaves.
// Source: ETTRL, arXiv 2508.11356 (entropy-fork tree majority rollout).
type ETMR struct {
	Distance int // tokens between two forks at least; 0 = 1. It yields where it leaves no token.
}

var _ Chooser = ETMR{}

// Validate reports a distance that cannot be.
func (c ETMR) Validate() error {
	if c.Distance < 0 {
		return fmt.Errorf("etmr: a distance of %d tokens between forks", c.Distance)
	}
	return nil
}

// Token reports that it forks inside responses.
func (ETMR) Token() bool { return true }

// Places lists the tokens of the first response of each episode, those first that no fork has or is near.
func (c ETMR) Places(episodes []Grown, taken []harness.Fork) []Place {
	var out []Place
	for e := range episodes {
		g := &episodes[e]
		if len(g.Steps) == 0 {
			continue
		}
		var have []int
		for _, f := range taken {
			if f.Parent == g.Ref.ID && f.Step == 0 {
				have = append(have, f.Token)
			}
		}
		for _, k := range forkOrder(&g.Steps[0], have, max(c.Distance, 1)) {
			if g.Own(0, k) {
				out = append(out, Place{Episode: e, Token: k, Entropy: entropyAt(g.Steps[0].Tokens, k)})
			}
		}
	}
	return out
}

// forkOrder lists the tokens before which a response may fork, the best first: by how often they were
// taken, then whether the forks at hand are far enough, then by entropy, then by place. A response without
// tokens has the one place where it begins.
func forkOrder(s *harness.Step, taken []int, distance int) []int {
	if s.Tokens == nil || len(s.Tokens.IDs) == 0 {
		return []int{0}
	}
	type place struct {
		token, times int
		near         bool
	}
	var places []place
	printed := 0 // bytes before the token
	for k := range s.Tokens.IDs {
		at := printed
		if k < len(s.Tokens.Lengths) {
			printed += int(s.Tokens.Lengths[k])
		}
		if at < len(s.Response) && !utf8.RuneStart(s.Response[at]) {
			continue // a cut inside a character leaves tokens that are no text
		}
		p := place{token: k}
		for _, t := range taken {
			if t == k {
				p.times++
			}
			p.near = p.near || max(t-k, k-t) < distance
		}
		places = append(places, p)
	}
	slices.SortStableFunc(places, func(a, b place) int {
		near := func(p place) int {
			if p.near && p.times == 0 {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.times, b.times), cmp.Compare(near(a), near(b)),
			cmp.Compare(entropyAt(s.Tokens, b.token), entropyAt(s.Tokens, a.token)), cmp.Compare(a.token, b.token))
	})
	out := make([]int, len(places))
	for i, p := range places {
		out[i] = p.token
	}
	return out
}

// entropyAt is a token's entropy in nats; what is not a number is certain.
func entropyAt(t *harness.Tokens, k int) float64 {
	if t == nil || k >= len(t.Entropies) || math.IsNaN(float64(t.Entropies[k])) {
		return 0
	}
	return float64(t.Entropies[k])
}

// ETMRPolicy makes a model policy one for ETMR: where a branch goes on inside a response, it samples at no
// more than the given temperature, so that a fork at an uncertain token does not lead off the path; 0 =
// at the policy's own. A greedy policy is refused: its branches would all be the same.
func ETMRPolicy(p Policy, guard float64) (Policy, error) {
	m, ok := p.(model)
	switch {
	case !ok:
		return nil, errext.WithHint(errors.New("etmr forks inside a model's responses, and this policy has no model"), "use --policy refmodel, gguf:FILE, vllm:URL, sglang:URL or llamacpp:URL")
	case !(guard >= 0):
		return nil, fmt.Errorf("etmr: a temperature guard of %v", guard)
	case m.sampling.Temperature <= 0:
		return nil, errext.WithHint(errors.New("etmr with temperature 0: all branches of a fork would be the same"), "set --temperature above 0")
	case guard == 0 || guard >= m.sampling.Temperature:
		return m, nil
	}
	cool := m
	cool.sampling.Temperature = guard
	return guarded{m, cool}, nil
}

// guarded is a model that continues responses at a lower temperature than it begins them with.
type guarded struct {
	model
	cool model
}

var _ Brancher = guarded{}

func (g guarded) Act(ctx context.Context, t Turn) (Answer, error) {
	if t.Prefix != nil {
		return g.cool.Act(ctx, t)
	}
	return g.model.Act(ctx, t)
}

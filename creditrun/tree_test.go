package creditrun

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/credit"
)

// grownSteps makes a run of trees: each group has two roots and four leaves, some of them leaves of leaves.
func grownSteps(r *rand.Rand, groups int) []Step {
	var out []Step
	episode := int64(0)
	add := func(s Step) Step {
		s.ID = int64(len(out) + 1)
		out = append(out, s)
		return s
	}
	for g := range groups {
		var members [][]Step
		for sample := range 6 {
			episode++
			var steps []Step
			var fork *credit.Fork
			if sample > 1 {
				p := members[r.IntN(sample)]
				f := credit.Fork{Parent: int(p[0].Episode), Step: r.IntN(len(p))}
				f.Token = r.IntN(p[f.Step].Tokens)
				if behind(p[0].Fork, f.Step, f.Token+1) || p[0].Fork != nil && f.Step == p[0].Fork.Step { // the ancestor's
					p = members[0]
					f = credit.Fork{Parent: int(p[0].Episode), Step: len(p) - 1, Token: 1}
				}
				fork = &f
				steps = slices.Clone(p[:f.Step])
			}
			ret := []float64{0, 10, 3}[r.IntN(3)]
			own := 1 + r.IntN(3)
			for range own {
				s := Step{Index: len(steps), Valid: r.IntN(5) > 0, Anchor: fmt.Sprintf("you see %d", r.IntN(3))}
				n := 3 + r.IntN(6)
				if fork != nil && s.Index == fork.Step {
					n = max(n, fork.Token+2)
				}
				giveTokens(r, &s, n)
				steps = append(steps, s)
			}
			for i := range steps {
				s := &steps[i]
				s.Episode, s.Group, s.Sample, s.Return, s.Reward, s.Fork = episode, g, sample, ret, ret/float64(len(steps)), fork
				*s = add(*s)
			}
			members = append(members, steps)
		}
	}
	return out
}

// Every number of a tree is explained, in every configuration, with shared tokens counted either way.
func TestEveryNumberOfATreeIsExplained(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	all := configs()
	for name, norm := range map[string]credit.Norm{"tree, fork only": credit.NormMean, "tree, mean_std": credit.NormMeanStd} {
		c := DefaultConfig(credit.Tree, true)
		c.Estimator.Norm, c.Estimator.ForkOnly = norm, norm == credit.NormMean
		c.Estimator.InvalidPenalty, c.Estimator.AdvClip, c.Estimator.StepWeight = 0.5, 4, 0.7
		all[name] = c
	}
	for name, cfg := range all {
		for _, shared := range []SharedTokens{SharedLeaf, SharedOnce} {
			t.Run(name+" "+string(shared), func(t *testing.T) {
				t.Parallel()
				cfg := cfg // the two ways share the variable
				cfg.Shared = shared
				steps := grownSteps(rand.New(rand.NewPCG(seed, 1)), 3)
				res, err := Run(steps, cfg)
				if err != nil {
					t.Fatal(err)
				}
				for i := range steps {
					e, err := Explain(steps, cfg, i)
					if err != nil {
						t.Fatal(err)
					}
					if d := e.Differs(res.Rows[i]); d != "" {
						t.Fatalf("step %d: %s\n%+v", i, d, e.Base)
					}
				}
			})
		}
	}
}

// Counted once, what the rows of a token hold adds up to the mean of what they hold otherwise; tokens of one
// leaf keep what they have.
func TestSharedTokensCountOnce(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	steps := grownSteps(rand.New(rand.NewPCG(seed, 2)), 2)
	cfg := DefaultConfig(credit.GRPO, false)
	each, err := Run(steps, cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Shared = SharedOnce
	once, err := Run(steps, cfg)
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		group       int
		owner       int64
		step, token int
	}
	type sums struct {
		n          int
		each, once float64
	}
	at := map[place]*sums{}
	for i := range steps {
		s := &steps[i]
		x := newExplainer(steps, cfg, i)
		all := x.members()
		for j := range s.Tokens {
			k := place{s.Group, ownerOf(all, s.Episode, s.Index, j).episode, s.Index, j}
			if at[k] == nil {
				at[k] = &sums{}
			}
			at[k].n++
			at[k].each += float64(each.Rows[i].Tokens[j])
			at[k].once += float64(once.Rows[i].Tokens[j])
		}
	}
	shared := 0
	for k, v := range at {
		if v.n > 1 {
			shared++
		}
		if want := v.each / float64(v.n); math.Abs(v.once-want) > 1e-5*max(1, math.Abs(want)) {
			t.Errorf("%+v: %v counted once, the mean of %d rows is %v", k, v.once, v.n, want)
		}
	}
	if shared == 0 {
		t.Error("nothing is shared")
	}
}

func TestSharedNamesWhatCannotBe(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig(credit.GRPO, false)
	cfg.Shared = "twice"
	if err := cfg.Validate(); !errors.Is(err, credit.ErrConfig) || !strings.Contains(err.Error(), `shared is "twice"`) {
		t.Errorf("got %v", err)
	}
	// The default does not change the key of a pass.
	a, err := DefaultConfig(credit.GRPO, false).Key("x", "")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Shared = ""
	if b, err := cfg.Key("x", ""); err != nil || a != b {
		t.Errorf("%s, %s, %v", a, b, err)
	}
	steps := grownSteps(rand.New(rand.NewPCG(1, 2)), 1)
	for i := range steps {
		if steps[i].Fork != nil {
			steps[i].Fork = &credit.Fork{Parent: 99, Step: 1}
		}
	}
	cfg.Shared = SharedOnce
	if _, err := Run(steps, cfg); err == nil || !strings.Contains(err.Error(), "which its group does not have") {
		t.Errorf("got %v", err)
	}
}

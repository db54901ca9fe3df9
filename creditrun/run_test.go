package creditrun

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/credit"
)

// randomSteps makes a run: groups of four episodes of up to six steps, with few observations, so that
// they recur.
func randomSteps(r *rand.Rand, groups int, tokens bool) []Step {
	var out []Step
	episode := int64(0)
	for g := range groups {
		for sample := range 4 {
			episode++
			n, won := 1+r.IntN(6), r.IntN(2) == 0
			for i := range n {
				s := Step{
					ID: int64(len(out) + 1), Episode: episode, Group: g, Sample: sample, Index: i, Valid: r.IntN(5) > 0,
					Anchor: fmt.Sprintf("you see %d", r.IntN(3)), Tokens: -1,
				}
				if i == 0 {
					s.Anchor = "you are in a room"
				}
				if won {
					s.Return = 10
					if i == n-1 {
						s.Reward = 10
					}
				}
				if tokens {
					giveTokens(r, &s, 3+r.IntN(9))
				}
				out = append(out, s)
			}
		}
	}
	return out
}

func giveTokens(r *rand.Rand, s *Step, n int) {
	s.Tokens, s.Entropies = n, make([]float32, n)
	sc := &Score{Student: make([]float32, n), Teacher: make([]float32, n), Action: make([]bool, n)}
	level := r.Float32() * 2
	for j := range n {
		s.Entropies[j] = level * r.Float32()
		sc.Student[j] = -r.Float32() * 3
		sc.Teacher[j] = sc.Student[j] + float32(r.NormFloat64())*0.2
		sc.Action[j] = j%4 > 1
	}
	if r.IntN(4) > 0 {
		s.Score = sc
	}
}

// configs are the stages in every combination that matters.
func configs() map[string]Config {
	out := map[string]Config{}
	for _, name := range credit.Estimators() {
		out[string(name)] = DefaultConfig(name, true)
	}
	set := func(name string, base credit.Estimator, change func(*Config)) {
		c := DefaultConfig(base, true)
		change(&c)
		out[name] = c
	}
	set("grpo over trajectories", credit.GRPO, func(c *Config) { c.Estimator.Scope = credit.ScopeTrajectories })
	set("rloo over trajectories", credit.RLOO, func(c *Config) { c.Estimator.Scope = credit.ScopeTrajectories })
	set("penalty and clip", credit.GRPO, func(c *Config) { c.Estimator.InvalidPenalty, c.Estimator.AdvClip = 0.5, 0.7 })
	set("gigpo mean_std", credit.GiGPO, func(c *Config) { c.Estimator.Norm, c.Estimator.InvalidPenalty = credit.NormMeanStd, 0.1 })
	set("gigpo similar", credit.GiGPO, func(c *Config) { c.Estimator.AnchorSimilarity = 0.9 })
	set("hgpo base", credit.HGPO, func(c *Config) { c.Estimator.BaseGroup, c.Estimator.InvalidPenalty = true, 0.1 })
	set("hgpo mean", credit.HGPO, func(c *Config) { c.Estimator.Norm, c.Estimator.History = credit.NormMean, 1 })
	set("aem", credit.GRPO, func(c *Config) { c.Response = credit.ResponseAEM })
	set("aem reverse trajectory", credit.GRPO, func(c *Config) {
		c.Response, c.AEM.Reverse, c.AEM.Scope = credit.ResponseAEM, true, credit.EntropyTrajectory
	})
	set("aem shuffle batch", credit.GRPO, func(c *Config) {
		c.Response, c.AEM.Shuffle, c.AEM.Scope, c.AEM.Seed = credit.ResponseAEM, true, credit.EntropyBatch, 7
	})
	set("ear", credit.DrGRPO, func(c *Config) { c.Response = credit.ResponseEAR })
	set("rlsd late", credit.GRPO, func(c *Config) { c.Token, c.Update = credit.TokenRLSD, 30 })
	set("no token stage", credit.GRPO, func(c *Config) { c.Token = credit.TokenNone })
	return out
}

// TestEveryNumberIsExplained: the arithmetic that is shown to a person makes the numbers that the fast
// code made, for every step of a run and every configuration.
func TestEveryNumberIsExplained(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, cfg := range configs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := randomSteps(rand.New(rand.NewPCG(seed, 1)), 4, true)
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
					t.Errorf("step %d: %s\n%+v", i, d, e.Base)
				}
			}
		})
	}
}

// TestExplanationCatchesAChange: a changed number is found, whichever it is.
func TestExplanationCatchesAChange(t *testing.T) {
	t.Parallel()
	steps := randomSteps(rand.New(rand.NewPCG(1, 1)), 2, true)
	cfg := configs()["aem"]
	res, err := Run(steps, cfg)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Explain(steps, cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*Row){
		"base advantage": func(r *Row) { r.Base += 1e-6 },
		"factor":         func(r *Row) { r.Factor += 1e-6 },
		"tokens":         func(r *Row) { r.Tokens = r.Tokens[1:] },
		"token 2":        func(r *Row) { r.Tokens[2] += 1e-4 },
	} {
		row := res.Rows[0]
		row.Tokens = slices.Clone(row.Tokens)
		spoil(&row)
		if d := e.Differs(row); !strings.Contains(d, what) {
			t.Errorf("%s: %q", what, d)
		}
	}
}

// TestOrderOfStepsIsFree: steps may come in any order, except to similarity anchors, whose clusters
// depend on it.
func TestOrderOfStepsIsFree(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, cfg := range configs() {
		if cfg.Estimator.AnchorSimilarity > 0 || cfg.AEM.Shuffle {
			continue
		}
		r := rand.New(rand.NewPCG(seed, 2))
		steps := randomSteps(r, 3, true)
		want, err := Run(steps, cfg)
		if err != nil {
			t.Fatal(err)
		}
		mixed := slices.Clone(steps)
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		got, err := Run(mixed, cfg)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got.Rows, func(a, b Row) int { return int(a.Step - b.Step) })
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) })
		near32 := cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) <= 1e-6*max(1, math.Abs(float64(a))) })
		if d := cmp.Diff(want.Rows, got.Rows, near, near32); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestStepsWithoutTokens: they get a row advantage and no more, and the others are as without them.
func TestStepsWithoutTokens(t *testing.T) {
	t.Parallel()
	steps := randomSteps(rand.New(rand.NewPCG(3, 1)), 3, true)
	cfg := configs()["aem"]
	for i := range steps {
		if i%3 == 0 {
			steps[i].Tokens, steps[i].Entropies, steps[i].Score = -1, nil, nil
		}
	}
	res, err := Run(steps, cfg)
	if err != nil {
		t.Fatal(err)
	}
	base, err := credit.Estimate(batch(steps), cfg.Estimator)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res.Rows {
		if r.Base != base.Values[i] || (r.Tokens == nil) != (i%3 == 0) {
			t.Errorf("row %d: base %v, want %v, %d tokens", i, r.Base, base.Values[i], len(r.Tokens))
		}
		if i%3 == 0 && (r.Factor != 1 || r.Weights.N != 0) {
			t.Errorf("row %d without tokens: factor %v, %d weights", i, r.Factor, r.Weights.N)
		}
		e, err := Explain(steps, cfg, i)
		if err != nil {
			t.Fatal(err)
		}
		if d := e.Differs(r); d != "" {
			t.Errorf("row %d: %s", i, d)
		}
	}
	if got := res.Report; got.TextRows != (len(steps)+2)/3 || got.Rows != len(steps) {
		t.Errorf("report: %d rows, %d without tokens, of %d", got.Rows, got.TextRows, len(steps))
	}
	for i := range steps {
		steps[i].Tokens, steps[i].Score = -1, nil
	}
	res, err = Run(steps, cfg)
	if err != nil || len(res.Report.Stages) != 1 || res.Report.Tokens != 0 {
		t.Errorf("text alone: %+v, %v", res.Report, err)
	}
}

// TestWeightsOfRows: the rows' weight statistics add up to those of the whole pass.
func TestWeightsOfRows(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"grpo", "rlsd late"} {
		res, err := Run(randomSteps(rand.New(rand.NewPCG(4, 1)), 5, true), configs()[name])
		if err != nil {
			t.Fatal(err)
		}
		n, clipped, sum := 0, 0, 0.0
		for _, r := range res.Rows {
			n, clipped, sum = n+r.Weights.N, clipped+r.Clipped, sum+r.Weights.Mean*float64(r.Weights.N)
		}
		w := res.Report.SERL
		if n != w.Weight.N || n == 0 || math.Abs(sum/float64(n)-w.Weight.Mean) > 1e-9 || math.Abs(float64(clipped)/float64(n)-w.ClippedShare) > 1e-9 {
			t.Errorf("%s: rows have %d weights, %d clipped, mean %v; the pass %+v", name, n, clipped, sum/float64(n), w)
		}
		if res.Report.SignBroken != 0 {
			t.Errorf("%d signs broken", res.Report.SignBroken)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg   Config
		spoil func([]Step) []Step
		want  error
		text  string
	}{
		"no steps":     {configs()["grpo"], func([]Step) []Step { return nil }, ErrNoSteps, ""},
		"no scores":    {configs()["grpo"], func(s []Step) []Step { return each(s, func(x *Step) { x.Score = nil }) }, ErrNoScores, "stage serl"},
		"no entropies": {configs()["aem"], func(s []Step) []Step { s[5].Entropies = nil; return s }, ErrNoEntropies, "episode "},
		"short score": {configs()["grpo"], func(s []Step) []Step {
			return each(s, func(x *Step) {
				if x.Score != nil {
					x.Score.Teacher = x.Score.Teacher[1:]
				}
			})
		}, credit.ErrLength, "teacher log-probabilities"},
		"entropy":     {configs()["aem"], func(s []Step) []Step { s[2].Entropies[0] = float32(math.NaN()); return s }, credit.ErrNotFinite, "step"},
		"return":      {configs()["grpo"], func(s []Step) []Step { s[2].Return = math.Inf(1); return s }, credit.ErrNotFinite, "row 2"},
		"setting":     {Config{}, func(s []Step) []Step { return s }, credit.ErrConfig, "estimator"},
		"token count": {configs()["reinforce_pp_baseline"], func(s []Step) []Step { s[0].Tokens, s[0].Score = -1, nil; return s }, nil, "no token counts"},
	} {
		_, err := Run(c.spoil(randomSteps(rand.New(rand.NewPCG(5, 1)), 3, true)), c.cfg)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func each(s []Step, f func(*Step)) []Step {
	for i := range s {
		f(&s[i])
	}
	return s
}

// TestKey: equal work has an equal key, and every difference in what is read or done another.
func TestKey(t *testing.T) {
	t.Parallel()
	key := func(change func(*Config), inputs, scores string) string {
		c := DefaultConfig(credit.GRPO, false)
		change(&c)
		k, err := c.Key(inputs, scores)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	same := func(*Config) {}
	want := key(same, "in", "")
	for name, got := range map[string]string{
		"again":     key(same, "in", ""),
		"idle AEM":  key(func(c *Config) { c.AEM.Lambda = 3 }, "in", ""),
		"idle SERL": key(func(c *Config) { c.SERL.Clip, c.Update = 0.5, 9 }, "in", ""),
		"idle EAR":  key(func(c *Config) { c.EAR.Kappa = 2 }, "in", ""),
	} {
		if got != want {
			t.Errorf("%s: another key", name)
		}
	}
	seen := map[string]string{want: "the default"}
	for name, got := range map[string]string{
		"inputs":    key(same, "other", ""),
		"scores":    key(same, "in", "s"),
		"estimator": key(func(c *Config) { c.Estimator.Name = credit.RLOO }, "in", ""),
		"epsilon":   key(func(c *Config) { c.Estimator.Epsilon = 1e-8 }, "in", ""),
		"aem":       key(func(c *Config) { c.Response = credit.ResponseAEM }, "in", ""),
		"aem λ":     key(func(c *Config) { c.Response, c.AEM.Lambda = credit.ResponseAEM, 2 }, "in", ""),
		"serl":      key(func(c *Config) { c.Token = credit.TokenSERL }, "in", ""),
		"update":    key(func(c *Config) { c.Token, c.Update = credit.TokenSERL, 3 }, "in", ""),
	} {
		if other, taken := seen[got]; taken {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[got] = name
	}
}

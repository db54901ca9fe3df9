package creditrun

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/credit"
)

// filterOn is GRPO with the filter by a metric.
func filterOn(metric FilterMetric) Config {
	c := DefaultConfig(credit.GRPO, false)
	c.Filter.Enable, c.Filter.Metric = true, metric
	return c
}

// twoEach makes groups of two episodes of two steps each; set changes a step.
func twoEach(groups int, set func(s *Step)) []Step {
	var out []Step
	for g := range groups {
		for sample := range 2 {
			for i := range 2 {
				s := Step{ID: int64(len(out) + 1), Episode: int64(2*g + sample + 1), Group: g, Sample: sample, Index: i, Valid: true, Tokens: -1}
				set(&s)
				out = append(out, s)
			}
		}
	}
	return out
}

// TestFilterIsTheBatchWithout: what the filter leaves out has no row, is reported with its reason, and the
// rest is what it would be if the others had never been there, also for estimators that look at the whole
// batch.
func TestFilterIsTheBatchWithout(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 1))
	steps := randomSteps(r, 24, true)
	flat := map[int]bool{}
	for g := range 24 {
		returns := map[float64]bool{}
		for i := range steps {
			if steps[i].Group == g {
				returns[steps[i].Return] = true
			}
		}
		flat[g] = len(returns) == 1
	}
	var rest []Step
	dropped := 0
	for g := range flat {
		if flat[g] {
			dropped++
		}
	}
	for i := range steps {
		if !flat[steps[i].Group] {
			rest = append(rest, steps[i])
		}
	}
	if dropped == 0 || len(rest) == 0 {
		t.Fatal("the run has no group of either kind")
	}
	for _, name := range []credit.Estimator{credit.GRPO, credit.ReinforcePP, credit.GiGPO} {
		cfg := DefaultConfig(name, true)
		cfg.Response, cfg.AEM.Scope = credit.ResponseAEM, credit.EntropyBatch
		want, err := Run(rest, cfg)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Filter.Enable = true
		got, err := Run(steps, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.Rows, got.Rows); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if len(got.Report.Filtered) != dropped || got.Report.Groups != 24-dropped {
			t.Errorf("%s: %d groups left out, %d in the report, want %d", name, len(got.Report.Filtered), got.Report.Groups, dropped)
		}
		for _, v := range got.Report.Filtered {
			if !flat[v.Group] || v.Reason != credit.DropEqual {
				t.Errorf("%s: %s", name, v)
			}
		}
		if got.Report.Filtered = nil; name == credit.GRPO {
			if d := cmp.Diff(want.Report, got.Report); d != "" {
				t.Errorf("report: %s", d)
			}
		}
	}
}

// TestFilterMetrics: each metric sees its own number.
func TestFilterMetrics(t *testing.T) {
	t.Parallel()
	// Group 0 differs in rewards alone, 1 in score, 2 in won, 3 in the invalid steps, 4 in nothing.
	steps := twoEach(5, func(s *Step) {
		if s.Sample == 1 {
			return
		}
		switch s.Group {
		case 0:
			s.Return = 0.5
		case 1:
			s.Task = 0.25
		case 2:
			s.Won = true
		case 3:
			s.Valid = s.Index != 1
		}
	})
	for metric, want := range map[FilterMetric][]bool{
		FilterReward: {true, false, false, false, false},
		FilterFinal:  {true, false, false, true, false},
		FilterScore:  {false, true, false, false, false},
		FilterWon:    {false, false, true, false, false},
	} {
		cfg := filterOn(metric)
		cfg.Estimator.InvalidPenalty = 0.1
		verdicts, err := Judge(steps, cfg)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]bool, len(verdicts))
		for i, v := range verdicts {
			got[i] = v.Keep()
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", metric, d)
		}
	}
}

// TestFilterByVote: the configured reward is what is judged.
func TestFilterByVote(t *testing.T) {
	t.Parallel()
	steps := twoEach(2, func(s *Step) {
		s.Answer = &Answer{Text: "7"}
		if s.Group == 1 && s.Sample == 1 {
			s.Answer.Text = "8"
		}
	})
	cfg := filterOn(FilterReward)
	cfg.Reward.Source = RewardVote
	res, err := Run(steps, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if f := res.Report.Filtered; len(f) != 1 || f[0].Group != 0 || len(res.Rows) != 4 {
		t.Errorf("left out %v, %d rows", f, len(res.Rows))
	}
	if len(res.Report.Votes) != 2 {
		t.Errorf("the vote of a group that is left out is lost: %v", res.Report.Votes)
	}
}

// TestFilterEdges: nothing left is an error that says so; groups of one stay unless that is switched off;
// an unknown metric is refused; a filter that is off changes neither numbers nor the key.
func TestFilterEdges(t *testing.T) {
	t.Parallel()
	steps := twoEach(3, func(*Step) {})
	cfg := filterOn(FilterReward)
	if _, err := Run(steps, cfg); !errors.Is(err, ErrNoSignal) || !strings.Contains(err.Error(), "group 0 dropped: all 2 trajectories returned 0") {
		t.Errorf("groups without a signal: %v", err)
	}
	single := twoEach(1, func(s *Step) { s.Episode = 1 })[:2]
	if res, err := Run(single, cfg); err != nil || len(res.Rows) != 2 {
		t.Errorf("a group of one: %v", err)
	}
	cfg.Filter.KeepSingles = false
	if _, err := Run(single, cfg); !errors.Is(err, ErrNoSignal) {
		t.Errorf("a group of one that may not stay: %v", err)
	}
	cfg.Filter.Metric = "accuracy"
	if err := cfg.Validate(); !errors.Is(err, credit.ErrConfig) {
		t.Errorf("an unknown metric: %v", err)
	}
	cfg.Filter.Enable = false
	if verdicts, err := Judge(steps, cfg); verdicts != nil || err != nil {
		t.Errorf("a filter that is off judged: %v, %v", verdicts, err)
	}
	plain := cfg
	plain.Filter = FilterConfig{}
	a, errA := cfg.Key("in", "")
	b, errB := plain.Key("in", "")
	cfg.Filter = filterOn(FilterReward).Filter
	c, errC := cfg.Key("in", "")
	if a != b || a == c || errors.Join(errA, errB, errC) != nil {
		t.Errorf("keys %.8s, %.8s and %.8s, %v", a, b, c, errors.Join(errA, errB, errC))
	}
}

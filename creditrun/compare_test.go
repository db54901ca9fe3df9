package creditrun

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCorrelations(t *testing.T) {
	t.Parallel()
	up, down, flat := []float64{1, 2, 3, 10}, []float64{9, 4, 1, 0}, []float64{2, 2, 2, 2}
	for name, c := range map[string]struct{ got, want float64 }{
		"rank up":    {Spearman(up, []float64{-1, 0, 0.5, 7}), 1},
		"rank down":  {Spearman(up, down), -1},
		"flat":       {Spearman(up, flat), 0},
		"linear":     {Pearson(up, []float64{3, 5, 7, 21}), 1},
		"single":     {Pearson([]float64{1}, []float64{2}), 0},
		"ties":       {Spearman([]float64{1, 1, 2, 2}, []float64{1, 2, 1, 2}), 0},
		"by hand":    {Pearson([]float64{0, 1, 2}, []float64{0, 2, 1}), 0.5},
		"tied ranks": {Spearman([]float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}), 4.5 / math.Sqrt(4.5*5)},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if agree, decided := SignAgreement([]float64{1, -1, 0, 2}, []float64{3, 1, 1, 0}); agree != 1 || decided != 2 {
		t.Errorf("signs: %d of %d agree", agree, decided)
	}
}

func TestQuantilesAndHistogram(t *testing.T) {
	t.Parallel()
	v := []float64{0, 1, 2, 3, 4}
	for q, want := range map[float64]float64{0: 0, 0.5: 2, 0.125: 0.5, 1: 4} {
		if got := quantile(v, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("quantile of nothing")
	}
	if got := Histogram([]float64{-5, 0, 0.5, 1, 1.9, 2, 9}, 0, 2, 2); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("histogram %v", got)
	}
}

// pairs puts the results of two configurations side by side.
func pairs(t *testing.T, steps []Step, a, b Config) []Pair {
	t.Helper()
	ra, err := Run(steps, a)
	if err != nil {
		t.Fatal(err)
	}
	rb, err := Run(steps, b)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Pair, len(steps))
	for i := range steps {
		out[i] = Pair{Episode: steps[i].Episode, Index: steps[i].Index, A: ra.Rows[i], B: rb.Rows[i]}
		if steps[i].Score != nil {
			out[i].Action = steps[i].Score.Action
		}
	}
	return out
}

func TestCompareWithItself(t *testing.T) {
	t.Parallel()
	steps := randomSteps(rand.New(rand.NewPCG(8, 1)), 3, true)
	c := Compare(pairs(t, steps, configs()["aem"], configs()["aem"]))
	if d := cmp.Diff(c.A, c.B); d != "" {
		t.Error(d)
	}
	if math.Abs(c.RankRows-1) > 1e-12 || math.Abs(c.RankTokens-1) > 1e-12 || c.Flips != 0 || c.Changed[0].Mean != 0 {
		t.Errorf("a pass against itself: %+v", c)
	}
}

// TestCompareKnown: against the base advantage alone, SERL changes action tokens and nothing else, and
// the weights are those that it gave.
func TestCompareKnown(t *testing.T) {
	t.Parallel()
	steps := randomSteps(rand.New(rand.NewPCG(9, 1)), 4, true)
	serl, base := configs()["grpo"], configs()["no token stage"]
	ps := pairs(t, steps, base, serl)
	c := Compare(ps)
	if c.A.Weights.Min < 1-1e-6 || c.A.Weights.Max > 1+1e-6 {
		t.Errorf("weights of the base: %+v", c.A.Weights)
	}
	if c.B.Weights.Min < 0.9-1e-6 || c.B.Weights.Max > 1.1+1e-6 || c.B.Weights.Max-c.B.Weights.Min < 0.1 {
		t.Errorf("SERL at λ 0.5 and c 0.2 weighs %+v", c.B.Weights)
	}
	if math.Abs(c.A.ActionShare-c.B.ActionShare) > 0 || c.A.ActionMass == c.B.ActionMass {
		t.Errorf("action mass %v and %v, share %v and %v", c.A.ActionMass, c.B.ActionMass, c.A.ActionShare, c.B.ActionShare)
	}
	if c.Flips != 0 || c.RankTokens < 0.9 {
		t.Errorf("%d flips, rank correlation %v", c.Flips, c.RankTokens)
	}
	if !slices.IsSortedFunc(c.Changed, func(x, y Change) int { return int(math.Copysign(1, y.Mean-x.Mean)) }) {
		t.Error("changes are not in order")
	}
	for _, p := range ps {
		ch := changeOf(&p)
		if ch.Mean > 0 && !p.Action[ch.Token] {
			t.Errorf("episode %d, step %d: token %d changed, which is no action", ch.Episode, ch.Index, ch.Token)
		}
	}
}

func TestCompareText(t *testing.T) {
	t.Parallel()
	steps := randomSteps(rand.New(rand.NewPCG(10, 1)), 3, false)
	c := Compare(pairs(t, steps, DefaultConfig("grpo", false), DefaultConfig("gigpo", false)))
	if c.A.Tokens != 0 || c.A.Rows != len(steps) || c.Changed[0].Token != -1 || c.Changed[0].Mean == 0 || c.RankTokens != 0 || c.RankRows == 0 {
		t.Errorf("rows without tokens: %+v", c.Changed[0])
	}
}

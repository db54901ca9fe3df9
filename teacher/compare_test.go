package teacher

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

func stepScore(mask []bool, deltas ...float32) *harness.StepScore {
	s := &harness.StepScore{Status: harness.ScoreDone, ActionMask: mask}
	for _, d := range deltas {
		s.Student.Values = append(s.Student.Values, -1)
		s.Teacher.Values = append(s.Teacher.Values, -1+d)
	}
	return s
}

func TestSpearman(t *testing.T) {
	t.Parallel()
	// With ties: scipy.stats.spearmanr([1, 2, 2, 4], [1, 3, 2, 4]) = 0.9486832980505138.
	for _, c := range []struct {
		x, y    []float64
		want    float64
		defined bool
	}{
		{[]float64{1, 2, 3}, []float64{10, 20, 30}, 1, true},
		{[]float64{1, 2, 3}, []float64{3, 2, 1}, -1, true},
		{[]float64{1, 2, 2, 4}, []float64{1, 3, 2, 4}, 0.9486832980505138, true},
		{[]float64{1, 1}, []float64{1, 2}, 0, false},
		{nil, nil, 0, false},
	} {
		if got, ok := Spearman(c.x, c.y); math.Abs(got-c.want) > 1e-12 || ok != c.defined {
			t.Errorf("%v, %v: got %v, %v", c.x, c.y, got, ok)
		}
	}
}

func TestCompareSplitsByEnvironmentAndOutcome(t *testing.T) {
	t.Parallel()
	mask := []bool{false, true, true}
	none := &harness.StepScore{Status: harness.ScoreNoContext}
	got := Compare([]Paired{
		{"alfworld", true, stepScore(mask, 0.5, 1, -0.25), stepScore(mask, 0, 2, 0.125)},
		{"alfworld", false, stepScore(mask, 0.5, 0, 0), none},
		{"webshop", false, nil, none},
	}, 0.2)
	var names []string
	for _, c := range got {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"all", "env alfworld", "env webshop", "won", "lost"}, names); diff != "" {
		t.Fatal(diff)
	}
	want := Comparison{
		Name: "all", Steps: 3, Both: 1, Tokens: 2, SameSign: 0.5, Spearman: 1, Defined: true,
		A: Side{Scored: 2, Action: 0.1875, ActionAbs: 0.3125, Reason: 0.5, ReasonAbs: 0.5, Clipped: 0.5, ActionTok: 4, ReasonTok: 2},
		B: Side{Scored: 1, Action: 1.0625, ActionAbs: 1.0625, Reason: 0, ReasonAbs: 0, Clipped: 0.5, ActionTok: 2, ReasonTok: 1},
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	if got[2].Both != 0 || got[2].Defined || got[2].A.Scored != 0 {
		t.Errorf("nothing scored: %+v", got[2])
	}
}

package store

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hindsightrl/harness"
)

// TestCreditScoresAreTheScores compares the lean reading of a scoring pass with the full one.
func TestCreditScoresAreTheScores(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := recordedRun(t, s, 2, 2, 4, 12, nil)
	pass, err := s.OpenScorePass(t.Context(), harness.ScorePass{RunID: run.ID, Key: "0123456789abcdef", Mode: "m", Config: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	byGroup := map[int][]harness.StepScore{}
	for e, err := range s.Episodes(t.Context(), run.ID, Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			sc := harness.StepScore{Attempt: e.Attempt, Step: i, Status: harness.ScoreNoContext}
			if i != 2 {
				sc.Status = harness.ScoreDone
				for k, col := range []*harness.LogprobColumn{&sc.Student, &sc.Teacher} {
					copy(col.Key[:], fmt.Sprintf("%d %d %d %d", e.ID, i, k, 0))
					for j := range 12 {
						col.Values = append(col.Values, -float32(j*k+i)-0.5)
					}
				}
				sc.ActionMask = make([]bool, 12)
				sc.ActionMask[i], sc.ActionMask[11] = true, true
				if err := s.AddLogprobs(t.Context(), []harness.LogprobColumn{sc.Student, sc.Teacher}); err != nil {
					t.Fatal(err)
				}
			}
			byGroup[e.Group] = append(byGroup[e.Group], sc)
		}
	}
	for g, scores := range byGroup {
		if err := s.SaveScores(t.Context(), pass.ID, g, "print", scores); err != nil {
			t.Fatal(err)
		}
	}
	var want []CreditScore
	for r, err := range s.Scores(t.Context(), pass.ID, ScoreFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Status == harness.ScoreDone {
			want = append(want, CreditScore{r.StepID, r.Student.Values, r.Teacher.Values, r.ActionMask})
		}
	}
	got, err := s.CreditScores(t.Context(), pass.ID)
	if err != nil || len(got) != 12 {
		t.Fatalf("%d scored steps, %v", len(got), err)
	}
	if d := cmp.Diff(want, got, cmpopts.SortSlices(func(a, b CreditScore) bool { return a.Step < b.Step })); d != "" {
		t.Error(d)
	}
	if none, err := s.CreditScores(t.Context(), pass.ID+1); err != nil || len(none) != 0 {
		t.Errorf("another pass: %d, %v", len(none), err)
	}
}

package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

func TestDriftsCountTurnsOfFinishedConversations(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 2)
	rec := s.Recorder(run.ID)
	refs := pending(t, s, run.ID)
	for i, drifts := range [][]string{{"", "clean", "clean", "forked"}, {"", "realigned"}} {
		attempt, _, err := rec.Begin(t.Context(), refs[i])
		if err != nil {
			t.Fatal(err)
		}
		for k, d := range drifts {
			step := harness.Step{Index: k, Tokens: &harness.Tokens{IDs: []int32{1}, Meta: &harness.TokenMeta{Engine: "e", Drift: d}}}
			if err := rec.Step(t.Context(), attempt, step); err != nil {
				t.Fatal(err)
			}
		}
		if i == 1 {
			continue // still running: not counted
		}
		if err := rec.Finish(t.Context(), attempt, harness.Outcome{Stop: harness.StopMaxSteps, Steps: len(drifts), Invalid: len(drifts)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Drifts(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"clean": 2, "forked": 1}, got); d != "" {
		t.Error(d)
	}
}

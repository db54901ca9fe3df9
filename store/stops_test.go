package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

func TestStopsCountDoneEpisodes(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 2, 2)
	rec := s.Recorder(run.ID)
	refs := pending(t, s, run.ID)
	for i, stop := range []harness.StopReason{harness.StopContext, harness.StopFinished, harness.StopContext} {
		attempt, _, err := rec.Begin(t.Context(), refs[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := rec.Finish(t.Context(), attempt, harness.Outcome{Stop: stop}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Stops(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[harness.StopReason]int{harness.StopContext: 2, harness.StopFinished: 1}, got); d != "" {
		t.Error(d)
	}
}

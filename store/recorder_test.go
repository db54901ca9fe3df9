package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hindsightrl/harness"
)

func TestRecordedStepsComeBackExactly(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 2, 2)
	refs := pending(t, s, run.ID)
	if len(refs) != 4 {
		t.Fatalf("got %d pending episodes, want 4", len(refs))
	}
	rec := s.Recorder(run.ID)
	for i, ref := range refs {
		id, recorded, err := rec.Begin(t.Context(), ref)
		if err != nil || len(recorded) != 0 {
			t.Fatalf("begin: %v, %d steps", err, len(recorded))
		}
		g := newGame(uint64(i), 50*(i%2))
		var want []harness.Step
		for range 5 {
			st := g.step()
			want = append(want, st)
			if err := rec.Step(t.Context(), id, st); err != nil {
				t.Fatal(err)
			}
		}
		if err := rec.Finish(t.Context(), id, outcome(want)); err != nil {
			t.Fatal(err)
		}
		got, err := s.EpisodeSteps(t.Context(), ref.ID)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("episode %d (-want +got):\n%s", i, d)
		}
	}
}

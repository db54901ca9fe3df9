package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEndingJoin(t *testing.T) {
	t.Parallel()
	step := Transition{Observation: Observation{Text: "o"}, Reward: 1, Score: 1, Won: true, Done: true, Feedback: "f"}
	got := Ending{Reward: 2, Score: 0.5, Feedback: "end", Privileged: "p", Artifacts: []Artifact{{Name: "a"}}}.Join(step)
	want := Transition{Observation: Observation{Text: "o"}, Reward: 3, Score: 0.5, Done: true, Feedback: "f\n\nend", Privileged: "p"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(step, Ending{Score: 1, Won: true}.Join(step)); d != "" {
		t.Errorf("an ending that brings nothing: %s", d)
	}
}

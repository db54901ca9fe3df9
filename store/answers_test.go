package store

import (
	"errors"
	"testing"

	"github.com/hindsightrl/harness"
)

// The last step of each done episode comes back, of leaves too, and of nothing else.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 2, 3)
	refs, rec := pending(t, s, run.ID), s.Recorder(run.ID)
	root := played(1, 12, 3)
	root[2].Privileged, root[2].Action = "reference answer: 42", "41"
	fork := harness.Fork{Parent: refs[0].ID, Step: 2, Token: 5}
	leaf := branch(root, fork, 2, 1)
	text := played(3, 0, 1)
	if err := errors.Join(record(t, rec, refs[0], root), record(t, rec, refs[3], text)); err != nil {
		t.Fatal(err)
	}
	recordLeaf(t, rec, refs[1], fork, leaf)
	id, _, err := rec.Begin(t.Context(), refs[2])
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Fail(t.Context(), id, &harness.Failure{Kind: harness.FailEnv, Op: "x", Err: errors.New("y")}, true); err != nil {
		t.Fatal(err)
	}
	got, err := s.Answers(t.Context(), run.ID)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d answers, %v", len(got), err)
	}
	if a := got[0]; a.Episode != refs[0].ID || a.Group != 0 || a.Task != refs[0].Task || a.Action != "41" || a.Privileged != "reference answer: 42" || a.Fork != nil {
		t.Errorf("the root's answer: %+v", a)
	}
	for i, steps := range [][]harness.Step{root, leaf, text} {
		last, a := steps[len(steps)-1], got[i]
		tokens, version := -1, int32(-1)
		if k := last.Tokens; k != nil {
			tokens = len(k.IDs)
			if k.Versions != nil {
				version = k.Versions[len(k.Versions)-1]
			}
		}
		if a.Action != last.Action || a.Valid != last.Valid || a.Tokens != tokens || a.Version != version || a.PolicyTime != last.PolicyTime {
			t.Errorf("answer %d: %+v, the step has %d tokens of version %d, action %q", i, a, tokens, version, last.Action)
		}
	}
	for _, a := range got {
		if a.Started.IsZero() || !a.Finished.After(a.Started) {
			t.Errorf("episode %d ran from %v to %v", a.Episode, a.Started, a.Finished)
		}
	}
	if f := got[1].Fork; f == nil || *f != fork {
		t.Errorf("the leaf's fork: %v", f)
	}
	if none, err := s.Answers(t.Context(), run.ID+1); err != nil || len(none) != 0 {
		t.Errorf("a run that is not there: %v, %v", none, err)
	}
}

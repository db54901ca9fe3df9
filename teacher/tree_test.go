package teacher_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/llm/llmtest"
	"github.com/hindsightrl/harness/teacher"
)

// A step that leaves of a tree share is asked about once per context, and every leaf's row has the answer.
func TestSharedStepsAreAskedAboutOnce(t *testing.T) {
	t.Parallel()
	const steps, leaves = 4, 3
	db, run := makeRun(t, plan{tasks: 1, group: 1 + leaves, steps: steps, leave: leaves})
	refs, err := db.Pending(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	group, err := db.GroupEpisodes(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	root := group[0]
	rec := db.Recorder(run.ID)
	for n, ref := range refs {
		id, recorded, err := rec.BeginLeaf(t.Context(), ref, harness.Fork{Parent: root.ID, Step: steps - 1})
		if err != nil || len(recorded) != steps-1 {
			t.Fatal(len(recorded), err)
		}
		s := root.Steps[steps-1]
		s.Action = fmt.Sprintf("open drawer %d", n)
		s.Response = "<think>look</think><action>" + s.Action + "</action>"
		s.Spans = agent.ExactSpans(s.Response)
		tokens := *s.Tokens
		tokens.IDs = append(llmtest.Tokenize(s.Response, false), llmtest.EOS)
		tokens.Logprobs, tokens.Versions = exact(tokens.PromptIDs, tokens.IDs), nil
		s.Tokens = &tokens
		if err := rec.Step(t.Context(), id, s); err != nil {
			t.Fatal(err)
		}
		if err := rec.Finish(t.Context(), id, harness.Outcome{Stop: harness.StopMaxSteps, Steps: steps}); err != nil {
			t.Fatal(err)
		}
	}
	e := &engine{}
	r, err := teacher.Score(t.Context(), db, e, options(run, e, teacher.ImmediateFeedback))
	if err != nil {
		t.Fatal(err)
	}
	distinct := steps + leaves // steps that were ever taken
	if want := 2 * distinct; r.Calls != want {
		t.Errorf("%d calls for %d steps of %d rows with and without the context, want %d", r.Calls, distinct, steps*(1+leaves), want)
	}
	rows := scoresOf(t, db, r.Passes[0].Pass.ID)
	if len(rows) != steps*(1+leaves) {
		t.Fatalf("%d rows, want %d", len(rows), steps*(1+leaves))
	}
	for _, s := range rows {
		first := rows[s.Step] // the root's
		if s.Status != harness.ScoreDone {
			t.Errorf("episode %d, step %d: %s", s.Episode, s.Step, s.Status)
		}
		if s.Step < steps-1 && (!slices.Equal(s.Teacher.Values, first.Teacher.Values) || s.Teacher.Key != first.Teacher.Key) {
			t.Errorf("episode %d, step %d is shared and has numbers of its own", s.Episode, s.Step)
		}
	}
}

package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
)

func TestRepeatedCallsAreInTheLog(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 2)
	ref := pending(t, s, run.ID)[1]
	rec := s.Recorder(run.ID)
	id, _, err := rec.Begin(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	cause := &harness.Failure{Kind: harness.FailServer, Op: "generate", Retryable: true, Err: errors.New("status 503: \x1b[31mbusy")}
	for try := 1; try <= 2; try++ {
		if err := rec.CallFailed(t.Context(), id, 4, try, cause); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for e, err := range s.Events(t.Context(), run.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == EventCall {
			if e.EpisodeID != ref.ID {
				t.Errorf("the entry is of episode %d, want %d", e.EpisodeID, ref.ID)
			}
			got = append(got, e.Message)
		}
	}
	want := []string{
		"attempt 1, step 4, try 1: model_server failure: generate: status 503: \x1b[31mbusy",
		"attempt 1, step 4, try 2: model_server failure: generate: status 503: \x1b[31mbusy",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("log:\n got %q\nwant %q", got, want)
	}
	clean(t, s)
	if err := rec.Fail(t.Context(), id, cause, true); err != nil {
		t.Fatal(err)
	}
	if err := rec.CallFailed(t.Context(), id, 4, 3, cause); !errors.Is(err, ErrNotFound) {
		t.Errorf("a call of a closed attempt: %v, want ErrNotFound", err)
	}
}

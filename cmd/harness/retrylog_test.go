package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/llm"
)

func TestRetryLogWritesEachKindOnceAMinute(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := newRetryLog(func() time.Time { return now })
	refused := fmt.Errorf("post: %w", errors.New("connection refused"))
	busy := &llm.StatusError{Method: "POST", URL: "http://h/x", Code: 429}
	l.note(llm.Retry{Op: "generate", Attempt: 1, Err: refused}) // before there is a run
	var got []string
	l.write = func(m string) { got = append(got, m) }
	for i := range 4 {
		l.note(llm.Retry{Op: "generate", Attempt: i + 1, Err: fmt.Errorf("call %d: %w", i, refused)})
	}
	l.note(llm.Retry{Op: "generate", Attempt: 1, Err: busy})
	now = now.Add(retryEvery)
	l.note(llm.Retry{Op: "generate", Attempt: 5, Err: refused})
	l.note(llm.Retry{Op: "render", Attempt: 1, Err: refused})
	l.note(llm.Retry{Op: "render", Attempt: 2, Err: refused})
	l.flush()
	l.note(llm.Retry{Op: "generate", Attempt: 9, Err: busy}) // after the run
	want := []string{
		"generate: attempt 1 failed, sent again: call 0: post: connection refused",
		"generate: attempt 1 failed, sent again: POST http://h/x: status 429 Too Many Requests: (empty body)",
		"generate: attempt 5 failed, sent again (and 3 more like it before): post: connection refused",
		"render: attempt 2 failed, sent again (and 1 more like it before): post: connection refused",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var none *retryLog
	none.attach(t.Context(), nil, 1)() // policies without a server
	if strings.Contains(kindOfRetry(fmt.Errorf("x: %w", llm.ErrBadReply)), "x") {
		t.Error("bad replies are told apart by their wording")
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/store"
)

// eventServer is a disturbance at the model server that the client rode out by itself.
const eventServer store.EventKind = "server"

// retryEvery is how often one kind of failed request is logged; in an outage every call in flight fails.
const retryEvery = time.Minute

// retryLog writes requests that failed and were sent again to the run's log, so that a disturbance
// shows although no call was lost: the first of each kind at once, then a count once a minute.
type retryLog struct {
	now func() time.Time

	mu    sync.Mutex
	write func(message string) // nil: no run yet
	kinds map[string]*retryKind
}

type retryKind struct {
	logged time.Time
	hidden int // since then
	last   llm.Retry
}

func newRetryLog(now func() time.Time) *retryLog {
	return &retryLog{now: now, kinds: map[string]*retryKind{}}
}

// note takes a retry; it is safe for concurrent use.
func (l *retryLog) note(r llm.Retry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.write == nil {
		return
	}
	key := kindOfRetry(r.Err)
	k := l.kinds[key]
	if k == nil {
		k = &retryKind{}
		l.kinds[key] = k
	}
	k.last = r
	if now := l.now(); k.logged.IsZero() || now.Sub(k.logged) >= retryEvery {
		l.write(k.message())
		k.logged, k.hidden = now, 0
		return
	}
	k.hidden++
}

// message describes the last retry and counts those before it that were not logged.
func (k *retryKind) message() string {
	more := ""
	if k.hidden > 0 {
		more = fmt.Sprintf(" (and %d more like it before)", k.hidden)
	}
	return fmt.Sprintf("%s: attempt %d failed, sent again%s: %v", k.last.Op, k.last.Attempt, more, k.last.Err)
}

// attach directs the log to a run and returns what writes the rest. A nil log takes nothing.
func (l *retryLog) attach(ctx context.Context, db *store.Store, runID int64) (flush func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write = func(message string) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		// What cannot be written here cannot be written by the episodes either; they report it.
		_ = db.AddEvent(ctx, store.Event{RunID: runID, Kind: eventServer, Message: message})
	}
	return l.flush
}

func (l *retryLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(l.kinds)) {
		if k := l.kinds[key]; k.hidden > 0 {
			k.hidden--
			l.write(k.message())
			k.hidden = 0
		}
	}
	l.write = nil
}

// kindOfRetry tells disturbances apart: by status, or by what lies at the bottom of the error.
func kindOfRetry(err error) string {
	if status := (*llm.StatusError)(nil); errors.As(err, &status) {
		return strconv.Itoa(status.Code)
	}
	if errors.Is(err, llm.ErrBadReply) {
		return "bad reply"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

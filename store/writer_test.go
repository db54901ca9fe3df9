package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/mattn/go-sqlite3"
)

func TestEveryConditionHasASentinelAndARemedy(t *testing.T) {
	t.Parallel()
	for code, want := range map[sqlite3.ErrNo]error{
		sqlite3.ErrNotADB: ErrNotDatabase, sqlite3.ErrBusy: ErrBusy, sqlite3.ErrLocked: ErrBusy, sqlite3.ErrReadonly: ErrReadOnly, sqlite3.ErrPerm: ErrReadOnly,
		sqlite3.ErrCantOpen: ErrReadOnly, sqlite3.ErrProtocol: ErrReadOnly, sqlite3.ErrFull: ErrDiskFull, sqlite3.ErrCorrupt: ErrDamaged, sqlite3.ErrIoErr: ErrIO,
	} {
		raw := sqlite3.Error{Code: code}
		err := classify(fmt.Errorf("commit: %w", raw))
		if !errors.Is(err, want) || errext.Hint(err) == "" || !fatal(err) || !strings.Contains(err.Error(), "commit: ") {
			t.Errorf("code %d: got %v, hint %q, want %v", code, err, errext.Hint(err), want)
		}
		if se := (sqlite3.Error{}); !errors.As(err, &se) || se.Code != code {
			t.Errorf("code %d is lost in %v", code, err)
		}
	}
	for _, err := range []error{errors.New("x"), sqlite3.Error{Code: sqlite3.ErrConstraint}, ErrNotFound} {
		if got := classify(err); got != err || fatal(err) { //nolint:errorlint // the very value must come back, not one that wraps it
			t.Errorf("%v became %v", err, got)
		}
	}
	if !fatal(sqlite3.Error{Code: sqlite3.ErrNomem}) {
		t.Error("a lack of memory is not fatal")
	}
}

// A call that fails by itself takes none of the calls that share its commit along.
func TestBadCallLeavesTheBatchAlone(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	bad := errors.New("bad call")
	var wg sync.WaitGroup
	hold := make(chan struct{})
	wg.Go(func() { // keeps the writer busy, so that what follows shares a commit
		if err := s.write(t.Context(), func(*conn) error { <-hold; return nil }); err != nil {
			t.Error(err)
		}
	})
	var tickets []*ticket
	for i := range 20 {
		tk, err := s.w.submit(t.Context(), func(c *conn) error {
			if err := insertEvent(c, run.ID, nil, 0, "note", fmt.Sprint(i)); err != nil {
				return err
			}
			switch i {
			case 3:
				return bad
			case 11:
				return insertEvent(c, 99, nil, 0, "note", "no such run") // breaks a foreign key
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, tk)
	}
	close(hold)
	wg.Wait()
	for i, tk := range tickets {
		err := tk.wait(t.Context())
		if (i == 3) != errors.Is(err, bad) || (i == 11) != (err != nil && strings.Contains(err.Error(), "FOREIGN KEY constraint failed")) {
			t.Errorf("call %d: got %v", i, err)
		}
	}
	var got []string
	for e, err := range s.Events(t.Context(), run.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == "note" {
			got = append(got, e.Message)
		}
	}
	if want := "0 1 2 4 5 6 7 8 9 10 12 13 14 15 16 17 18 19"; strings.Join(got, " ") != want {
		t.Errorf("events %v, want %s", got, want)
	}
	clean(t, s)
}

// When the disk is full every caller gets a typed error, later calls too, and nothing that was
// committed is lost.
func TestFullDiskIsReportedToEveryCaller(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	s, err := Open(t.Context(), path, Config{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	run := testRun(t, s, 17, 1)
	kept := newGame(99, 200).step() // what must stay readable, whatever of the rest fits
	rec := s.Recorder(run.ID)
	id, _, err := rec.Begin(t.Context(), pending(t, s, run.ID)[16])
	if err == nil {
		err = errors.Join(rec.Step(t.Context(), id, kept), rec.Finish(t.Context(), id, outcome([]harness.Step{kept})))
	}
	if err != nil {
		t.Fatal(err)
	}
	// The page limit gives the same error as a full disk, without filling one.
	err = s.write(t.Context(), func(c *conn) error {
		pages, err := c.value("PRAGMA page_count")
		if err != nil {
			return err
		}
		_, err = c.value(fmt.Sprintf("PRAGMA max_page_count = %d", pages.(int64)+8))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	acked := make([]int, 16)
	attempts := make([]int64, 16)
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i, ref := range pending(t, s, run.ID) {
		wg.Go(func() {
			rec, g := s.Recorder(run.ID), newGame(uint64(i), 200)
			if attempts[i], _, errs[i] = rec.Begin(t.Context(), ref); errs[i] != nil {
				return
			}
			for errs[i] = rec.Step(t.Context(), attempts[i], g.step()); errs[i] == nil; errs[i] = rec.Step(t.Context(), attempts[i], g.step()) {
				acked[i]++
			}
		})
	}
	wg.Wait()
	errs = append(errs, s.Recorder(run.ID).Fail(t.Context(), attempts[0], &harness.Failure{Kind: harness.FailEnv}, false))
	_, err = s.RequeueFailed(t.Context(), run.ID)
	for i, err := range append(errs, err) {
		if !errors.Is(err, ErrDiskFull) || harness.KindOf(err) != harness.FailHarness || errext.Hint(err) != conditions[sqlite3.ErrFull].hint {
			t.Errorf("caller %d: got %v (hint %q)", i, err, errext.Hint(err))
		}
	}
	if n, err := readAll(t.Context(), s); err != nil || n == 0 {
		t.Errorf("reading goes on: %d steps, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	clean(t, s)
	for i, id := range attempts {
		got, err := collect(s.Steps(t.Context(), id))
		if err != nil || len(got) < acked[i]-1 { // the step after an acknowledged call may be in flight
			t.Errorf("attempt %d: %d steps, %d were acknowledged (%v)", id, len(got), acked[i]-1, err)
		}
	}
}

func TestRefusedStepStopsItsAttempt(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	id, _, err := s.Recorder(run.ID).Begin(t.Context(), pending(t, s, run.ID)[0])
	if err != nil {
		t.Fatal(err)
	}
	// Another hand writes the row that the recorder is about to write.
	g := newGame(1, 0)
	first, second := g.step(), g.step()
	row, _ := encodeStep(id, &first, &carry{})
	if err := s.write(t.Context(), func(c *conn) error { _, err := c.exec(insertStep, row...); return err }); err != nil {
		t.Fatal(err)
	}
	rec := s.Recorder(run.ID)
	if err := rec.Step(t.Context(), id, first); err != nil {
		t.Fatalf("the first step is in flight: %v", err)
	}
	const want = "UNIQUE constraint failed: steps.attempt_id, steps.idx"
	if err := rec.Step(t.Context(), id, second); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("step: got %v, want %s", err, want)
	}
	if err := rec.Finish(t.Context(), id, outcome([]harness.Step{first, second})); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("finish: got %v, want %s", err, want)
	}
	clean(t, s)
}

func TestSubmitStopsWaitingWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	s, err := Open(t.Context(), path, Config{Now: testClock(), MaxBatch: 1})
	if err != nil {
		t.Fatal(err)
	}
	hold, running := make(chan struct{}), make(chan struct{})
	if _, err := s.w.submit(t.Context(), func(*conn) error { close(running); <-hold; return nil }); err != nil {
		t.Fatal(err)
	}
	<-running
	if _, err := s.w.submit(t.Context(), func(*conn) error { return nil }); err != nil { // fills the queue
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.w.submit(ctx, func(*conn) error { return nil })
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(hold)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

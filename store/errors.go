package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/mattn/go-sqlite3"
)

// Conditions that callers branch on. Each reaches them wrapped in the operation and with a hint that
// names the remedy.
var (
	ErrNoLedger      = errors.New("no ledger there")
	ErrNotDatabase   = errors.New("not an SQLite database")
	ErrForeign       = errors.New("an SQLite database of another program")
	ErrNewer         = errors.New("written by a newer version of harness")
	ErrOutdated      = errors.New("written by an older version of harness")
	ErrWriterActive  = errors.New("another process is writing to this ledger")
	ErrBusy          = errors.New("another program holds the database locked")
	ErrReadOnly      = errors.New("the ledger cannot be written")
	ErrDiskFull      = errors.New("the disk is full")
	ErrDamaged       = errors.New("the database file is damaged")
	ErrIO            = errors.New("the operating system reported an I/O error")
	ErrClosed        = errors.New("the store is closed")
	ErrRunExists     = errors.New("a run of this name exists")
	ErrNotFound      = errors.New("not in the ledger")
	ErrEpisodeClosed = errors.New("the episode is closed")
	ErrSuperseded    = errors.New("the attempt was taken over by a later Begin")
)

// condition is one of the sentinels together with SQLite's own words for it.
type condition struct {
	sentinel error
	cause    error
}

func (c *condition) Error() string   { return fmt.Sprintf("%v (%v)", c.sentinel, c.cause) }
func (c *condition) Unwrap() []error { return []error{c.sentinel, c.cause} }

var conditions = map[sqlite3.ErrNo]struct {
	sentinel error
	hint     string
}{
	sqlite3.ErrNotADB:   {ErrNotDatabase, "check the path: this file is something else; nothing in it was changed"},
	sqlite3.ErrBusy:     {ErrBusy, "close the program that has an open transaction on the file (a database shell or browser), then run the command again"},
	sqlite3.ErrLocked:   {ErrBusy, "close the program that has an open transaction on the file (a database shell or browser), then run the command again"},
	sqlite3.ErrReadonly: {ErrReadOnly, "make the file and its folder writable, or copy the ledger to a folder that is"},
	sqlite3.ErrPerm:     {ErrReadOnly, "make the file and its folder writable, or copy the ledger to a folder that is"},
	sqlite3.ErrCantOpen: {ErrReadOnly, "check that the folder exists and that this user may read and write the file and its folder"},
	sqlite3.ErrProtocol: {ErrReadOnly, "copy the ledger and its -wal file to a folder that this user can write: its latest rows are in the log"},
	sqlite3.ErrFull:     {ErrDiskFull, "free disk space, then resume the run: everything committed so far is safe"},
	sqlite3.ErrCorrupt:  {ErrDamaged, "stop writing and keep the file; restore a backup, or save what can be read: sqlite3 FILE .recover | sqlite3 saved.db"},
	sqlite3.ErrIoErr:    {ErrIO, "check the disk and the mount, then resume the run: everything committed so far is safe"},
}

// classify turns SQLite's code into a sentinel and a remedy; other errors pass through.
func classify(err error) error {
	var se sqlite3.Error
	if !errors.As(err, &se) {
		return err
	}
	c, known := conditions[se.Code]
	if !known {
		return err
	}
	return errext.WithHint(&condition{c.sentinel, err}, c.hint)
}

// fatal reports whether no later write through the same connection can be trusted to succeed.
func fatal(err error) bool {
	for _, s := range []error{ErrBusy, ErrReadOnly, ErrDiskFull, ErrDamaged, ErrIO, ErrNotDatabase} {
		if errors.Is(err, s) {
			return true
		}
	}
	var se sqlite3.Error
	return errors.As(err, &se) && (se.Code == sqlite3.ErrNomem || se.Code == sqlite3.ErrMisuse || se.Code == sqlite3.ErrInternal)
}

// failure types an error for the agent loop: the ledger's troubles are the harness's own, and no
// retry within this process mends them. A context that ended is no failure and stays
// untyped; an error that is typed keeps its type.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	typed := (*harness.Failure)(nil)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &typed) {
		return fmt.Errorf("%s: %w", op, err)
	}
	return harness.FailFinal(harness.FailHarness, op, err)
}

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hindsightrl/harness/internal/errext"
)

// Copy writes the ledger at from into a new file at to: one whole file, page by page, as it stands at one
// moment, also while other processes write to it. Copying the file alone would leave out what still lies in
// its log (from-wal). to appears when the copy is complete and on disk, and never replaces a file that holds anything.
//
// A ledger of an older schema is copied as it is. Errors: those of OpenReadOnly but ErrOutdated, fs.ErrExist,
// ErrDiskFull, ErrIO, each with a hint.
func Copy(ctx context.Context, from, to string) error {
	if err := copyLedger(ctx, from, to); err != nil {
		return fmt.Errorf("copy ledger %q to %q: %w", from, to, err)
	}
	return nil
}

func copyLedger(ctx context.Context, from, to string) (err error) {
	src, err := openSource(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	if st, err := os.Stat(to); err == nil && st.Size() > 0 || err == nil && st.IsDir() {
		return errext.WithHint(fs.ErrExist, "choose another name, or move that file away first")
	}
	part := to + ".partial"
	defer func() { err = errors.Join(err, remove(part), remove(part+"-journal")) }()
	if err := errors.Join(remove(part), remove(part+"-journal")); err != nil { // of a copy that was killed
		return errext.WithHint(err, "check that the folder exists and that this user may write to it")
	}
	if err := copyPages(ctx, src, part); err != nil {
		return errext.WithHint(err, "make room where the copy goes, or choose another disk; the ledger itself is as it was")
	}
	if err := os.Rename(part, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// openSource opens a ledger to copy it: read-only, whatever its schema.
func openSource(path string) (*conn, error) {
	all, err := loadMigrations(embedded)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errext.WithHint(ErrNoLedger, "name an existing ledger")
	}
	busy := Config{}.withDefaults().BusyTimeout
	id, err := identify(path, busy, false)
	immutable := errors.Is(err, ErrReadOnly) && !hasLog(path) // as in OpenReadOnly
	if immutable {
		id, err = identify(path, busy, true)
	}
	switch {
	case err != nil:
		return nil, err
	case id.empty():
		return nil, errext.WithHint(fmt.Errorf("%w: the file is empty", ErrNoLedger), "name an existing ledger")
	}
	if err := id.check(len(all)); err != nil {
		return nil, err
	}
	c, err := openConn(path, readerParams(busy, immutable))
	return c, classify(err)
}

// pagesAtOnce is how many pages are copied between two looks at the context: 32 MiB.
const pagesAtOnce = 4096

// copyPages copies all pages in one read transaction: SQLite begins anew where another process writes
// between two rounds, so the transaction is opened first and the pages are those of its moment.
func copyPages(ctx context.Context, src *conn, to string) (err error) {
	dst, err := openConn(to, writerParams(Config{}.withDefaults().BusyTimeout))
	if err != nil {
		return classify(err)
	}
	defer func() { err = errors.Join(err, classify(dst.close())) }()
	if err := src.script("BEGIN; SELECT count(*) FROM sqlite_schema"); err != nil {
		return classify(err)
	}
	b, err := dst.raw.Backup("main", src.raw, "main")
	if err != nil {
		return classify(err)
	}
	for done := false; !done && err == nil; {
		if err = context.Cause(ctx); err == nil {
			done, err = b.Step(pagesAtOnce)
		}
	}
	err = errors.Join(classify(err), classify(b.Finish()))
	return errors.Join(err, classify(src.script("COMMIT")))
}

// remove removes a file that may not be there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolder makes a renamed entry durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

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
	for _, log := range []string{to + "-wal", to + "-journal"} { // SQLite would play it into the copy
		if _, err := os.Stat(log); err == nil {
			return errext.WithHint(fmt.Errorf("%w: the log %s of a ledger that was there", fs.ErrExist, log), "choose another name, or move that log away first")
		}
	}
	part := to + ".partial"
	if err := errors.Join(remove(part), remove(part+"-journal")); err != nil { // of a copy that was killed
		return errext.WithHint(err, "check that the folder exists and that this user may write to it")
	}
	var made fs.FileInfo
	defer func() {
		if now, statErr := os.Stat(part); statErr == nil && (made == nil || os.SameFile(made, now)) {
			err = errors.Join(err, remove(part), remove(part+"-journal"))
		}
	}()
	made, err = copyPages(ctx, src, part)
	if err != nil {
		return errext.WithHint(err, "make room where the copy goes, or choose another disk; the ledger itself is as it was")
	}
	return settle(made, part, to)
}

// settle gives a complete copy its name, where the file at part is still the one that was made.
func settle(made fs.FileInfo, part, to string) error {
	if now, err := os.Stat(part); err != nil || !os.SameFile(made, now) { // another's, which is not done
		return errext.WithHint(errors.New("another copy to the same name took this one's place"), "wait for it, or choose another name")
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
// between two rounds, so the transaction is opened first and the pages are those of its moment. made is the
// file that they went to, whatever its name belongs to by then.
func copyPages(ctx context.Context, src *conn, to string) (made fs.FileInfo, err error) {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("%w: %w", ErrReadOnly, err), "check that the folder exists and that this user may write to it")
	}
	made, err = f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	dst, err := openConn(to, writerParams(Config{}.withDefaults().BusyTimeout))
	if err != nil {
		return made, classify(err)
	}
	defer func() { err = errors.Join(err, classify(dst.close())) }()
	if err := src.script("BEGIN; SELECT count(*) FROM sqlite_schema"); err != nil {
		return made, classify(err)
	}
	b, err := dst.raw.Backup("main", src.raw, "main")
	if err != nil {
		return made, classify(err)
	}
	for done := false; !done && err == nil; {
		if err = context.Cause(ctx); err == nil {
			done, err = b.Step(pagesAtOnce)
		}
	}
	err = errors.Join(classify(err), classify(b.Finish()))
	return made, errors.Join(err, classify(src.script("COMMIT")))
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

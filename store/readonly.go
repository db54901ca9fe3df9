package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/hindsightrl/harness/internal/errext"
)

// OpenReadOnly opens an existing ledger for reading, also while another process writes it. On a
// read-only medium it takes the file as unchanging. Errors: ErrNoLedger, ErrNotDatabase, ErrForeign,
// ErrNewer, ErrOutdated, ErrReadOnly (no permission), ErrBusy, ErrDamaged, ErrIO, each with a hint.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	s, err := openReadOnly(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open ledger %q for reading: %w", path, err)
	}
	return s, nil
}

func openReadOnly(ctx context.Context, path string) (*Store, error) {
	all, err := loadMigrations(embedded)
	if err != nil {
		return nil, err
	}
	const missing = "check the path; a run creates its ledger when it starts"
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errext.WithHint(ErrNoLedger, missing)
	}
	cfg := Config{}.withDefaults()
	id, err := identify(path, cfg.BusyTimeout, false)
	// Reading needs a shared-memory file beside the ledger. Where none can be made, nothing else writes
	// either, provided that the last writer closed the ledger and left no log behind.
	immutable := errors.Is(err, ErrReadOnly) && !hasLog(path)
	if immutable {
		id, err = identify(path, cfg.BusyTimeout, true)
	}
	switch {
	case err != nil:
		return nil, err
	case id.empty():
		return nil, errext.WithHint(fmt.Errorf("%w: the file is empty", ErrNoLedger), missing)
	}
	if err := id.check(len(all)); err != nil {
		return nil, err
	}
	if id.version < int64(len(all)) {
		return nil, errext.WithHint(fmt.Errorf("%w: schema %d, this is %d", ErrOutdated, id.version, len(all)),
			"run `harness db migrate` on it once; it brings the tables up to date and keeps every row")
	}
	db, err := openReaders(ctx, path, cfg, immutable)
	if err != nil {
		return nil, err
	}
	return &Store{path: path, cfg: cfg, db: db}, nil
}

// hasLog reports whether a write-ahead log with rows lies beside the file.
func hasLog(path string) bool {
	st, err := os.Stat(path + "-wal")
	return err == nil && st.Size() > 0
}

// identify reads what an existing file says it is, without changing it.
func identify(path string, busy time.Duration, immutable bool) (identity, error) {
	return identifyWith(path, readerParams(busy, immutable))
}

func identifyWith(path string, params url.Values) (identity, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return identity{}, errext.WithHint(fmt.Errorf("%w: %w", ErrReadOnly, err), "check the path and its permissions")
	case st.IsDir():
		return identity{}, errext.WithHint(fmt.Errorf("%w: it is a folder", ErrNotDatabase), "name a file inside the folder")
	case !st.Mode().IsRegular():
		return identity{}, errext.WithHint(fmt.Errorf("%w: it is no regular file", ErrNotDatabase), "name a regular file")
	}
	c, err := openConn(path, params)
	if err != nil {
		return identity{}, classify(err)
	}
	id, err := readIdentity(c)
	return id, errors.Join(err, c.close())
}

func openReaders(ctx context.Context, path string, cfg Config, immutable bool) (*sql.DB, error) {
	db := sql.OpenDB(connector{dsn(path, readerParams(cfg.BusyTimeout, immutable))})
	db.SetMaxOpenConns(cfg.Readers)
	db.SetMaxIdleConns(cfg.Readers)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(classify(err), db.Close())
	}
	return db, nil
}

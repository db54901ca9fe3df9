package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hindsightrl/harness/internal/errext"
)

// Store is an open ledger. Its methods are safe for concurrent use.
type Store struct {
	path string
	cfg  Config
	db   *sql.DB // readers

	w    *writer // nil: read only
	lock *conn

	signed bool // this process is the ledger's recording writer

	mu   sync.Mutex
	live map[int64]*attempt // attempts that this process is recording

	closeOnce sync.Once
	closeErr  error
}

// pageSize holds several steps, or one with its tokens; larger pages cost more per commit, smaller ones
// leave more of each page empty.
const pageSize = 8192

// Open opens the ledger at path for writing and creates it where there is none. Only one process at
// a time can: a second one gets ErrWriterActive. The other errors are ErrNotDatabase, ErrForeign,
// ErrNewer, ErrReadOnly, ErrDiskFull, ErrBusy, ErrDamaged and ErrIO, each with a hint.
func Open(ctx context.Context, path string, cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s, err := open(ctx, path, cfg.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open ledger %q: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, cfg Config) (_ *Store, err error) {
	return openAs(ctx, path, cfg, lockSuffix)
}

// openAs opens the ledger under one of the writers' locks.
func openAs(ctx context.Context, path string, cfg Config, suffix string) (_ *Store, err error) {
	all, err := loadMigrations(embedded)
	if err != nil {
		return nil, err
	}
	// Look before locking: a file that is not ours gets neither a lock file nor a change of mode.
	if err := probe(path, len(all), cfg.BusyTimeout); err != nil {
		return nil, err
	}
	lock, err := lockWriter(path + suffix)
	if errors.Is(err, ErrWriterActive) && suffix == scorerSuffix {
		return nil, errext.WithHint(err, "another harness score works on this ledger: wait for it or stop it")
	} else if errors.Is(err, ErrWriterActive) {
		return nil, activeWriter(path)
	} else if err != nil {
		return nil, err
	}
	s := &Store{path: path, cfg: cfg, lock: lock, signed: suffix == lockSuffix, live: make(map[int64]*attempt)}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.close())
		}
	}()
	c, err := openWriter(path, cfg, all, suffix == lockSuffix)
	if err != nil {
		return nil, err
	}
	if s.db, err = openReaders(ctx, path, cfg, false); err != nil {
		return nil, errors.Join(err, c.close())
	}
	s.w = startWriter(c, cfg.MaxBatch)
	return s, nil
}

// probe reports a path that cannot hold a ledger. A path where nothing is yet, or an empty file, can.
func probe(path string, latest int, busy time.Duration) error {
	switch st, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		dir := filepath.Dir(path)
		if _, err := os.Stat(dir); err != nil {
			return errext.WithHint(fmt.Errorf("%w: %w", ErrNoLedger, err), fmt.Sprintf("create the folder first: mkdir -p %q", dir))
		}
		return nil
	case err != nil:
		return errext.WithHint(fmt.Errorf("%w: %w", ErrReadOnly, err), "check the path and its permissions")
	case st.Mode().IsRegular() && st.Size() == 0:
		return nil
	}
	params := readerParams(busy, false)
	if _, err := os.Stat(path + "-journal"); err == nil {
		// A process died while it set the file up or wrote to it in SQLite's older way. Only a connection that
		// may write can undo what it left, so that the file can be read at all.
		params = writerParams(busy)
		params.Set("mode", "rw")
	}
	id, err := identifyWith(path, params)
	if err != nil || id.empty() {
		return err
	}
	return id.check(latest)
}

func openWriter(path string, cfg Config, all []migration, sign bool) (*conn, error) {
	c, err := openConn(path, writerParams(cfg.BusyTimeout))
	if err != nil {
		return nil, classify(err)
	}
	// The page size can only be set before the first table, and before the journal mode.
	setup := fmt.Sprintf("PRAGMA page_size = %d; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = %d; PRAGMA cache_size = -65536",
		pageSize, (16<<20)/pageSize)
	if err = classify(c.script(setup)); err == nil {
		if err = migrate(c, all); err == nil && sign {
			err = signWriter(c, cfg.Now().UnixMilli())
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// Path is the file that Open was given.
func (s *Store) Path() string { return s.path }

// Close commits what has been handed over, moves the log into the file and releases the writer's
// lock. Calls after it fail with ErrClosed. Closing twice is harmless.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	errs := []error{}
	if s.w != nil {
		s.w.close()
	}
	errs = append(errs, s.db.Close())
	if s.w != nil {
		if s.w.broken == nil && s.signed { // a full disk would only fail once more
			_, err := s.w.conn.exec("DELETE FROM writer")
			errs = append(errs, classify(err))
		}
		errs = append(errs, s.w.conn.close(), s.lock.close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close ledger %q: %w", s.path, err)
	}
	return nil
}

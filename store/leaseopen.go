package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// feederSuffix names the lock file of the process that serves a feed. Its tables are its own, so it may
// work while other processes record and score.
const feederSuffix = "-feed"

// OpenFeeds opens an existing ledger for serving feeds: leases and policy versions may be written, also
// while other processes record and score. Runs, episodes and scores must not be written through it. Only
// one process at a time can: a second one gets ErrWriterActive. Other errors are those of Open.
func OpenFeeds(ctx context.Context, path string, cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, errext.WithHint(fmt.Errorf("open ledger %q: %w", path, ErrNoLedger), "check the path; a run creates its ledger when it starts")
	}
	s, err := openAs(ctx, path, cfg.withDefaults(), feederSuffix)
	if errors.Is(err, ErrWriterActive) {
		err = errext.WithHint(errors.New("another process serves a feed from this ledger"), "connect to that one, or stop it")
	}
	if err != nil {
		return nil, fmt.Errorf("open ledger %q for feeds: %w", path, err)
	}
	return s, nil
}

// Feed is one feed of a ledger. Its methods are safe for concurrent use.
type Feed struct {
	s    *Store
	id   int64
	spec harness.FeedSpec
}

// Feed finds the feed of a run by its name, or adds it. ErrNotFound if there is no such run.
func (s *Store) Feed(ctx context.Context, spec harness.FeedSpec) (*Feed, error) {
	fail := func(err error) (*Feed, error) {
		return nil, fmt.Errorf("open feed %q of run %d: %w", spec.Name, spec.RunID, err)
	}
	if spec.Name == "" {
		return fail(errors.New("it has no name"))
	}
	if err := plain("feed name", spec.Name); err != nil {
		return fail(err)
	}
	if _, err := s.Run(ctx, spec.RunID); err != nil {
		return fail(err)
	}
	now, f := s.now(), &Feed{s: s, spec: spec}
	find := func() error {
		err := s.db.QueryRowContext(ctx, "SELECT id FROM feeds WHERE run_id = ? AND name = ?", spec.RunID, spec.Name).Scan(&f.id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return classify(err)
	}
	if err := find(); err != nil {
		return fail(err)
	}
	if f.id != 0 {
		return f, nil
	}
	err := s.write(ctx, func(c *conn) error {
		_, err := c.exec("INSERT OR IGNORE INTO feeds (run_id, name, created_ms) VALUES (?, ?, ?)", spec.RunID, spec.Name, now)
		return err
	})
	if err == nil {
		err = find()
	}
	if err != nil {
		return fail(err)
	}
	return f, nil
}

// Watch calls changed after every commit of another connection, of this process or another one, until
// ctx ends; it looks every so often. Watching costs a few microseconds per look and reads no table.
func (f *Feed) Watch(ctx context.Context, every time.Duration, changed func()) error {
	c, err := f.s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("watch the ledger: %w", classify(err))
	}
	defer c.Close()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for seen := int64(-1); ; {
		var version int64
		if err := c.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch the ledger: %w", classify(err))
		}
		if version != seen {
			seen = version
			changed()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

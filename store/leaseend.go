package store

import (
	"context"
	"fmt"
	"time"

	"github.com/hindsightrl/harness"
)

// EventPolicyVersion logs that a trainer posted a new version.
const EventPolicyVersion EventKind = "policy_version"

// Ack ends a held lease: its groups are delivered and will not be handed out again. Acknowledging twice
// is harmless. ErrLeaseUnknown; ErrLeaseClosed where the groups went back before.
func (f *Feed) Ack(ctx context.Context, key string) (harness.Lease, error) {
	return f.end(ctx, "acknowledge", key, harness.LeaseAcked, "")
}

// Return ends a held lease and makes its groups ready again. Returning twice is harmless; the second time
// the lease has no groups. ErrLeaseUnknown; ErrLeaseClosed where it was acknowledged or had expired.
func (f *Feed) Return(ctx context.Context, key, reason string) (harness.Lease, error) {
	if err := plain("reason", reason); err != nil {
		return harness.Lease{}, fmt.Errorf("return lease %q: %w", key, err)
	}
	return f.end(ctx, "return", key, harness.LeaseReturned, reason)
}

func (f *Feed) end(ctx context.Context, verb, key string, state harness.LeaseState, reason string) (l harness.Lease, err error) {
	now := f.s.now()
	err = f.s.write(ctx, func(c *conn) (err error) {
		l, err = f.find(c, key)
		switch {
		case err != nil:
			return err
		case l.State == state:
			return nil
		case l.State != harness.LeaseHeld:
			return fmt.Errorf("%w: it was %s", harness.ErrLeaseClosed, l.State)
		}
		return f.closeLease(c, &l, state, now, reason)
	})
	if err != nil {
		return harness.Lease{}, fmt.Errorf("%s lease %q: %w", verb, key, err)
	}
	return l, nil
}

// Extend gives a held lease ttl from now, and returns when it ends. ErrLeaseUnknown, ErrLeaseClosed.
func (f *Feed) Extend(ctx context.Context, key string, ttl time.Duration) (expires time.Time, err error) {
	until := f.s.now() + ttl.Milliseconds()
	err = f.s.write(ctx, func(c *conn) error {
		l, err := f.find(c, key)
		switch {
		case err != nil:
			return err
		case l.State != harness.LeaseHeld:
			return fmt.Errorf("%w: it was %s", harness.ErrLeaseClosed, l.State)
		}
		_, err = c.exec("UPDATE leases SET expires_ms = ? WHERE feed_id = ? AND key = ?", until, f.id, key)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("extend lease %q: %w", key, err)
	}
	return fromMS(until), nil
}

// Counts say where the feed's groups are.
func (f *Feed) Counts(ctx context.Context) (c harness.FeedCounts, err error) {
	err = f.s.snapshot(ctx, func(q querier) error {
		credit, _, err := f.passes(func(sql string, args ...any) (v any, err error) {
			err = q.QueryRowContext(ctx, sql, args...).Scan(&v)
			return v, err
		})
		if err != nil {
			return err
		}
		const total = `SELECT count(*),
			coalesce(sum(l.state = 'held'), 0), coalesce(sum(l.state = 'acked'), 0),
			coalesce(sum(CASE WHEN l.state = 'acked' THEN f.rows END), 0), coalesce(sum(CASE WHEN l.state = 'acked' THEN f.tokens END), 0),
			coalesce(sum(CASE WHEN f.lease_id IS NULL THEN EXISTS (SELECT 1 FROM episodes e WHERE e.group_id = g.id AND e.status IN ('pending', 'running')) END), 0),
			coalesce(sum(CASE WHEN f.lease_id IS NULL THEN NOT EXISTS (SELECT 1 FROM episodes e WHERE e.group_id = g.id AND e.status IN ('pending', 'running'))
				AND NOT EXISTS (SELECT 1 FROM episodes e JOIN steps s ON s.attempt_id = e.attempt_id AND s.idx = 0 WHERE e.group_id = g.id AND e.status = 'done') END), 0)
			FROM groups g LEFT JOIN feed_groups f ON f.feed_id = ?2 AND f.group_id = g.id LEFT JOIN leases l ON l.id = f.lease_id WHERE g.run_id = ?1`
		var all int
		if err := q.QueryRowContext(ctx, total, f.spec.RunID, f.id).Scan(&all, &c.Held, &c.Acked, &c.Rows, &c.Tokens, &c.Open, &c.Empty); err != nil {
			return err
		}
		if f.spec.Credit != harness.PassNewest || credit != nil {
			if err := q.QueryRowContext(ctx, "SELECT count(*) FROM ("+readyGroups+")", f.spec.RunID, f.id, credit, -1).Scan(&c.Ready); err != nil {
				return err
			}
		}
		if err := q.QueryRowContext(ctx, "SELECT count(*) FROM feed_dropped WHERE feed_id = ?", f.id).Scan(&c.Dropped); err != nil {
			return err
		}
		c.Waiting = all - c.Held - c.Acked - c.Open - c.Empty - c.Ready - c.Dropped
		return q.QueryRowContext(ctx, `SELECT coalesce(sum(state = 'returned'), 0), coalesce(sum(state = 'expired'), 0) FROM leases WHERE feed_id = ?`,
			f.id).Scan(&c.Returned, &c.Expired)
	})
	if err != nil {
		return c, fmt.Errorf("count the groups of feed %q: %w", f.spec.Name, classify(err))
	}
	return c, nil
}

// PostVersion records that the trainer has a new policy version, in the table of versions and in the
// run's log. Posting the newest one again is harmless. ErrVersionBackwards for a lower one.
func (f *Feed) PostVersion(ctx context.Context, version int32, consumer string) error {
	if err := plain("consumer", consumer); err != nil {
		return fmt.Errorf("post version %d: %w", version, err)
	}
	now := f.s.now()
	err := f.s.write(ctx, func(c *conn) error {
		newest, err := c.value("SELECT coalesce(max(version), -1) FROM policy_versions WHERE run_id = ?", f.spec.RunID)
		if err != nil {
			return err
		}
		switch n := newest.(int64); {
		case int64(version) < max(n, 0):
			return fmt.Errorf("%w: the newest is %d", harness.ErrVersionBackwards, n)
		case int64(version) == n:
			return nil
		}
		_, err = c.exec("INSERT INTO policy_versions (run_id, version, consumer, posted_ms) VALUES (?, ?, ?, ?)", f.spec.RunID, int64(version), consumer, now)
		if err != nil {
			return err
		}
		return insertEvent(c, f.spec.RunID, nil, now, EventPolicyVersion, fmt.Sprintf("%d from %s", version, consumer))
	})
	if err != nil {
		return fmt.Errorf("post version %d: %w", version, err)
	}
	return nil
}

// Version is the newest policy version that was posted; −1 where none was.
func (f *Feed) Version(ctx context.Context) (int32, error) {
	return f.s.PolicyVersion(ctx, f.spec.RunID)
}

// PolicyVersion is the newest policy version that a trainer posted for a run; −1 where none was.
func (s *Store) PolicyVersion(ctx context.Context, runID int64) (version int32, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT coalesce(max(version), -1) FROM policy_versions WHERE run_id = ?", runID).Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the policy version of run %d: %w", runID, classify(err))
	}
	return version, nil
}

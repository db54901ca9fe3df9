package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hindsightrl/harness"
)

// freeGroups lists the groups of a run (?1) that are finished and that a feed (?2) has neither given away
// nor up: all episodes closed, at least one step to hand over.
const freeGroups = `SELECT g.id, g.idx FROM groups g WHERE g.run_id = ?1
	AND NOT EXISTS (SELECT 1 FROM feed_groups f WHERE f.feed_id = ?2 AND f.group_id = g.id)
	AND NOT EXISTS (SELECT 1 FROM feed_dropped d WHERE d.feed_id = ?2 AND d.group_id = g.id)
	AND NOT EXISTS (SELECT 1 FROM episodes e WHERE e.group_id = g.id AND e.status IN ('pending', 'running'))
	AND EXISTS (SELECT 1 FROM episodes e JOIN steps s ON s.attempt_id = e.attempt_id AND s.idx = 0 WHERE e.group_id = g.id AND e.status = 'done')`

// uncredited holds for a group that has a done episode outside the credit pass ?3.
const uncredited = `EXISTS (SELECT 1 FROM episodes e JOIN steps s ON s.attempt_id = e.attempt_id AND s.idx = 0
	WHERE e.group_id = g.id AND e.status = 'done'
	AND NOT EXISTS (SELECT 1 FROM credits c WHERE c.pass_id = ?3 AND c.step_id = s.id))`

// readyGroups lists the groups that can be leased: free, and in the credit pass (?3; NULL: none is asked
// for).
const readyGroups = freeGroups + ` AND (?3 IS NULL OR NOT ` + uncredited + `) ORDER BY g.idx LIMIT ?4`

// Lease takes groups for a consumer, in panel order, after it took back those of leases whose time is
// over. A lease without groups was not written: nothing is ready. A request whose ID was seen before gets
// the lease that it got then, if that is still held; ErrLeaseClosed otherwise.
func (f *Feed) Lease(ctx context.Context, req harness.LeaseRequest) (lease harness.Lease, err error) {
	if err := checkLeaseRequest(req); err != nil {
		return lease, fmt.Errorf("lease: %w", err)
	}
	if idle, err := f.idle(ctx, req.ID, req.Min); err != nil || idle {
		return harness.Lease{ID: req.ID, Consumer: req.Consumer}, err
	}
	now := f.s.now()
	err = f.s.write(ctx, func(c *conn) (err error) {
		lease, err = f.take(c, req, now)
		return err
	})
	if err != nil {
		return harness.Lease{}, fmt.Errorf("lease %q: %w", req.ID, err)
	}
	return lease, nil
}

func checkLeaseRequest(req harness.LeaseRequest) error {
	switch {
	case req.ID == "":
		return errors.New("the request has no id")
	case req.Groups < 1:
		return fmt.Errorf("%d groups: want at least 1", req.Groups)
	case req.Min < 0 || req.Min > req.Groups:
		return fmt.Errorf("at least %d of at most %d groups", req.Min, req.Groups)
	case req.Tokens < 0:
		return fmt.Errorf("%d tokens: want at least 0", req.Tokens)
	case req.TTL < time.Millisecond:
		return fmt.Errorf("a time of %v: want at least 1ms", req.TTL)
	}
	if err := plain("lease id", req.ID); err != nil {
		return err
	}
	return plain("consumer", req.Consumer)
}

// idle looks, without the writer, whether there is nothing that a request for at least so many groups
// could get.
func (f *Feed) idle(ctx context.Context, key string, least int) (idle bool, err error) {
	err = f.s.snapshot(ctx, func(q querier) error {
		credit, _, err := f.passes(func(sql string, args ...any) (v any, err error) {
			err = q.QueryRowContext(ctx, sql, args...).Scan(&v)
			return v, err
		})
		if err != nil {
			return err
		}
		var busy bool
		if err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM leases WHERE feed_id = ?1 AND key = ?2)
			OR EXISTS (SELECT 1 FROM leases WHERE feed_id = ?1 AND state = 'held' AND expires_ms <= ?3)`,
			f.id, key, f.s.now()).Scan(&busy); err != nil || busy {
			return err
		}
		if f.spec.Credit == harness.PassNewest && credit == nil {
			idle = true
			return nil
		}
		least = max(least, 1)
		var ready int
		err = q.QueryRowContext(ctx, "SELECT count(*) FROM ("+readyGroups+")", f.spec.RunID, f.id, credit, least).Scan(&ready)
		idle = ready < least
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look for groups: %w", classify(err))
	}
	return idle, nil
}

// passes resolves the spec's passes: nil is none. value must return nil where there is no row.
func (f *Feed) passes(value func(sql string, args ...any) (any, error)) (credit, score any, err error) {
	switch f.spec.Credit {
	case harness.PassNone:
	case harness.PassNewest:
		if credit, err = value("SELECT max(id) FROM credit_passes WHERE run_id = ?", f.spec.RunID); err != nil {
			return nil, nil, err
		}
	default:
		credit = f.spec.Credit
	}
	switch f.spec.Score {
	case harness.PassNone:
	case harness.PassNewest:
		if credit == nil {
			return nil, nil, nil
		}
		score, err = value(`SELECT max(s.id) FROM credit_passes c JOIN score_passes s ON s.run_id = c.run_id AND s.key = c.scores
			WHERE c.id = ?`, credit)
	default:
		score = f.spec.Score
	}
	return credit, score, err
}

// take is Lease inside the writer's transaction.
func (f *Feed) take(c *conn, req harness.LeaseRequest, now int64) (harness.Lease, error) {
	old, err := f.find(c, req.ID)
	if err == nil {
		if old.State != harness.LeaseHeld {
			return harness.Lease{}, fmt.Errorf("%w: it was %s", harness.ErrLeaseClosed, old.State)
		}
		_, err = c.exec("UPDATE leases SET expires_ms = max(expires_ms, ?) WHERE feed_id = ? AND key = ?", now+req.TTL.Milliseconds(), f.id, req.ID)
		if err != nil {
			return harness.Lease{}, err
		}
		return f.find(c, req.ID)
	}
	if !errors.Is(err, harness.ErrLeaseUnknown) {
		return harness.Lease{}, err
	}
	lapsed, err := f.expire(c, now)
	if err != nil {
		return harness.Lease{}, err
	}
	credit, score, err := f.passes(func(sql string, args ...any) (any, error) { return c.value(sql, values(args)...) })
	if err != nil {
		return harness.Lease{}, err
	}
	none := harness.Lease{ID: req.ID, Consumer: req.Consumer, Lapsed: lapsed}
	if f.spec.Credit == harness.PassNewest && credit == nil {
		return none, nil
	}
	ready, err := c.rows(readyGroups, f.spec.RunID, f.id, credit, int64(req.Groups))
	if err != nil || len(ready) < max(req.Min, 1) {
		return none, err
	}
	id, err := c.exec(`INSERT INTO leases (feed_id, key, consumer, state, credit_id, score_id, granted_ms, expires_ms, reason)
		VALUES (?, ?, ?, 'held', ?, ?, ?, ?, '')`, f.id, req.ID, req.Consumer, credit, score, now, now+req.TTL.Milliseconds())
	if err != nil {
		return harness.Lease{}, err
	}
	if err := f.addGroups(c, id, ready, req.Tokens); err != nil {
		return harness.Lease{}, err
	}
	lease, err := f.find(c, req.ID)
	lease.Lapsed = lapsed
	return lease, err
}

// expire takes back the groups of leases whose time is over, and says which these are.
func (f *Feed) expire(c *conn, now int64) ([]harness.Lease, error) {
	keys, err := c.rows("SELECT key FROM leases WHERE feed_id = ? AND state = 'held' AND expires_ms <= ? ORDER BY id", f.id, now)
	if err != nil {
		return nil, err
	}
	return f.closeAll(c, keys, harness.LeaseExpired, now, "")
}

// closeAll gives the groups of held leases back.
func (f *Feed) closeAll(c *conn, keys [][]driver.Value, state harness.LeaseState, now int64, reason string) ([]harness.Lease, error) {
	var out []harness.Lease
	for _, k := range keys {
		l, err := f.find(c, k[0].(string))
		if err != nil {
			return nil, err
		}
		if err := f.closeLease(c, &l, state, now, reason); err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// closeLease ends a held lease. Its groups stay its own where it is acknowledged, and are ready again otherwise.
func (f *Feed) closeLease(c *conn, l *harness.Lease, state harness.LeaseState, now int64, reason string) error {
	if state != harness.LeaseAcked {
		_, err := c.exec("DELETE FROM feed_groups WHERE lease_id = (SELECT id FROM leases WHERE feed_id = ? AND key = ?)", f.id, l.ID)
		if err != nil {
			return err
		}
	}
	_, err := c.exec("UPDATE leases SET state = ?, closed_ms = ?, reason = ? WHERE feed_id = ? AND key = ?", string(state), now, reason, f.id, l.ID)
	l.State = state
	return err
}

// addGroups puts groups into a lease until the next would pass the bound of tokens.
func (f *Feed) addGroups(c *conn, lease int64, groups [][]driver.Value, bound int) error {
	total := int64(0)
	for i, g := range groups {
		size, err := c.row(`SELECT count(*), coalesce(sum(t.n), 0), coalesce(sum(t.n_prompt), 0) FROM episodes e JOIN steps s ON s.attempt_id = e.attempt_id
			LEFT JOIN tokens t ON t.step_id = coalesce(s.shared_id, s.id) WHERE e.group_id = ? AND e.status = 'done'`, g[0])
		if err != nil {
			return err
		}
		total += size[1].(int64) + size[2].(int64)
		if i > 0 && bound > 0 && total > int64(bound) {
			return nil
		}
		_, err = c.exec("INSERT INTO feed_groups (feed_id, group_id, lease_id, rows, tokens, prompt) VALUES (?, ?, ?, ?, ?, ?)",
			f.id, g[0], lease, size[0], size[1], size[2])
		if err != nil {
			return err
		}
	}
	return nil
}

// find reads a lease with its groups. ErrLeaseUnknown if there is none.
func (f *Feed) find(c *conn, key string) (harness.Lease, error) {
	r, err := c.row("SELECT id, consumer, state, expires_ms, coalesce(credit_id, 0), coalesce(score_id, 0) FROM leases WHERE feed_id = ? AND key = ?", f.id, key)
	if err != nil {
		return harness.Lease{}, err
	}
	if r == nil {
		return harness.Lease{}, harness.ErrLeaseUnknown
	}
	l := harness.Lease{
		ID: key, Consumer: r[1].(string), State: harness.LeaseState(r[2].(string)), Expires: fromMS(r[3].(int64)),
		Credit: r[4].(int64), Score: r[5].(int64),
	}
	groups, err := c.rows(`SELECT g.idx, f.rows, f.tokens, f.prompt FROM feed_groups f JOIN groups g ON g.id = f.group_id
		WHERE f.lease_id = ? ORDER BY g.idx`, r[0])
	for _, g := range groups {
		l.Groups = append(l.Groups, harness.FeedGroup{
			Index: int(g[0].(int64)), Rows: int(g[1].(int64)), Tokens: int(g[2].(int64)), PromptTokens: int(g[3].(int64)),
		})
	}
	return l, err
}

// rows runs a prepared query and returns all its rows.
func (c *conn) rows(sql string, args ...driver.Value) ([][]driver.Value, error) {
	s, err := c.stmt(sql)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]driver.Value
	for {
		dest := make([]driver.Value, len(rows.Columns()))
		switch err := rows.Next(dest); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		}
		out = append(out, dest)
	}
}

package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
)

// reasonLost is why the leases of a trainer went back that lost them.
const reasonLost = "the trainer lost it"

// Lost gives back all that a consumer holds, at once: it says that it has none of it any more. A lease of it that
// somebody acknowledges after that is refused like one that ran out. It returns what it gave back.
func (f *Feed) Lost(ctx context.Context, consumer string) (out []harness.Lease, err error) {
	fail := func(err error) ([]harness.Lease, error) {
		return nil, fmt.Errorf("give back what consumer %q lost: %w", consumer, err)
	}
	if consumer == "" {
		return fail(errors.New("it has no name"))
	}
	if err := plain("consumer", consumer); err != nil {
		return fail(err)
	}
	now := f.s.now()
	err = f.s.write(ctx, func(c *conn) error {
		keys, err := c.rows("SELECT key FROM leases WHERE feed_id = ? AND state = 'held' AND consumer = ? ORDER BY id", f.id, consumer)
		if err != nil {
			return err
		}
		out, err = f.closeAll(c, keys, harness.LeaseReturned, now, reasonLost)
		return err
	})
	if err != nil {
		return fail(err)
	}
	return out, nil
}

// Held lists the leases that are held, the next one to end first, among them those whose time is over and whose
// groups nobody has asked for since.
func (f *Feed) Held(ctx context.Context) (out []harness.Lease, err error) {
	const text = `SELECT l.key, l.consumer, l.expires_ms, g.idx, d.rows, d.tokens, d.prompt FROM leases l
		JOIN feed_groups d ON d.lease_id = l.id JOIN groups g ON g.id = d.group_id
		WHERE l.feed_id = ? AND l.state = 'held' ORDER BY l.expires_ms, l.id, g.idx`
	type row struct {
		key, consumer string
		expires       int64
		g             harness.FeedGroup
	}
	for r, err := range query(ctx, f.s.db, fmt.Sprintf("list the leases of feed %q", f.spec.Name), text, []any{f.id}, func(scan func(...any) error) (r row, err error) {
		err = scan(&r.key, &r.consumer, &r.expires, &r.g.Index, &r.g.Rows, &r.g.Tokens, &r.g.PromptTokens)
		return r, err
	}) {
		if err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].ID != r.key {
			out = append(out, harness.Lease{ID: r.key, Consumer: r.consumer, State: harness.LeaseHeld, Expires: fromMS(r.expires)})
		}
		last := &out[len(out)-1]
		last.Groups = append(last.Groups, r.g)
	}
	return out, nil
}

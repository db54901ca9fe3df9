package feed

import (
	"context"
	"time"

	"github.com/hindsightrl/harness"
)

// Book keeps who holds which groups, durably. Every method returns once its effect is on disk, is safe
// for concurrent use, and may be repeated: the answer to a repeated call is that of the first one.
type Book interface {
	// Lease takes groups for a consumer. A lease without groups means that none is ready.
	Lease(ctx context.Context, req harness.LeaseRequest) (harness.Lease, error)
	// Ack delivers a held lease. harness.ErrLeaseUnknown, harness.ErrLeaseClosed.
	Ack(ctx context.Context, id string) (harness.Lease, error)
	// Return gives a held lease back. The errors are those of Ack.
	Return(ctx context.Context, id, reason string) (harness.Lease, error)
	// Lost gives back all that a consumer holds, which has none of it any more, and says what that was.
	Lost(ctx context.Context, consumer string) ([]harness.Lease, error)
	// Held lists the leases that are held, the next one to end first.
	Held(ctx context.Context) ([]harness.Lease, error)
	// Extend holds a lease for ttl from now. The errors are those of Ack.
	Extend(ctx context.Context, id string, ttl time.Duration) (time.Time, error)
}

// Source reads what is handed over.
type Source interface {
	// Pass says how the numbers of a lease came about.
	Pass(ctx context.Context, lease harness.Lease) (*Pass, error)
	// Steps reads the steps of one group of a lease, by sample and turn.
	Steps(ctx context.Context, lease harness.Lease, group int) ([]harness.FeedStep, error)
	// Counts say where the groups are.
	Counts(ctx context.Context) (harness.FeedCounts, error)
	// Watch calls changed whenever another group may have become ready, until ctx ends.
	Watch(ctx context.Context, changed func()) error
}

// Versions keeps the policy versions that trainers post.
type Versions interface {
	// PostVersion records a version. harness.ErrVersionBackwards for one below the newest.
	PostVersion(ctx context.Context, version int32, consumer string) error
	// Version is the newest one; −1 where none was posted.
	Version(ctx context.Context) (int32, error)
}

// rows reads a group as rows.
func rows(ctx context.Context, src Source, lease harness.Lease, h *Header, group int) ([]Row, error) {
	steps, err := src.Steps(ctx, lease, group)
	if err != nil {
		return nil, err
	}
	return h.RowsOf(steps)
}

package feed

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
)

func TestPaceFollowsTheTrainer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pace    Pace
		version int32
		allowed int // groups 0 … allowed−1 may start
	}{
		{Pace{4, 0}, -1, 4}, {Pace{4, 0}, 0, 4}, {Pace{4, 0}, 1, 8}, {Pace{4, 2}, 0, 12}, {Pace{1, 0}, 9, 10}, {Pace{3, 1}, 5, 21},
	} {
		for n := range c.allowed + 5 {
			if got := c.pace.Allows(n, c.version); got != (n < c.allowed) {
				t.Errorf("%+v, version %d: group %d allowed %v", c.pace, c.version, n, got)
			}
		}
	}
}

// TestPacedTokensAreNeverTooStale lets a trainer use groups in the order of their starts, and checks how
// old each is when it is used.
func TestPacedTokensAreNeverTooStale(t *testing.T) {
	t.Parallel()
	for _, pace := range []Pace{{1, 0}, {3, 0}, {3, 2}, {8, 1}} {
		started := []int32{} // version under which group n started
		for update := int32(0); update < 20; update++ {
			for pace.Allows(len(started), update) {
				started = append(started, update)
			}
			from := int(update) * pace.PerUpdate
			for n := from; n < from+pace.PerUpdate; n++ {
				if n >= len(started) {
					t.Fatalf("%+v: update %d starves: only %d groups were allowed", pace, update, len(started))
				}
				if age := update - started[n]; age > int32(pace.MaxStaleness) {
					t.Errorf("%+v: group %d is %d updates old", pace, n, age)
				}
			}
		}
	}
}

func TestPacerWaitsForAVersion(t *testing.T) {
	t.Parallel()
	m := newMemory(0, 0, 0, 0)
	p, err := NewPacer(Pace{PerUpdate: 2}, m, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if v, err := p.Admit(ctx, 1); err != nil || v != -1 {
		t.Fatalf("group 1: %d, %v", v, err)
	}
	got := make(chan int32)
	go func() {
		v, err := p.Admit(ctx, 2)
		if err != nil {
			t.Error(err)
		}
		got <- v
	}()
	if err := m.PostVersion(ctx, 1, "trainer"); err != nil {
		t.Fatal(err)
	}
	if v := <-got; v != 1 {
		t.Errorf("group 2 started under version %d", v)
	}
	cancel()
	if _, err := p.Admit(ctx, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestPacerIsChecked(t *testing.T) {
	t.Parallel()
	m := newMemory(0, 0, 0, 0)
	for _, c := range []struct {
		pace  Pace
		v     Versions
		every time.Duration
	}{{Pace{}, m, 1}, {Pace{1, -1}, m, 1}, {Pace{1, 0}, nil, 1}, {Pace{1, 0}, m, 0}} {
		if _, err := NewPacer(c.pace, c.v, c.every); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// TestExportHeaderHasNoLease: an export has no lease that could expire, and sums its groups up.
func TestExportHeaderHasNoLease(t *testing.T) {
	t.Parallel()
	h := NewHeader(harness.Lease{Groups: []harness.FeedGroup{{Index: 1, Rows: 2, Tokens: 3, PromptTokens: 4}, {Rows: 5, Tokens: 6, PromptTokens: 7}}}, testPass(), -1)
	if h.Lease != "" || !h.Expires.IsZero() || h.Rows != 7 || h.Tokens != 9 || h.PromptTokens != 11 {
		t.Errorf("%+v", h)
	}
}

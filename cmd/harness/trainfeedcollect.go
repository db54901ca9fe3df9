package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/store"
)

// paceEvery is how often a start that is held back looks whether it may go.
const paceEvery = 50 * time.Millisecond

// collect plays rounds of the panel until there are enough, or the first stop.
func (t *trainFeed) collect(ctx context.Context) error {
	if err := t.db.SetRunState(ctx, t.of.ID, store.RunRunning, ""); err != nil {
		return err
	}
	soft, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.st.soft, func() {
		t.g.log.Info("stopping: running episodes go on to their end; press Ctrl-C again to stop at once")
		cancel()
	})()
	if err := t.recount(ctx); err != nil {
		return err
	}
	_, err := agent.RunSeq(soft, ctx, t.refs, t.agent)
	return errors.Join(err, t.finish(err))
}

// refs are the episodes that are left, round after round, each group held back until it may start. A round is
// made when the one before has been started whole: nothing waits for its last episode.
func (t *trainFeed) refs(ctx context.Context) iter.Seq2[harness.EpisodeRef, error] {
	return func(yield func(harness.EpisodeRef, error) bool) {
		fail := func(err error) { yield(harness.EpisodeRef{}, err) }
		round, err := t.db.FirstOpenRound(ctx, t.of.ID)
		if err != nil {
			fail(err)
			return
		}
		group := -1
		for ; t.plan.Rounds == 0 || round < t.plan.Rounds; round++ {
			added, err := t.db.AddRound(ctx, t.of.ID, round)
			if err != nil {
				fail(err)
				return
			}
			refs, err := t.db.PendingRound(ctx, t.of.ID, round)
			if err != nil {
				fail(err)
				return
			}
			t.g.log.Info("round", "run", t.of.Name, "round", round, "new", added, "episodes", len(refs))
			for _, ref := range refs {
				if ref.Group != group {
					group = ref.Group
					if err := t.admit(ctx, group); err != nil {
						fail(err)
						return
					}
				}
				if !yield(ref, nil) {
					return
				}
			}
		}
	}
}

// admit waits until a group may start. Groups before it that no trainer will ever get do not count: the
// trainer would wait for them, and they for the trainer.
func (t *trainFeed) admit(ctx context.Context, group int) error {
	began := t.g.now()
	if pace, bound := t.plan.Pace.pace(); bound {
		p, err := feed.NewPacer(pace, t.book, paceEvery)
		if err != nil {
			return err
		}
		if _, err := p.AdmitAt(ctx, func() int { return max(0, group-int(t.lost.Load())) }); err != nil {
			return err
		}
	}
	if limit := t.plan.Pace.MaxBacklog; limit > 0 {
		tick := time.NewTicker(paceEvery)
		defer tick.Stop()
		for group-int(t.lost.Load()+t.acked.Load()) >= limit {
			select {
			case <-ctx.Done():
				return fmt.Errorf("admit group %d: %w", group, ctx.Err())
			case <-tick.C:
				if err := t.recount(ctx); err != nil {
					return err
				}
			}
		}
	}
	t.obs.admitted(t.g.now().Sub(began))
	return nil
}

// recountEvery bounds how often the groups of a long run are counted.
const recountEvery = 250 * time.Millisecond

// recount reads from the ledger which groups are out of the pace's way.
func (t *trainFeed) recount(ctx context.Context) error {
	t.counting.Lock()
	defer t.counting.Unlock()
	now := t.g.now()
	if now.Sub(t.counted) < recountEvery {
		return nil
	}
	t.counted = now
	c, err := t.book.Counts(ctx)
	if err != nil {
		return err
	}
	t.lost.Store(int64(c.Empty + c.Dropped))
	t.acked.Store(int64(c.Acked))
	return nil
}

// event is told what happens to episodes. It must not block.
func (t *trainFeed) event(e agent.Event) {
	t.obs.event(e)
	switch e.Kind {
	case agent.EventFinished, agent.EventFailed:
		t.ages.ended(e.Episode.Group, t.g.now())
		t.poke()
	}
}

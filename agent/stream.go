package agent

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// RunSeq is Run for episodes that become known one after the other: it takes the next one when a worker is
// free, and the sequence may block until there is one, no longer than its context: that ends with soft, with
// hard and with the first error. Where a suite is a harness.Preparer, it takes as many more ahead as there are
// workers, tells the suites of them, and leaves those that have not begun at a stop. An error of the sequence,
// an episode that no suite has a task for, and an error of the recorder stop the run as hard does.
// Stats.Episodes counts the episodes that were taken.
func RunSeq(soft, hard context.Context, refs func(context.Context) iter.Seq2[harness.EpisodeRef, error], cfg Config) (Stats, error) {
	cfg = cfg.withDefaults()
	c := newCounter(0, cfg.OnEvent)
	if err := cfg.Validate(); err != nil {
		return c.stats, err
	}
	g, ctx := errgroup.WithContext(hard)
	taking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(soft, cancel)()
	ahead := 0
	if cfg.prepares() {
		ahead = cfg.Workers
	}
	room := places(cfg.Workers + ahead) // for an episode from when it is taken until it ends
	taken := make(chan harness.EpisodeRef, cap(room))
	g.Go(func() error { // so that the error of a worker ends it and the other way round
		defer close(taken)
		next, stop := iter.Pull2(refs(taking))
		defer stop()
		for {
			select {
			case <-room:
			case <-taking.Done():
				return nil
			}
			ref, err, ok := next()
			if !ok || taking.Err() != nil {
				return nil
			}
			if err == nil {
				err = cfg.check(ref)
			}
			if err != nil {
				return err
			}
			cfg.prepare(ref.Task)
			taken <- ref // there is room
		}
	})
	g.Go(func() error {
		free := places(cfg.Workers)
		for ref := range taken {
			<-free // after a stop too: the episode says that it was left
			c.taken()
			g.Go(func() error {
				defer func() { free <- struct{}{}; room <- struct{}{} }()
				return newEpisode(ref, cfg, c).run(soft, ctx)
			})
		}
		return nil
	})
	err := g.Wait()
	if err == nil && (c.stats.Left > 0 || soft.Err() != nil || hard.Err() != nil) {
		err = errext.WithHint(ErrStopped, "resume the run to finish the rest")
	}
	return c.stats, err
}

// places is a channel that holds n of them.
func places(n int) chan struct{} {
	c := make(chan struct{}, n)
	for range n {
		c <- struct{}{}
	}
	return c
}

// prepares says whether a suite wants to know of tasks that come next.
func (c Config) prepares() bool {
	for _, s := range c.Suites {
		if _, ok := s.(harness.Preparer); ok {
			return true
		}
	}
	return false
}

// check reports an episode that no suite can play.
func (c Config) check(ref harness.EpisodeRef) error {
	if err := ref.Task.Validate(); err != nil {
		return err
	}
	_, err := c.suite(ref.Task)
	return err
}

func (c *counter) taken() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Episodes++
}

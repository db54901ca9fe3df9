package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/store"
)

// trainFeed is one run of harness train-feed. Its parts meet in the ledger:
//
//	collect ─► finished groups ─► work (score, credit) ─► ready groups ─► server ─► trainer
//	   ▲                                                                      │
//	   └───────────── pace, reload ◄───────────── versions ◄──────────────────┘
type trainFeed struct {
	st    stops
	g     *globals
	plan  *trainPlan
	db    *store.Store
	token string
	again string // the command that goes on
	close []func() error

	of      store.Run
	agent   agent.Config
	gate    *policyGate
	client  llm.Client // of the policy's server; nil without one
	teacher openTeacher
	opened  harness.ScorePass // the teacher's; zero before the first group
	taught  int32             // version under which it was opened

	book  *store.Feed
	src   *trainSource
	obs   *trainObserver
	ages  ages
	flat  informed
	wake  chan struct{} // work may be there
	lost  atomic.Int64  // groups that never reach a trainer
	acked atomic.Int64

	counting sync.Mutex
	counted  time.Time // when lost and acked were read last

	collected atomic.Bool                 // collecting has ended
	healing   sync.Mutex                  // one reload at a time
	stuck     atomic.Pointer[feed.Posted] // a version whose reload left the policy server paused
}

// trainSource is the ledger as the feed's source; it knows whether further rounds come.
type trainSource struct {
	*ledgerSource
	more func() bool
}

func (s *trainSource) Counts(ctx context.Context) (harness.FeedCounts, error) {
	c, err := s.ledgerSource.Counts(ctx)
	c.More = s.more()
	return c, err
}

func (t *trainFeed) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *trainFeed) run() (err error) {
	defer func() { err = errors.Join(err, t.closeAll()) }()
	if err := t.open(t.st.soft); err != nil {
		return err
	}
	if err := t.openFeed(t.st.soft); err != nil {
		return err
	}
	t.obs, err = newTrainObserver(t.st.hard, t.plan.Traces, t.g.now, t.src.Counts)
	if err != nil {
		return err
	}
	t.close = append(t.close, t.obs.close)
	if err := t.restore(t.st.soft); err != nil {
		return err
	}
	server, err := t.server()
	if err != nil {
		return err
	}
	t.obs.feed.connections(server)
	listener, err := t.plan.serve.listener()
	if err != nil {
		return err
	}
	metrics, err := t.metricsListener()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	t.g.log.Info("feed is served", "address", listener.Addr().String(), "tls", t.plan.serve.cert != "", "run", t.of.Name, "feed", t.plan.Feed)
	return t.stopped(t.drive(server, listener, metrics))
}

func (t *trainFeed) openFeed(ctx context.Context) error {
	plan, err := t.plan.serve.rows.plan(ctx, t.plan.serveCmd, t.db, t.plan.Feed)
	if err != nil {
		return err
	}
	if t.book, err = t.db.Feed(ctx, plan.spec); err != nil {
		return err
	}
	t.src = &trainSource{newLedgerSource(t.db, t.book, plan), func() bool { return !t.collected.Load() }}
	return nil
}

func (t *trainFeed) server() (*feed.Server, error) {
	s := t.plan.serve
	return feed.NewServer(feed.Config{
		Book: t.book, Source: t.src, Versions: t.book, OnVersion: t.onVersion, OnSent: t.obs.sent, Token: t.token,
		TTL: s.ttl, MaxTTL: max(24*time.Hour, s.ttl), MaxConns: s.maxConns, Memory: s.memory << 20, Stall: s.stall, Now: t.g.now, Log: t.g.log,
	})
}

func (t *trainFeed) metricsListener() (net.Listener, error) {
	if t.plan.Metrics == "" {
		return nil, nil
	}
	l, err := (&net.ListenConfig{}).Listen(t.st.soft, "tcp", t.plan.Metrics)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics: %w", err)
	}
	return l, nil
}

// drive runs the parts until all is delivered, the first stop, or an error of any part. Serving ends last.
func (t *trainFeed) drive(server *feed.Server, listener, metrics net.Listener) error {
	serving, stopServing := context.WithCancel(t.st.hard)
	defer stopServing()
	g, ctx := errgroup.WithContext(serving)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", server.Guard(t.obs.handler()))
	if metrics != nil {
		t.serveHTTP(ctx, g, metrics, mux)
	}
	both := http.NewServeMux()
	both.Handle("/", server.Handler())
	both.Handle("GET /metrics", server.Guard(t.obs.handler()))
	t.serveHTTP(ctx, g, listener, both)
	g.Go(func() error { return server.Run(ctx) })
	var collectErr error
	g.Go(func() error {
		collectErr = t.collect(ctx)
		t.collected.Store(true)
		t.poke()
		if errors.Is(collectErr, agent.ErrStopped) {
			return nil
		}
		return collectErr
	})
	g.Go(func() error {
		defer stopServing()
		return t.work(ctx)
	})
	g.Go(func() error { return t.report(ctx) })
	g.Go(func() error { return t.heal(ctx) })
	err := g.Wait()
	if err == nil {
		err = collectErr
	}
	return err
}

// serveHTTP serves until ctx ends, and then lets what is under way end for a moment.
func (t *trainFeed) serveHTTP(ctx context.Context, g *errgroup.Group, l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	g.Go(func() error {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if t.st.hard.Err() != nil || s.Shutdown(last) != nil {
			s.Close()
		}
		return nil
	})
}

// reportEvery is how often the log says how things stand.
const reportEvery = 30 * time.Second

// report logs the progress now and then, and at the end.
func (t *trainFeed) report(ctx context.Context) error {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			return t.reportOnce(last, "ended")
		case <-tick.C:
			if err := t.reportOnce(ctx, "progress"); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

func (t *trainFeed) reportOnce(ctx context.Context, message string) error {
	c, err := t.src.Counts(ctx)
	if err != nil {
		return err
	}
	version, err := t.book.Version(ctx)
	if err != nil {
		return err
	}
	t.g.log.Info(message, "run", t.of.Name, "version", version, "episodes", t.obs.episodes.Load(), "steps", t.obs.steps.Load(),
		"open", c.Open, "waiting", c.Waiting, "ready", c.Ready, "held", c.Held, "delivered", c.Acked, "dropped", c.Dropped, "empty", c.Empty,
		"rows", c.Rows, "tokens", c.Tokens)
	return nil
}

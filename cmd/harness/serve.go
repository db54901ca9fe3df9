package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/store"
)

type serveCommand struct {
	st   stops
	g    *globals
	rows feedFlags

	name     string
	listen   string
	tokenEnv string
	cert     string
	key      string
	ttl      time.Duration
	maxConns int
	memory   int64
	stall    time.Duration
	drain    bool
	log      trainLog
}

func newServe(st stops, g *globals) *cobra.Command {
	c := &serveCommand{st: st, g: g}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Feed trainers: hand the finished groups of a run over, each exactly once",
		Long: `serve hands the groups of a run whose episodes have finished, and that have credit, to trainers over
WebSocket and HTTP, as Arrow or JSON. A trainer leases a batch and acknowledges it; a batch that is
neither acknowledged nor extended in time goes to the next one that asks. Who holds what is in the
ledger, so a restart changes nothing.

It may run while other processes collect, score and give credit.

The log on standard error says who connects and leaves, who waits for groups that others hold, and every half a
minute in which something happened how the feed stands; --log-level debug also says what became of each
batch. GET /metrics has the same in figures, for Prometheus.`,
		Example: `  harness serve --run nightly
  harness serve --run nightly --loss dapo --listen 127.0.0.1:7741
  HARNESS_FEED_TOKEN=… harness serve --listen 0.0.0.0:7741 --tls-cert cert.pem --tls-key key.pem`,
		GroupID: "feed",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.flags(cmd)
	configurable(g, cmd)
	return cmd
}

func (c *serveCommand) flags(cmd *cobra.Command) {
	c.rows.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.name, "feed", "default", "name of the feed: another name hands out all groups again")
	f.StringVar(&c.listen, "listen", "127.0.0.1:7741", "address; anything but loopback needs a token")
	f.StringVar(&c.tokenEnv, "token-env", "HARNESS_FEED_TOKEN", "environment variable with the token that trainers must send")
	f.StringVar(&c.cert, "tls-cert", "", "certificate file (PEM): serve https and wss")
	f.StringVar(&c.key, "tls-key", "", "key file (PEM) of the certificate")
	f.DurationVar(&c.ttl, "ttl", 10*time.Minute, "how long a lease lasts that does not say")
	f.IntVar(&c.maxConns, "max-conns", 256, "connections and waiting requests at a time")
	f.Int64Var(&c.memory, "memory-mb", 512, "bound on the rows that are on their way to trainers, in MiB")
	f.DurationVar(&c.stall, "stall", 30*time.Second, "cut a trainer off that reads nothing for so long")
	f.BoolVar(&c.drain, "drain", false, "end when every group of the run is delivered")
	f.StringVar(&c.log.Level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&c.log.Format, "log-format", "text", "text or json")
}

func (c *serveCommand) run(cmd *cobra.Command) error {
	token := c.g.env(c.tokenEnv)
	if err := checkListen(c.listen, token, c.tokenEnv); err != nil {
		return usageError(cmd, err)
	}
	if (c.cert == "") != (c.key == "") {
		return usageError(cmd, errors.New("--tls-cert and --tls-key belong together"))
	}
	if err := c.bounds(); err != nil {
		return usageError(cmd, err)
	}
	level := "--log-level"
	if general := c.g.env("HARNESS_LOG"); general != "" && !cmd.Flags().Changed("log-level") {
		level, c.log.Level = "HARNESS_LOG", general
	}
	if err := c.log.check("--log-format", level); err != nil {
		return usageError(cmd, err)
	}
	db, err := store.OpenFeeds(c.st.hard, c.rows.db, store.Config{Now: c.g.now, Readers: 8})
	if err != nil {
		return err
	}
	return errors.Join(c.serve(cmd, db, token), db.Close())
}

// bounds reports a bound that nothing fits in.
func (c *serveCommand) bounds() error {
	if c.maxConns < 1 || c.memory < 1 || c.ttl < time.Millisecond || c.stall <= 0 {
		return errors.New("--max-conns, --memory-mb, --ttl and --stall must be positive")
	}
	return nil
}

func (c *serveCommand) serve(cmd *cobra.Command, db *store.Store, token string) error {
	plan, err := c.rows.plan(c.st.hard, cmd, db, c.name)
	if err != nil {
		return err
	}
	book, err := db.Feed(c.st.hard, plan.spec)
	if err != nil {
		return err
	}
	src := newLedgerSource(db, book, plan)
	metrics, log := newFeedMetrics(prometheus.NewRegistry(), src.Counts), c.log.open(c.g)
	server, err := feed.NewServer(feed.Config{
		Book: book, Source: src, Versions: book, Token: token, TTL: c.ttl, MaxTTL: max(24*time.Hour, c.ttl), MaxConns: c.maxConns,
		Memory: c.memory << 20, Stall: c.stall, Now: c.g.now, Log: log,
		OnSent: metrics.sent,
	})
	if err != nil {
		return err
	}
	metrics.connections(server)
	l, err := c.listener()
	if err != nil {
		return err
	}
	scheme := "http"
	if c.cert != "" {
		scheme = "https"
	}
	counts, err := src.Counts(c.st.hard)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(c.g.stderr, "feed %s of run %s: %d groups ready, %d delivered, %d to come; serving on %s://%s; stop with Ctrl-C\n",
		c.name, plan.run.Name, counts.Ready, counts.Acked, counts.Open+counts.Waiting+counts.Held, scheme, l.Addr())
	if counts.Waiting > 0 && counts.Ready == 0 {
		fmt.Fprintf(c.g.stderr, "%d finished groups wait for credit: harness credit --db %s --run %s, or serve with --credit none\n", counts.Waiting, c.rows.db, plan.run.Name)
	}
	return c.until(&feedReport{log: log, run: plan.run.Name, feed: c.name, src: src, server: server, last: counts}, metrics, l)
}

func (c *serveCommand) listener() (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(c.st.soft, "tcp", c.listen)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("listen: %w", err), "choose another --listen address")
	}
	if c.cert == "" {
		return l, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the certificate: %w", err), l.Close())
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), nil
}

// until serves until the first stop, or until the feed is drained where that was asked for.
func (c *serveCommand) until(r *feedReport, m *feedMetrics, l net.Listener) error {
	server, src := r.server, r.src
	ctx, cancel := context.WithCancel(c.st.soft)
	defer cancel()
	mux := http.NewServeMux()
	mux.Handle("/", server.Handler())
	mux.Handle("GET /metrics", server.Guard(m.handler()))
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	watched := make(chan error, 1)
	go func() { watched <- server.Run(ctx) }()
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		r.until(ctx, reportEvery)
	}()
	drained := make(chan error, 1)
	if c.drain {
		go func() { drained <- untilDrained(ctx, src) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
	case err = <-watched:
		watched <- nil
	case err = <-drained:
	}
	cancel()
	last, stop := context.WithTimeout(context.WithoutCancel(c.st.hard), 5*time.Second)
	defer stop()
	if c.st.hard.Err() != nil {
		stop()
	}
	if down := h.Shutdown(last); down != nil {
		h.Close()
	}
	<-reported
	return errors.Join(err, <-watched)
}

func untilDrained(ctx context.Context, src *ledgerSource) error {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		c, err := src.Counts(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if c.Drained() || ctx.Err() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}

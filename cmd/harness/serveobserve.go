package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/feed"
)

// feedMetrics are the metrics of a feed, in harness serve and harness train-feed alike.
type feedMetrics struct {
	registry *prometheus.Registry
	stale    prometheus.Histogram
	unknown  prometheus.Counter
	out      *prometheus.CounterVec
}

func newFeedMetrics(r *prometheus.Registry, counts func(context.Context) (harness.FeedCounts, error)) *feedMetrics {
	m := &feedMetrics{
		registry: r,
		stale: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "hindsight", Name: "staleness_versions", Help: "Versions between the oldest token of a group and the newest version, when it was sent.",
			Buckets: []float64{0, 1, 2, 3, 4, 6, 8, 12, 16, 32},
		}),
		unknown: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "hindsight", Name: "staleness_unknown_total", Help: "Groups that were sent and whose tokens carry no version.",
		}),
		out: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "hindsight", Name: "sent_total", Help: "What was sent to trainers, by what: groups, rows, tokens. A batch that is asked for again counts again.",
		}, []string{"what"}),
	}
	r.MustRegister(m.stale, m.unknown, m.out, groupCollector{counts}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// connections adds the number of a server's connections.
func (m *feedMetrics) connections(s *feed.Server) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "hindsight", Name: "connections", Help: "WebSocket connections of trainers.",
	}, func() float64 { return float64(s.Connections()) }))
}

func (m *feedMetrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// sent is told what went out to a trainer.
func (m *feedMetrics) sent(s feed.Sent) {
	if n, known := s.Staleness(); known {
		m.stale.Observe(float64(n))
	} else {
		m.unknown.Inc()
	}
	m.out.WithLabelValues("groups").Inc()
	m.out.WithLabelValues("rows").Add(float64(s.Group.Rows))
	m.out.WithLabelValues("tokens").Add(float64(s.Group.Tokens))
}

// groupCollector asks the ledger at each scrape where the groups are.
type groupCollector struct {
	counts func(context.Context) (harness.FeedCounts, error)
}

var (
	groupsDesc = prometheus.NewDesc("hindsight_groups", "Groups of the run, by where they are.", []string{"state"}, nil)
	leasesDesc = prometheus.NewDesc("hindsight_leases_ended_total", "Leases that came back, by how: returned or expired.", []string{"how"}, nil)
	doneDesc   = prometheus.NewDesc("hindsight_delivered_total", "What trainers acknowledged, by what: rows or tokens.", []string{"what"}, nil)
)

func (groupCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- groupsDesc
	ch <- leasesDesc
	ch <- doneDesc
}

// scrapeWithin bounds how long a scrape waits for the ledger.
const scrapeWithin = 5 * time.Second

func (g groupCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeWithin)
	defer cancel()
	c, err := g.counts(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(groupsDesc, err)
		return
	}
	for state, n := range map[string]int{"open": c.Open, "waiting": c.Waiting, "ready": c.Ready, "held": c.Held, "delivered": c.Acked, "empty": c.Empty, "dropped": c.Dropped} {
		ch <- prometheus.MustNewConstMetric(groupsDesc, prometheus.GaugeValue, float64(n), state)
	}
	ch <- prometheus.MustNewConstMetric(leasesDesc, prometheus.CounterValue, float64(c.Returned), "returned")
	ch <- prometheus.MustNewConstMetric(leasesDesc, prometheus.CounterValue, float64(c.Expired), "expired")
	ch <- prometheus.MustNewConstMetric(doneDesc, prometheus.CounterValue, float64(c.Rows), "rows")
	ch <- prometheus.MustNewConstMetric(doneDesc, prometheus.CounterValue, float64(c.Tokens), "tokens")
}

// feedReport logs how a feed stands.
type feedReport struct {
	log    *slog.Logger
	run    string
	feed   string
	src    *ledgerSource
	server *feed.Server
	last   harness.FeedCounts
}

// until logs a line now and then, where something changed, and one at the end. Where the ledger cannot be read for
// one, the log says so, and trainers are served on: whether that works shows where they are served.
func (r *feedReport) until(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), scrapeWithin)
			defer cancel()
			r.failed(r.once(last, "ended", true))
			return
		case <-tick.C:
			if err := r.once(ctx, "progress", false); ctx.Err() == nil {
				r.failed(err)
			}
		}
	}
}

func (r *feedReport) failed(err error) {
	if err != nil {
		r.log.Warn("how the feed stands is not known", "run", r.run, "feed", r.feed, "error", err)
	}
}

func (r *feedReport) once(ctx context.Context, message string, always bool) error {
	c, err := r.src.Counts(ctx)
	if err != nil {
		return err
	}
	version, err := r.src.Version(ctx)
	if err != nil {
		return err
	}
	if c == r.last && !always {
		return nil
	}
	r.last = c
	r.log.Info(message, "run", r.run, "feed", r.feed, "version", version, "connections", r.server.Connections(),
		"open", c.Open, "waiting", c.Waiting, "ready", c.Ready, "held", c.Held, "delivered", c.Acked, "dropped", c.Dropped, "empty", c.Empty,
		"rows", c.Rows, "tokens", c.Tokens, "returned", c.Returned, "expired", c.Expired)
	return nil
}

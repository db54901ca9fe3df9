package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/feed"
	"github.com/hindsightrl/harness/teacher"
)

// trainObserver is what can be seen of harness train-feed from outside: metrics, and traces where they are
// asked for.
type trainObserver struct {
	registry *prometheus.Registry
	traces   *trainTraces // nil: none

	episodes atomic.Int64 // ended in this process
	steps    atomic.Int64

	ended     *prometheus.CounterVec
	stepsSeen prometheus.Counter
	failures  *prometheus.CounterVec
	held      prometheus.Counter
	started   prometheus.Counter
	feed      *feedMetrics
	gone      prometheus.Counter
	score     prometheus.Histogram
	asked     *prometheus.CounterVec
	failed    prometheus.Counter
	credit    prometheus.Histogram
	toReady   prometheus.Histogram
	reload    *prometheus.HistogramVec
	loaded    prometheus.Gauge
}

func newTrainObserver(ctx context.Context, traces string, now func() time.Time, counts func(context.Context) (harness.FeedCounts, error)) (*trainObserver, error) {
	r := prometheus.NewRegistry()
	o := &trainObserver{registry: r}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "hindsight", Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "hindsight", Name: name, Help: help}, []string{label})
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "hindsight", Name: name, Help: help, Buckets: buckets})
		r.MustRegister(h)
		return h
	}
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	o.ended = counters("episodes_total", "Episodes that ended, by result: won, lost, failed.", "result")
	o.stepsSeen = counter("steps_total", "Steps that were recorded.")
	o.failures = counters("attempt_failures_total", "Attempts and calls that failed, by kind.", "kind")
	o.held = counter("paced_seconds_total", "Time that starts of groups were held back for the trainer.")
	o.started = counter("groups_started_total", "Groups that were let start.")
	o.feed = newFeedMetrics(r, counts)
	o.gone = counter("groups_dropped_total", "Finished groups that were given up: too stale, or without a signal.")
	o.score = histogram("score_seconds", "Time to score one chunk of groups.", seconds)
	o.asked = counters("score_answers_total", "Answers of the teacher, by source: asked or cached.", "source")
	o.failed = counter("score_failures_total", "Times that scoring failed and was tried again.")
	o.credit = histogram("credit_seconds", "Time to give one group credit.", seconds)
	o.toReady = histogram("ready_seconds", "Time from the end of a group's last episode until it can be leased.", seconds)
	o.reload = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "hindsight", Name: "reload_seconds", Help: "Time to load a version into the policy server, by result: ok or failed.", Buckets: seconds,
	}, []string{"result"})
	o.loaded = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "hindsight", Name: "loaded_version", Help: "Version that the policy server was last seen to load; -1 = none."})
	o.loaded.Set(-1)
	r.MustRegister(o.reload, o.loaded)
	var err error
	o.traces, err = newTrainTraces(ctx, traces, now)
	return o, err
}

func (o *trainObserver) handler() http.Handler { return o.feed.handler() }

func (o *trainObserver) close() error { return o.traces.close() }

func (o *trainObserver) event(e agent.Event) {
	o.traces.event(e)
	switch e.Kind {
	case agent.EventStep:
		o.steps.Add(1)
		o.stepsSeen.Inc()
	case agent.EventCall, agent.EventAttempt:
		o.failures.WithLabelValues(string(e.Failure.Kind)).Inc()
	case agent.EventFinished:
		o.episodes.Add(1)
		result := "lost"
		if e.Outcome.Won {
			result = "won"
		}
		o.ended.WithLabelValues(result).Inc()
	case agent.EventFailed:
		o.episodes.Add(1)
		o.failures.WithLabelValues(string(e.Failure.Kind)).Inc()
		o.ended.WithLabelValues("failed").Inc()
	}
}

func (o *trainObserver) admitted(waited time.Duration) {
	o.started.Inc()
	o.held.Add(waited.Seconds())
}

// finished is told which groups are finished and not delivered.
func (o *trainObserver) finished(groups []int) { o.traces.finished(groups) }

func (o *trainObserver) scored(groups []int, began, ended time.Time, r teacher.Report, err error) {
	o.score.Observe(ended.Sub(began).Seconds())
	o.asked.WithLabelValues("asked").Add(float64(r.Calls))
	o.asked.WithLabelValues("cached").Add(float64(r.Cached))
	for _, g := range groups {
		o.traces.stage(g, "score", began, ended, err)
	}
}

func (o *trainObserver) crediting(group int) { o.traces.crediting(group) }

func (o *trainObserver) workFailed() { o.failed.Inc() }

func (o *trainObserver) credited(group, rows int, began, now, ended time.Time, known bool) {
	o.credit.Observe(now.Sub(began).Seconds())
	if known {
		o.toReady.Observe(now.Sub(ended).Seconds())
	}
	o.traces.credited(group, began, now)
}

func (o *trainObserver) dropped(group int) {
	o.gone.Inc()
	o.traces.over(group, "dropped")
}

func (o *trainObserver) reloaded(version int32, took time.Duration, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	} else {
		o.loaded.Set(float64(version))
	}
	o.reload.WithLabelValues(result).Observe(took.Seconds())
	o.traces.reload(version, took, err)
}

// sent is told what went out to a trainer.
func (o *trainObserver) sent(s feed.Sent) {
	o.feed.sent(s)
	o.traces.over(s.Group.Index, "sent")
}

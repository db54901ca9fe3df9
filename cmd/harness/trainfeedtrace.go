package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/hindsightrl/harness/agent"
)

// trainTraces follows each group from its first episode until a trainer has it:
//
//	group
//	├─ collect
//	│  └─ episode (one each)
//	├─ score
//	└─ credit
//
// and each reload. A nil *trainTraces traces nothing.
type trainTraces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	now      func() time.Time

	mu       sync.Mutex
	groups   map[int]*groupTrace
	episodes map[int64]trace.Span
}

type groupTrace struct {
	ctx     context.Context
	span    trace.Span
	collect trace.Span // nil once the group is finished
	inner   context.Context

	crediting bool   // its credit is being written, and is no stage yet
	how       string // how it ended meanwhile; "" where it did not
}

// maxTraced bounds the groups that are followed at a time: with a backlog that grows, the later ones are not.
const maxTraced = 4096

// newTrainTraces exports to an OTLP endpoint over HTTP; "" is none. An endpoint that does not answer costs
// spans, never the run.
func newTrainTraces(ctx context.Context, endpoint string, now func() time.Time) (*trainTraces, error) {
	if endpoint == "" {
		return nil, nil
	}
	if !strings.Contains(strings.TrimPrefix(strings.TrimPrefix(endpoint, "http://"), "https://"), "/") {
		endpoint += "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("export traces to %s: %w", endpoint, err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", "hindsight"), attribute.String("service.version", codeVersion()))
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &trainTraces{
		provider: p, tracer: p.Tracer("github.com/hindsightrl/harness/cmd/harness"), now: now,
		groups: map[int]*groupTrace{}, episodes: map[int64]trace.Span{},
	}, nil
}

// closeTraces bounds how long the last spans may take.
const closeTraces = 5 * time.Second

func (t *trainTraces) close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTraces)
	defer cancel()
	t.mu.Lock()
	for g := range t.groups {
		t.end(g, "left")
	}
	t.mu.Unlock()
	_ = t.provider.Shutdown(ctx) // a collector that is gone is no failure of the run
	return nil
}

// follow returns the trace of a group, which it begins where it is new. The caller holds mu.
func (t *trainTraces) follow(ref agent.Event) *groupTrace {
	g := t.groups[ref.Episode.Group]
	if g != nil || len(t.groups) >= maxTraced {
		return g
	}
	at := trace.WithTimestamp(t.now())
	g = &groupTrace{}
	g.ctx, g.span = t.tracer.Start(context.Background(), "group", at, trace.WithAttributes(
		attribute.Int("group", ref.Episode.Group), attribute.Int("round", ref.Episode.Round), attribute.String("task", ref.Episode.Task.Key())))
	g.inner, g.collect = t.tracer.Start(g.ctx, "collect", at)
	t.groups[ref.Episode.Group] = g
	return g
}

func (t *trainTraces) event(e agent.Event) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := trace.WithTimestamp(t.now())
	switch e.Kind {
	case agent.EventStarted:
		if g := t.follow(e); g != nil && t.episodes[e.Episode.ID] == nil {
			_, t.episodes[e.Episode.ID] = t.tracer.Start(g.inner, "episode", now, trace.WithAttributes(
				attribute.Int64("episode", e.Episode.ID), attribute.Int("sample", e.Episode.Sample)))
		}
	case agent.EventFinished, agent.EventFailed, agent.EventLeft:
		span := t.episodes[e.Episode.ID]
		if span == nil {
			return
		}
		delete(t.episodes, e.Episode.ID)
		if e.Outcome != nil {
			span.SetAttributes(attribute.Bool("won", e.Outcome.Won), attribute.Int("steps", e.Outcome.Steps), attribute.String("stop", string(e.Outcome.Stop)))
		}
		if e.Failure != nil {
			span.SetStatus(codes.Error, e.Failure.Error())
		}
		span.End(now)
	}
}

// finished ends the collecting of groups that have no episode left.
func (t *trainTraces) finished(groups []int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range groups {
		if g := t.groups[n]; g != nil && g.collect != nil {
			g.collect.End(trace.WithTimestamp(t.now()))
			g.collect = nil
		}
	}
}

// crediting keeps the trace of a group open until its stage "credit" is added: a trainer that waits can have
// the group before that.
func (t *trainTraces) crediting(group int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.groups[group]; g != nil {
		g.crediting = true
	}
}

// credited adds the stage "credit", and ends the trace where the group is with a trainer already.
func (t *trainTraces) credited(group int, began, ended time.Time) {
	t.stage(group, "credit", began, ended, nil)
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.groups[group]; g != nil {
		g.crediting = false
		if g.how != "" {
			t.end(group, g.how)
		}
	}
}

// stage adds a stage of a group that is over.
func (t *trainTraces) stage(group int, name string, began, ended time.Time, err error) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[group]
	if g == nil {
		return
	}
	_, span := t.tracer.Start(g.ctx, name, trace.WithTimestamp(began))
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(trace.WithTimestamp(ended))
}

// over ends the trace of a group.
func (t *trainTraces) over(group int, how string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.groups[group]; g != nil && g.crediting {
		g.how = how
		return
	}
	t.end(group, how)
}

func (t *trainTraces) end(group int, how string) {
	g := t.groups[group]
	if g == nil {
		return
	}
	delete(t.groups, group)
	now := trace.WithTimestamp(t.now())
	if g.collect != nil {
		g.collect.End(now)
	}
	g.span.SetAttributes(attribute.String("end", how))
	g.span.End(now)
}

func (t *trainTraces) reload(version int32, took time.Duration, err error) {
	if t == nil {
		return
	}
	now := t.now()
	_, span := t.tracer.Start(context.Background(), "reload", trace.WithTimestamp(now.Add(-took)), trace.WithAttributes(attribute.Int("version", int(version))))
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(trace.WithTimestamp(now))
}

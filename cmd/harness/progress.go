package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/hindsightrl/harness/agent"
)

// progress shows how a run goes: a bar with ETA and success rate so far on a terminal, a plain line
// now and then elsewhere. Event may be called from one goroutine at a time.
type progress interface {
	event(agent.Event)
	close()
}

// newProgress returns the progress for total episodes, or a silent one for --quiet.
func newProgress(g *globals, total int, quiet bool) progress {
	switch {
	case quiet || total == 0:
		return silent{}
	case g.interactive:
		return newBar(g.stderr, total)
	default:
		return &lines{w: g.stderr, now: g.now, total: total, started: g.now(), last: g.now()}
	}
}

type silent struct{}

func (silent) event(agent.Event) {}
func (silent) close()            {}

// tally counts what the bar and the lines both print.
type tally struct {
	mu                sync.Mutex
	done, won, failed int
	unused            int // places of trees that nobody took
	steps             int
}

func (t *tally) add(e agent.Event) (ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case agent.EventStep:
		t.steps++
	case agent.EventFinished:
		t.done++
		if e.Outcome.Won {
			t.won++
		}
		return true
	case agent.EventFailed:
		t.failed++
		return true
	case agent.EventUnused:
		t.unused++
		return true
	}
	return false
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := fmt.Sprintf("solved %s", percent(t.won, t.done))
	if t.failed > 0 {
		s += fmt.Sprintf(", %d failed", t.failed)
	}
	return s
}

type bar struct {
	tally
	p *mpb.Progress
	b *mpb.Bar
}

func newBar(w io.Writer, total int) *bar {
	b := &bar{}
	b.p = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(200*time.Millisecond))
	b.b = b.p.AddBar(int64(total),
		mpb.PrependDecorators(decor.Name("episodes "), decor.CountersNoUnit("%d/%d")),
		mpb.AppendDecorators(
			decor.Any(func(decor.Statistics) string { return b.String() }),
			decor.Name("  ETA "), decor.AverageETA(decor.ET_STYLE_GO),
		))
	return b
}

func (b *bar) event(e agent.Event) {
	if b.add(e) {
		b.b.Increment()
	}
}

// close leaves the last state of the bar on the screen, also when the run was stopped.
func (b *bar) close() {
	b.b.Abort(false)
	b.p.Wait()
}

// How often a plain progress line appears: soon at first, seldom in a run that takes the night, whose log is
// read by people.
const (
	lineEvery  = 5 * time.Second
	lineSeldom = 5 * time.Minute
)

// lineDue reports that a line is due: after a twentieth of the time that has passed, within the bounds.
func lineDue(started, last, now time.Time) bool {
	return now.Sub(last) >= min(max(lineEvery, now.Sub(started)/20), lineSeldom)
}

type lines struct {
	tally
	w             io.Writer
	now           func() time.Time
	total         int
	started, last time.Time
}

func (l *lines) event(e agent.Event) {
	l.add(e)
	if now := l.now(); lineDue(l.started, l.last, now) {
		l.last = now
		l.print(now)
	}
}

func (l *lines) close() { l.print(l.now()) }

func (l *lines) print(now time.Time) {
	l.mu.Lock()
	ended, steps := l.done+l.failed+l.unused, l.steps
	l.mu.Unlock()
	spent := now.Sub(l.started)
	eta := "-"
	if ended > 0 && ended < l.total {
		eta = (spent * time.Duration(l.total-ended) / time.Duration(ended)).Round(time.Second).String()
	}
	fmt.Fprintf(l.w, "%d/%d episodes, %s, %d steps, %s elapsed, ETA %s\n",
		ended, l.total, l.String(), steps, spent.Round(time.Second), eta)
}

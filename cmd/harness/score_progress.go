package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/hindsightrl/harness/teacher"
)

// scoreProgress shows how a teacher pass goes: a bar with ETA on a terminal, a line now and then elsewhere.
type scoreProgress interface {
	update(teacher.Progress)
	close()
}

func newScoreProgress(g *globals, quiet bool) scoreProgress {
	switch {
	case quiet:
		return silentScores{}
	case g.interactive:
		return &scoreBar{w: g.stderr}
	}
	return &scoreLines{w: g.stderr, now: g.now, started: g.now(), last: g.now()}
}

type silentScores struct{}

func (silentScores) update(teacher.Progress) {}
func (silentScores) close()                  {}

// scoreBar appears with the first work that is left to do.
type scoreBar struct {
	w   io.Writer
	mu  sync.Mutex
	now teacher.Progress
	p   *mpb.Progress
	b   *mpb.Bar
}

func (s *scoreBar) update(now teacher.Progress) {
	s.mu.Lock()
	s.now = now
	s.mu.Unlock()
	if s.b == nil {
		if now.Done == now.Total {
			return
		}
		s.p = mpb.New(mpb.WithOutput(s.w), mpb.WithWidth(40), mpb.WithRefreshRate(200*time.Millisecond))
		s.b = s.p.AddBar(int64(now.Total),
			mpb.PrependDecorators(decor.Name("groups × modes "), decor.CountersNoUnit("%d/%d")),
			mpb.AppendDecorators(
				decor.Any(func(decor.Statistics) string { return s.String() }),
				decor.Name("  ETA "), decor.AverageETA(decor.ET_STYLE_GO),
			))
	}
	s.b.SetCurrent(int64(now.Done))
}

// String is what stands behind the bar.
func (s *scoreBar) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d asked, %d known", s.now.Calls, s.now.Cached)
}

func (s *scoreBar) close() {
	if s.b != nil {
		s.b.Abort(false)
		s.p.Wait()
	}
}

type scoreLines struct {
	w             io.Writer
	now           func() time.Time
	started, last time.Time
	first         int
	began         bool
	latest        teacher.Progress
}

func (s *scoreLines) update(p teacher.Progress) {
	if !s.began {
		s.first, s.began = p.Done, true
	}
	s.latest = p
	if now := s.now(); lineDue(s.started, s.last, now) {
		s.last = now
		s.print(now)
	}
}

func (s *scoreLines) close() {
	if s.latest.Calls > 0 {
		s.print(s.now())
	}
}

func (s *scoreLines) print(now time.Time) {
	p, spent, eta := s.latest, now.Sub(s.started), "-"
	if done := p.Done - s.first; done > 0 && p.Done < p.Total {
		eta = (spent * time.Duration(p.Total-p.Done) / time.Duration(done)).Round(time.Second).String()
	}
	fmt.Fprintf(s.w, "%d/%d groups × modes, %d asked, %d known, %d tokens scored, %s elapsed, ETA %s\n",
		p.Done, p.Total, p.Calls, p.Cached, p.Tokens, spent.Round(time.Second), eta)
}

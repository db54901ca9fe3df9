package teacher

import (
	"fmt"
	"math"
	"sort"

	"github.com/hindsightrl/harness"
)

// Counter says how many tokens a teacher's prompt has.
type Counter func(messages []harness.Message) (int, error)

// shortest are the lengths in code points to which single texts are cut, after everything that can be
// dropped whole is gone.
var shortest = []int{8192, 4096, 2048, 1024, 512, 256, 128, 64}

// ladder is the order in which a context is shortened: what hurts least goes first.
//
//  1. the oldest steps of futures, all but the last: a future's end says how it went
//  2. the oldest steps of the successful trajectory, all but the last
//  3. other actions of the anchor group, from the last
//  4. the middle of long texts
//
// The prompt itself is never touched.
type ladder struct{ future, success, candidates int }

func (b *Batch) ladder(i int) (l ladder) {
	r, s, x := &b.x.records[i], b.mode, b.x
	switch {
	case s.future && s.anchor:
		for _, c := range x.candidatesOf(r.anchor) {
			for _, k := range []*record{c.solved, c.failed} {
				if k != nil {
					l.future = max(l.future, k.trajectory.shown(k.later, x.cfg.MaxFutureSteps)-1)
				}
			}
		}
	case s.future:
		l.future = max(0, r.trajectory.shown(r.later, x.cfg.MaxFutureSteps)-1)
	}
	if s.success {
		if t := x.successFor(r); t != nil {
			l.success = t.shown(0, x.cfg.MaxTrajectorySteps) - 1
		}
	}
	if s.anchor {
		l.candidates = len(x.candidatesOf(r.anchor)) - 1
	}
	return l
}

// rungs is the number of levels beyond the whole context.
func (l ladder) rungs() int { return l.future + l.success + l.candidates + len(shortest) }

func (l ladder) at(level int) cut {
	c := cut{future: min(level, l.future)}
	level -= c.future
	c.success = min(level, l.success)
	level -= c.success
	c.candidates = min(level, l.candidates)
	if level -= c.candidates; level > 0 {
		c.chars = shortest[level-1]
	}
	return c
}

// Fit writes out the context of row i within limit tokens, as count counts them; 0 means no limit. A
// context that is too long is shortened, from its least useful part on and no further than needed, and
// Left says what it lacks; its end is never cut off. Where nothing helps, it is TooLong and not available.
// count is called once for a context that fits, and a few times otherwise.
func (b *Batch) Fit(i, limit int, count Counter) (Context, error) {
	c := b.Context(i)
	if !c.Available || limit <= 0 {
		return c, nil
	}
	n, err := count(c.Messages)
	if err != nil {
		return Context{}, fmt.Errorf("count tokens of row %d: %w", i, err)
	}
	if c.Tokens = n; n <= limit {
		return c, nil
	}
	f := &fitting{b: b, row: i, ladder: b.ladder(i), limit: limit, count: count, written: map[int]Context{0: c}}
	level, err := f.search()
	if err != nil {
		return Context{}, fmt.Errorf("count tokens of row %d: %w", i, err)
	}
	if level > f.ladder.rungs() {
		c.Available, c.TooLong = false, true
		return c, nil
	}
	return f.written[level], nil
}

// fitting looks for the first level of a ladder that fits.
type fitting struct {
	b       *Batch
	row     int
	ladder  ladder
	limit   int
	count   Counter
	written map[int]Context // by level, counted
	err     error
}

// search starts where the share of tokens in the whole text lets it expect the answer, and goes from
// there in growing strides: a count may be a call to a server, and the first guess is mostly right.
func (f *fitting) search() (int, error) {
	top := f.ladder.rungs()
	whole := f.written[0]
	density := float64(whole.Tokens) / math.Max(1, float64(length(whole.Messages)))
	guess := 1 + sort.Search(top, func(level int) bool {
		return density*float64(length(f.write(level+1).Messages)) <= float64(f.limit)
	})
	guess = min(guess, top)
	low, high := 0, top+1 // low does not fit; high does, or is past the end
	for stride, at := 1, guess; low+1 < high && f.err == nil; stride *= 2 {
		if f.fits(at) {
			high = at
			at = max(at-stride, low+1)
		} else {
			low = at
			at = min(at+stride, high-1)
		}
		if high-low > 1 && (at <= low || at >= high) {
			at = (low + high) / 2
		}
	}
	return high, f.err
}

func (f *fitting) write(level int) Context {
	var p plan
	f.b.plan(&p, f.row, f.ladder.at(level))
	return f.b.write(f.row, &p)
}

func (f *fitting) fits(level int) bool {
	c, known := f.written[level]
	if !known {
		c = f.write(level)
		if c.Tokens, f.err = f.count(c.Messages); f.err != nil {
			return false
		}
		f.written[level] = c
	}
	return c.Tokens <= f.limit
}

func length(ms []harness.Message) int {
	n := 0
	for _, m := range ms {
		n += len(m.Content)
	}
	return n
}

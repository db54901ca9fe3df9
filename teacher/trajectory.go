package teacher

import (
	"strconv"
	"strings"
)

// cut says how much of a context is left out to make it fit; the zero value leaves everything in.
type cut struct {
	future     int // oldest steps of each future
	success    int // oldest steps of the successful trajectory
	candidates int // candidate actions other than the row's own, from the last
	chars      int // code points that a single text may have; 0 = all
}

// left counts what was left out.
func (l *LeftOut) add(o LeftOut) {
	l.FutureSteps += o.FutureSteps
	l.SuccessSteps += o.SuccessSteps
	l.Candidates += o.Candidates
	l.Characters += o.Characters
}

// writePiece writes one step's text in the configured format and returns the code points left out.
func (x *index) writePiece(b *strings.Builder, r *record, chars int) int {
	response, n := x.words.cutMiddle(x.responseOf(r), chars)
	frame, observation := x.words.step[0], ""
	if x.cfg.Format == FormatObservationAction {
		var m int
		frame = x.words.step[1]
		observation, m = x.words.cutMiddle(r.prompt, chars)
		n += m
	}
	frame.write(b, strconv.Itoa(r.step), observation, response)
	return n
}

// maxNumber is room for a step's number.
const maxNumber = 8

// pieceSize is how long a step's whole text is, its number apart.
func (x *index) pieceSize(r *record) int {
	if x.cfg.Format == FormatObservationAction {
		return x.words.step[1].size("", r.prompt, x.responseOf(r))
	}
	return x.words.step[0].size("", "", x.responseOf(r))
}

// render writes all steps of a trajectory, once.
func (x *index) render(t *trajectory) {
	if t.starts != nil {
		return
	}
	t.starts, t.ends = make([]int, len(t.rows)), make([]int, len(t.rows))
	var b strings.Builder
	size := len(t.rows) * (len(x.words.stepSeparator) + maxNumber)
	for _, r := range t.rows {
		size += x.pieceSize(r)
	}
	b.Grow(size)
	for i, r := range t.rows {
		if i > 0 {
			b.WriteString(x.words.stepSeparator)
		}
		t.starts[i] = b.Len()
		x.writePiece(&b, r, 0)
		t.ends[i] = b.Len()
	}
	t.joined = b.String()
}

// text is the text of rows[from:] of a trajectory: at most limit of them (0 = all), without the oldest
// drop but at least the last, each text within chars. It is "" where there are no rows, and says how many
// steps and characters were left out because of drop and chars.
func (x *index) text(t *trajectory, from, limit, drop, chars int) (text string, steps, characters int) {
	end := len(t.rows)
	if limit > 0 && end-from > limit {
		end = from + limit
	}
	if from >= end {
		return "", 0, 0
	}
	x.render(t)
	if drop == 0 && chars == 0 && end == len(t.rows) {
		return t.joined[t.starts[from]:], 0, 0 // the common case copies nothing
	}
	omitted := len(t.rows) - end
	steps = min(drop, end-from-1)
	from += steps
	var parts []string
	if steps > 0 {
		parts = append(parts, x.words.fill("trajectory_skipped", field{"count", steps}))
	}
	if chars == 0 {
		parts = append(parts, t.joined[t.starts[from]:t.ends[end-1]])
	} else {
		for _, r := range t.rows[from:end] {
			var b strings.Builder
			characters += x.writePiece(&b, r, chars)
			parts = append(parts, b.String())
		}
	}
	if omitted > 0 {
		parts = append(parts, x.words.fill("trajectory_omitted", field{"count", omitted}))
	}
	return strings.Join(parts, x.words.stepSeparator), steps, characters
}

// future is how a row's trajectory went on.
func (x *index) future(r *record, c cut) (string, LeftOut) {
	text, steps, chars := x.text(r.trajectory, r.later, x.cfg.MaxFutureSteps, c.future, c.chars)
	return text, LeftOut{FutureSteps: steps, Characters: chars}
}

// demonstration is a successful trajectory as a context shows it.
func (x *index) demonstration(t *trajectory, c cut) (string, LeftOut) {
	if c.success == 0 && c.chars == 0 {
		if t.demo == nil {
			text, _, _ := x.text(t, 0, x.cfg.MaxTrajectorySteps, 0, 0)
			t.demo = &text
		}
		return *t.demo, LeftOut{}
	}
	text, steps, chars := x.text(t, 0, x.cfg.MaxTrajectorySteps, c.success, c.chars)
	return text, LeftOut{SuccessSteps: steps, Characters: chars}
}

// shown is the number of steps that a text of rows[from:] shows under a limit.
func (t *trajectory) shown(from, limit int) int {
	n := len(t.rows) - from
	if limit > 0 {
		n = min(n, limit)
	}
	return n
}

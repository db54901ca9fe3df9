package teacher

import (
	"fmt"
	"strings"
	"sync"

	"github.com/hindsightrl/harness"
)

// Used says which sources a row's context rests on.
type Used struct {
	Feedback   bool `json:"feedback,omitempty"`
	Next       bool `json:"next_observation,omitempty"`
	Future     bool `json:"future_trajectory,omitempty"`
	Success    bool `json:"successful_trajectory,omitempty"`
	Anchor     bool `json:"anchor,omitempty"`
	Judge      bool `json:"judge,omitempty"`
	Privileged bool `json:"privileged,omitempty"` // the context holds what no agent could see
}

// LeftOut counts what a context does not show although its mode would, because it had to fit.
type LeftOut struct {
	FutureSteps  int `json:"future_steps,omitempty"`  // oldest steps of futures
	SuccessSteps int `json:"success_steps,omitempty"` // oldest steps of the successful trajectory
	Candidates   int `json:"candidates,omitempty"`    // other actions of the anchor group
	Characters   int `json:"characters,omitempty"`    // code points from the middle of long texts
}

// Context is what the teacher of one row sees.
type Context struct {
	Messages  []harness.Message `json:"messages"`
	Available bool              `json:"available"` // false: the row lacks what the mode needs, and Messages hold the prompt alone
	Used      Used              `json:"used"`
	Left      LeftOut           `json:"left_out"`
	TooLong   bool              `json:"too_long,omitempty"` // no shortening made it fit; Available is false
	Tokens    int               `json:"tokens,omitempty"`   // as the counter of Fit counted; 0 = not counted
}

// section is one titled part of a context.
type section struct {
	frame   *frame
	content string
}

// plan is a row's context before it is written out.
type plan struct {
	sections [3]section
	n        int
	used     Used
	left     LeftOut
}

// add appends a section unless its content is space alone.
func (p *plan) add(title *frame, content string, left LeftOut) bool {
	content = strip(content)
	if content == "" {
		return false
	}
	p.sections[p.n] = section{title, content}
	p.n++
	p.left.add(left)
	return true
}

// Batch is the contexts of a list of rows. It is not safe for concurrent use: texts that several rows
// share are written at first use.
type Batch struct {
	x     *index
	mode  sources
	plans []plan
}

// Build prepares the contexts of rows, which must hold whole task groups where the mode looks at other
// episodes (Mode.WholeGroup). The rows are kept and must not change.
func Build(rows []Row, cfg Config, t *Templates) (*Batch, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("build contexts: %w", err)
	}
	b := &Batch{x: newIndex(rows, cfg, newWording(t)), plans: make([]plan, len(rows))}
	b.mode = b.x.mode
	for i := range b.plans {
		b.plan(&b.plans[i], i, cut{})
	}
	return b, nil
}

// Len is the number of rows.
func (b *Batch) Len() int { return len(b.plans) }

// Available reports whether row i has a context: the reference's mask.
func (b *Batch) Available(i int) bool { return b.plans[i].n > 0 }

// Context writes out the context of row i, whole.
func (b *Batch) Context(i int) Context { return b.write(i, &b.plans[i]) }

// plan fills p, which must be empty.
func (b *Batch) plan(p *plan, i int, c cut) {
	r := &b.x.records[i]
	switch {
	case b.mode.judge:
		b.planJudged(p, r, c)
	case b.mode.anchor && b.mode.privileged:
		b.planLines(p, r, "privileged", func(r *record) string { return r.privileged }, c)
	case b.mode.anchor && b.mode.feedback && !b.mode.success:
		b.planLines(p, r, "immediate_feedback", func(r *record) string { return r.feedback }, c)
	case b.mode.anchor:
		b.planCandidates(p, r, c)
	default:
		if !b.planStep(p, r, c) {
			*p = plan{}
		}
	}
}

func (b *Batch) planJudged(p *plan, r *record, c cut) {
	text := r.row.Judged
	if b.mode.onSuccess {
		text = r.row.JudgedOnSuccess
	}
	p.used.Judge = b.addText(p, b.x.words.sections["trajectory_judge"], strip(text), c)
	p.used.Success = p.used.Judge && b.mode.onSuccess && r.row.JudgeHadSuccess
}

func (b *Batch) planLines(p *plan, r *record, source string, of func(*record) string, c cut) {
	text, left := b.x.anchorLines(r, of, c)
	if p.add(b.x.words.sections[source], text, left) {
		p.used.Anchor = true
		p.used.Feedback = !b.mode.privileged
		p.used.Privileged = b.mode.privileged
	}
}

// planCandidates shows what was tried from the anchor observation, and then the successful trajectory
// where the mode names one and there is one.
func (b *Batch) planCandidates(p *plan, r *record, c cut) {
	s := b.mode
	var success *trajectory
	if s.success {
		success = b.x.successFor(r)
	}
	if s.either {
		s.feedback = success == nil
	}
	text, left := b.x.candidatesText(r, s, c)
	if p.add(b.x.words.sections["anchor_candidates"], text, left) {
		p.used = Used{Anchor: true, Feedback: s.feedback, Next: s.next, Future: s.future}
	}
	if success != nil {
		text, left := b.x.demonstration(success, c)
		p.used.Success = p.add(b.x.words.success, text, left)
	}
}

// planStep shows the sources of the row itself: all that the mode names. It reports whether they are all
// there; otherwise p is of no use.
func (b *Batch) planStep(p *plan, r *record, c cut) (complete bool) {
	s, words := &b.mode, b.x.words
	complete = true
	if s.success {
		if success := b.x.successFor(r); success != nil {
			text, left := b.x.demonstration(success, c)
			p.used.Success = p.add(words.success, text, left)
		}
		if s.either && p.used.Success {
			return true
		}
		complete = p.used.Success || s.either
	}
	if s.future && complete {
		text, left := b.x.future(r, c)
		p.used.Future = p.add(words.future, text, left)
		complete = p.used.Future
	}
	if s.feedback && complete {
		p.used.Feedback = b.addText(p, words.feedback, r.feedback, c)
		complete = p.used.Feedback
	}
	if s.next && complete {
		p.used.Next = b.addText(p, words.next, r.next, c)
		complete = p.used.Next
	}
	if s.privileged && complete {
		p.used.Privileged = b.addText(p, words.sections["privileged"], r.privileged, c)
		complete = p.used.Privileged
	}
	return complete
}

func (b *Batch) addText(p *plan, title *frame, text string, c cut) bool {
	text, n := b.x.words.cutMiddle(text, c.chars)
	return p.add(title, text, LeftOut{Characters: n})
}

// write puts a plan behind the row's prompt. The messages before the last stay as they were.
func (b *Batch) write(i int, p *plan) Context {
	r := &b.x.records[i]
	text := r.prompt
	if p.n > 0 {
		text = b.text(r, p)
	}
	before := r.row.Prompt
	if len(before) > 0 {
		before = before[:len(before)-1]
	}
	messages := make([]harness.Message, 0, len(before)+1)
	messages = append(append(messages, before...), harness.Message{Role: "user", Content: text})
	return Context{Messages: messages, Available: p.n > 0, Used: p.used, Left: p.left}
}

// text is the message that a plan makes of the prompt.
func (b *Batch) text(r *record, p *plan) string {
	w := b.x.words
	sections := (p.n - 1) * len(w.separator)
	for i := range p.sections[:p.n] {
		sections += p.sections[i].frame.size(p.sections[i].content)
	}
	size := 0
	for _, part := range w.context {
		size += len(part.literal) + [...]int{0, len(r.prompt), sections}[part.slot+1]
	}
	out := room(size)
	defer rooms.Put(out)
	start := out.Len()
	for _, part := range w.context {
		out.WriteString(part.literal)
		switch part.slot {
		case 0:
			out.WriteString(r.prompt)
		case 1:
			for i := range p.sections[:p.n] {
				if i > 0 {
					out.WriteString(w.separator)
				}
				p.sections[i].frame.write(out, p.sections[i].content)
			}
		}
	}
	return out.String()[start:]
}

// rooms hold blocks of memory that texts are written into one after another: ten texts in one block cost
// less than each in its own. A block is freed when all its texts are.
var rooms = sync.Pool{New: func() any { return new(strings.Builder) }}

// roomSize is the size of such a block, in bytes.
const roomSize = 32 << 10

// room takes a block with room for a text of a size. What is written goes behind what is there.
func room(size int) *strings.Builder {
	out := rooms.Get().(*strings.Builder)
	if out.Cap()-out.Len() < size {
		out = new(strings.Builder)
		out.Grow(max(size, roomSize))
	}
	return out
}

package teacher

import (
	"cmp"
	"slices"
	"strings"
)

// candidate is one action tried from an anchor observation, with the rows that tried it by (step,
// batch order).
type candidate struct {
	action      string
	rows        []*record
	successes   int
	average     float64
	best, worst *record
	solved      *record // the best of the successful rows; nil where there is none
	failed      *record // the worst of the others; nil where there is none
}

// candidatesOf lists the actions of an anchor group, in the order in which rows first tried them in the
// batch: the first row by step counts, and its place in the batch.
func (x *index) candidatesOf(g *anchorGroup) []*candidate {
	if g.candidates != nil {
		return g.candidates
	}
	byAction := make(map[string]*candidate, len(g.rows))
	for _, r := range g.rows {
		action := x.actionOf(r)
		c := byAction[action]
		if c == nil {
			c = &candidate{action: action}
			byAction[action] = c
			g.candidates = append(g.candidates, c)
		}
		c.rows = append(c.rows, r)
	}
	slices.SortFunc(g.candidates, func(a, b *candidate) int { return cmp.Compare(a.rows[0].idx, b.rows[0].idx) })
	for _, c := range g.candidates {
		c.summarise()
	}
	return g.candidates
}

func (c *candidate) summarise() {
	returns := make([]float64, len(c.rows))
	for i, r := range c.rows {
		returns[i] = r.ret
		c.best, c.worst = better(c.best, r), worse(c.worst, r)
		if r.success {
			c.successes++
			c.solved = better(c.solved, r)
		} else {
			c.failed = worse(c.failed, r)
		}
	}
	c.average = mean(returns)
}

// order compares by return, then earlier step, then earlier row.
func order(a, b *record) int {
	return cmp.Or(cmp.Compare(a.ret, b.ret), cmp.Compare(b.step, a.step), cmp.Compare(b.idx, a.idx))
}

func better(a, b *record) *record {
	if a == nil || order(b, a) > 0 {
		return b
	}
	return a
}

func worse(a, b *record) *record {
	if a == nil || order(b, a) < 0 {
		return b
	}
	return a
}

// candidatesText is what was tried from a row's anchor observation. It is the same for all rows of the
// group, except where a cut keeps each row's own action.
func (x *index) candidatesText(r *record, s sources, c cut) (string, LeftOut) {
	g := r.anchor
	slot := 0
	if s.feedback {
		slot = 1
	}
	if c == (cut{}) {
		if g.texts[slot] == nil {
			text, _ := x.renderCandidates(x.candidatesOf(g), s, c)
			g.texts[slot] = &text
		}
		return *g.texts[slot], LeftOut{}
	}
	kept, skipped := x.keepCandidates(r, c.candidates)
	text, left := x.renderCandidates(kept, s, c)
	if skipped > 0 {
		text += x.words.candidateSeparator + x.words.fill("candidates_skipped", field{"count", skipped})
	}
	left.Candidates = skipped
	return text, left
}

// keepCandidates drops the last n actions, but never the row's own.
func (x *index) keepCandidates(r *record, n int) (kept []*candidate, skipped int) {
	all, own := x.candidatesOf(r.anchor), x.actionOf(r)
	kept = slices.Clone(all)
	for i := len(kept) - 1; i >= 0 && skipped < n; i-- {
		if kept[i].action != own {
			kept = slices.Delete(kept, i, i+1)
			skipped++
		}
	}
	return kept, skipped
}

func (x *index) renderCandidates(all []*candidate, s sources, c cut) (string, LeftOut) {
	var left LeftOut
	parts := make([]string, len(all))
	for i, k := range all {
		b := candidateText{x: x, cut: c}
		b.head(k)
		if s.feedback {
			b.outcomes("feedback", k.best.feedback, k.worst.feedback)
		}
		if s.next {
			b.outcomes("next", k.best.next, k.worst.next)
		}
		if s.future {
			b.future("candidate_success_future", k.solved)
			b.future("candidate_failed_future", k.failed)
		}
		parts[i] = strings.Join(b.lines, "\n")
		left.add(b.left)
	}
	return strings.Join(parts, x.words.candidateSeparator), left
}

// candidateText gathers the lines about one action.
type candidateText struct {
	x     *index
	cut   cut
	lines []string
	left  LeftOut
}

func (b *candidateText) line(key string, fields ...field) {
	b.lines = append(b.lines, b.x.words.fill(key, fields...))
}

func (b *candidateText) head(k *candidate) {
	action, n := b.x.words.cutMiddle(k.action, b.cut.chars)
	b.left.Characters += n
	b.line("candidate", field{"action", action}, field{"count", len(k.rows)}, field{"successes", k.successes}, field{"average_return", k.average})
	b.line("candidate_best", field{"outcome", b.x.outcome(k.best)})
	b.line("candidate_worst", field{"outcome", b.x.outcome(k.worst)})
}

// outcomes shows a text of the best and of the worst row; the second one only where it differs.
func (b *candidateText) outcomes(what, best, worst string) {
	if best != "" {
		b.titled("candidate_best_"+what, best)
	}
	if worst != "" && worst != best {
		b.titled("candidate_worst_"+what, worst)
	}
}

func (b *candidateText) titled(key, text string) {
	text, n := b.x.words.cutMiddle(text, b.cut.chars)
	b.left.Characters += n
	b.line(key)
	b.lines = append(b.lines, text)
}

// future shows how the attempt of one row went on; nothing where there is no such row.
func (b *candidateText) future(key string, r *record) {
	if r == nil {
		return
	}
	text, steps, n := b.x.text(r.trajectory, r.later, b.x.cfg.MaxFutureSteps, b.cut.future, b.cut.chars)
	if r.trajectory.shown(r.later, b.x.cfg.MaxFutureSteps) == 0 {
		text = b.x.words.noFuture
	}
	b.left.FutureSteps += steps
	b.left.Characters += n
	b.line(key)
	b.lines = append(b.lines, text)
}

func (x *index) outcome(r *record) string {
	if r == nil {
		return x.words.plain("outcome_unavailable")
	}
	label := "outcome_failure"
	if r.success {
		label = "outcome_success"
	}
	return x.words.fill("outcome", field{"label", x.words.plain(label)}, field{"reward", r.ret})
}

// anchorLines shows every different answer that each action got, one line each, actions in the order
// in which rows with an answer first tried them. of picks the answer from a row.
func (x *index) anchorLines(r *record, of func(*record) string, c cut) (string, LeftOut) {
	g := r.anchor
	if c == (cut{}) && g.lines != nil {
		return *g.lines, LeftOut{}
	}
	all := x.answersOf(g, of)
	own, left := x.actionOf(r), LeftOut{}
	for i := len(all) - 1; i >= 0 && left.Candidates < c.candidates; i-- {
		if all[i].action != own {
			all = slices.Delete(all, i, i+1)
			left.Candidates++
		}
	}
	var lines []string
	for _, a := range all {
		action, n := x.words.cutMiddle(a.action, c.chars)
		left.Characters += n
		for _, text := range a.texts {
			text, n := x.words.cutMiddle(text, c.chars)
			left.Characters += n
			lines = append(lines, x.words.fill("anchor_feedback_line", field{"action", action}, field{"feedback", text}))
		}
	}
	if left.Candidates > 0 {
		lines = append(lines, x.words.fill("candidates_skipped", field{"count", left.Candidates}))
	}
	text := strings.Join(lines, "\n")
	if c == (cut{}) {
		g.lines = &text
	}
	return text, left
}

// answers are the different answers that one action got, in order.
type answers struct {
	action string
	first  int // batch index of the first row with an answer
	texts  []string
	seen   map[string]bool
}

func (x *index) answersOf(g *anchorGroup, of func(*record) string) []*answers {
	byAction := make(map[string]*answers)
	var all []*answers
	for _, r := range g.rows {
		text := of(r)
		if text == "" {
			continue
		}
		action := x.actionOf(r)
		a := byAction[action]
		if a == nil {
			a = &answers{action: action, first: r.idx, seen: make(map[string]bool)}
			byAction[action] = a
			all = append(all, a)
		}
		if !a.seen[text] {
			a.seen[text] = true
			a.texts = append(a.texts, text)
		}
	}
	slices.SortFunc(all, func(a, b *answers) int { return cmp.Compare(a.first, b.first) })
	return all
}

package teacher

import (
	"context"
	"encoding/json"

	"github.com/hindsightrl/harness"
)

// save writes each mode's rows.
func (g *groupWork) save(ctx context.Context) error {
	if g.p.opt.Student == StudentRecorded {
		var cols []harness.LogprobColumn
		for _, w := range g.steps {
			if w.student.Values != nil {
				cols = append(cols, w.student)
			}
		}
		if err := g.p.ledger.AddLogprobs(ctx, cols); err != nil {
			return err
		}
	}
	for _, m := range g.modes {
		var rows []harness.StepScore
		for _, a := range g.asks {
			if a.mode == m {
				rows = append(rows, a.score())
			}
		}
		pass := &g.p.passes[m]
		if err := g.p.ledger.SaveScores(ctx, pass.ID, g.group.Index, fingerprint(g.group, Mode(pass.Mode)), rows); err != nil {
			return err
		}
		g.p.count(func(t *totals) { t.done++ })
	}
	return nil
}

// leftOut is what a row says about a context that is not whole.
type leftOut struct {
	LeftOut
	Truncated int `json:"truncated_tokens,omitempty"` // taken off the end, under serl-compat truncation
}

func (a *ask) score() harness.StepScore {
	r := harness.StepScore{Attempt: a.step.episode.Attempt, Step: a.step.step.Index, Status: a.status, PromptTokens: a.context.Tokens}
	if a.status != harness.ScoreDone {
		r.PromptTokens = 0
		return r
	}
	r.Student, r.Teacher, r.ActionMask = a.step.student, a.column, a.step.mask
	if left := (leftOut{a.context.Left, a.cut}); left != (leftOut{}) {
		raw, err := json.Marshal(left)
		if err != nil { // numbers
			panic(err)
		}
		r.LeftOut = raw
	}
	return r
}

// show hands every context of a dry run over.
func (g *groupWork) show(asks []*ask) {
	g.p.count(func(t *totals) {
		for _, a := range asks {
			status := a.status
			if status == "" {
				status = harness.ScoreDone
			}
			t.dry[a.mode].Rows[status]++
			if status != harness.ScoreDone {
				continue
			}
			c := &t.dry[a.mode]
			c.Tokens += len(a.step.step.Tokens.IDs)
			c.Prompts += len(a.ids)
			if a.context.Left != (LeftOut{}) || a.cut > 0 {
				c.Shortened++
			}
			before := c.Marked
			for _, m := range a.step.mask {
				if m {
					c.Marked++
				}
			}
			if c.Marked == before {
				c.NoAction++
			}
			if g.p.opt.Contexts != nil {
				g.p.opt.Contexts(Shown{
					Mode: Mode(g.p.passes[a.mode].Mode), Episode: a.step.episode.EpisodeRef, Step: a.step.step.Index, Context: a.context,
					Student: len(a.step.prompt.recorded), Tokens: len(a.ids), Answer: len(a.step.step.Tokens.IDs),
				})
			}
		}
	})
}

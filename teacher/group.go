package teacher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/llm"
)

// groupWork is a group on its way through a pass.
type groupWork struct {
	p        *passRun
	group    harness.ScoreGroup
	modes    []int // indices into p.passes of those that are not up to date
	episodes []harness.GroupEpisode
	rows     []Row
	steps    []*stepWork // one per row
	asks     []*ask      // by row, then mode: neighbours share their beginning
}

// stepWork is one step with what all modes share.
type stepWork struct {
	episode *harness.GroupEpisode
	step    *harness.Step
	status  harness.ScoreStatus // "" = it can be scored
	prompt  studentPrompt
	mask    []bool
	student harness.LogprobColumn // without values until they are known
}

// ask is a step under one mode.
type ask struct {
	mode    int
	step    *stepWork
	row     int
	context Context
	status  harness.ScoreStatus
	ids     []int32 // the teacher's prompt
	cut     int     // tokens that serl-compat truncation took off
	column  harness.LogprobColumn
}

// run scores the group in all modes that need it.
func (g *groupWork) run(ctx context.Context) error {
	var err error
	if g.episodes, err = g.p.ledger.GroupEpisodes(ctx, g.p.opt.RunID, g.group.Index); err != nil {
		return err
	}
	g.rows = rowsOf(g.group.Index, g.episodes, g.p.opt.Judge)
	for i := range g.episodes {
		for k := range g.episodes[i].Steps {
			g.steps = append(g.steps, &stepWork{episode: &g.episodes[i], step: &g.episodes[i].Steps[k]})
		}
	}
	if err := g.prepare(ctx); err != nil {
		return err
	}
	if err := g.p.selfCheck(ctx, g.steps); err != nil {
		return err
	}
	batches, err := g.contexts()
	if err != nil {
		return err
	}
	// A long prompt is written, rendered and asked, and then forgotten: only its numbers stay.
	for chunk := range slices.Chunk(g.asks, asksAtOnce) {
		if err := g.render(ctx, chunk, batches); err != nil {
			return err
		}
		if err := g.answer(ctx, chunk); err != nil {
			return err
		}
	}
	if g.p.opt.DryRun {
		g.p.count(func(t *totals) { t.done += len(g.modes) })
		return nil
	}
	return g.save(ctx)
}

// asksAtOnce bounds how many prompts a group holds in memory.
const asksAtOnce = 512

// each runs f for the numbers below n, as many at once as the pass may have calls in flight.
func (g *groupWork) each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(g.p.opt.Concurrency)
	for i := range n {
		eg.Go(func() error {
			if err := g.p.enter(ctx); err != nil {
				return err
			}
			defer g.p.leave()
			return f(ctx, i)
		})
	}
	return eg.Wait()
}

// prepare renders each step's prompt, marks its action tokens and says which steps cannot be scored.
func (g *groupWork) prepare(ctx context.Context) error {
	return g.each(ctx, len(g.steps), func(ctx context.Context, i int) error {
		w := g.steps[i]
		t := w.step.Tokens
		switch {
		case t == nil || t.IDs == nil:
			w.status = harness.ScoreNoTokens
			return nil
		case len(t.IDs) == 0:
			w.status = harness.ScoreEmpty
			return nil
		case g.p.opt.Student == StudentRecorded && t.Logprobs == nil:
			w.status = harness.ScoreNoLogprobs
			return nil
		}
		var err error
		if w.prompt, err = renderStudent(ctx, g.p.engine, w.step); err != nil {
			return g.locate(w, err)
		}
		w.mask, err = g.p.masks.mask(ctx, w.step)
		if bad := (*misalignedError)(nil); errors.As(err, &bad) {
			g.p.opt.Log.Debug("response is not spelled by the teacher's tokenizer", "episode", w.episode.ID, "step", w.step.Index, "reason", bad.err)
			w.status = harness.ScoreMisaligned
			return nil
		}
		return g.locate(w, err)
	})
}

func (g *groupWork) locate(w *stepWork, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("episode %d, step %d: %w", w.episode.ID, w.step.Index, err)
}

// contexts builds every mode's contexts and lists what is to be asked.
func (g *groupWork) contexts() (map[int]*Batch, error) {
	batches := make(map[int]*Batch, len(g.modes))
	for _, m := range g.modes {
		b, err := Build(g.rows, g.p.opt.Modes[m], g.p.opt.Templates)
		if err != nil {
			return nil, err
		}
		batches[m] = b
		for i, w := range g.steps {
			a := &ask{mode: m, step: w, row: i, status: w.status}
			if a.status == "" && !b.Available(i) {
				a.status = harness.ScoreNoContext
			}
			g.asks = append(g.asks, a)
		}
	}
	slices.SortStableFunc(g.asks, func(a, b *ask) int { return cmp.Compare(a.row, b.row) })
	return batches, nil
}

// render renders the prompts of asks.
func (g *groupWork) render(ctx context.Context, asks []*ask, batches map[int]*Batch) error {
	var fitting sync.Mutex // shortening writes texts that the rows of a batch share
	return g.each(ctx, len(asks), func(ctx context.Context, i int) error {
		a := asks[i]
		if a.status != "" {
			return nil
		}
		err := g.renderOne(ctx, a, batches[a.mode], &fitting)
		if g.p.opt.Contexts == nil {
			a.context.Messages = nil
		}
		return g.locate(a.step, err)
	})
}

// renderOne turns a context into ids, shortened where it is too long.
func (g *groupWork) renderOne(ctx context.Context, a *ask, b *Batch, fitting *sync.Mutex) error {
	a.context = b.Context(a.row)
	ids, err := g.p.engine.Render(ctx, a.context.Messages)
	if err != nil {
		return fmt.Errorf("render teacher prompt (%s): %w", b.x.cfg.Mode, err)
	}
	limit := g.p.limit(len(a.step.step.Tokens.IDs))
	if limit > 0 && len(ids) > limit {
		if g.p.opt.Truncation == TruncateCompat {
			if g.p.opt.MaxPrompt > limit {
				a.status = harness.ScoreTooLong
				return nil
			}
			a.cut, ids = len(ids)-limit, ids[:limit]
			a.ids, a.context.Tokens = ids, limit
			return nil
		}
		fitting.Lock()
		a.context, err = b.Fit(a.row, limit, func(ms []harness.Message) (int, error) {
			ids, err := g.p.engine.Render(ctx, ms)
			return len(ids), err
		})
		fitting.Unlock()
		if err != nil {
			return err
		}
		if !a.context.Available {
			a.status = harness.ScoreTooLong
			return nil
		}
		if ids, err = g.p.engine.Render(ctx, a.context.Messages); err != nil {
			return err
		}
	}
	var ok bool
	if a.ids, ok = a.step.prompt.teacher(ids); !ok {
		a.status = harness.ScoreMisaligned
	}
	a.context.Tokens = len(a.ids)
	return nil
}

// question is a column of log-probabilities that somebody needs.
type question struct {
	key    harness.ContentKey
	prefix []int32
	answer []int32
}

// answer finds or asks the log-probabilities that asks need.
func (g *groupWork) answer(ctx context.Context, asks []*ask) error {
	questions := g.questions(asks)
	keys := make([]harness.ContentKey, len(questions))
	for i, q := range questions {
		keys[i] = q.key
	}
	known, err := g.p.ledger.Logprobs(ctx, keys)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(questions, func(q question) bool { _, ok := known[q.key]; return ok })
	g.p.count(func(t *totals) {
		t.cached += len(known)
		for _, q := range missing {
			t.missing++
			t.promptTokens += len(q.prefix)
			t.answerTokens += len(q.answer)
		}
	})
	if g.p.opt.DryRun {
		g.show(asks)
		return nil
	}
	var mu sync.Mutex
	keep := g.p.newKeeper(func(cols []harness.LogprobColumn) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range cols {
			known[c.Key] = c.Values
		}
	})
	err = g.each(ctx, len(missing), func(ctx context.Context, i int) error {
		q := missing[i]
		s, err := g.p.engine.Score(ctx, llm.ScoreRequest{Prefix: q.prefix, Continuation: q.answer})
		if err != nil {
			return err
		}
		if len(s.Logprobs) != len(q.answer) {
			return harness.FailFinal(harness.FailServer, "score", fmt.Errorf("%d log-probabilities for %d tokens", len(s.Logprobs), len(q.answer)))
		}
		g.p.count(func(t *totals) { t.calls++; t.scored += len(q.answer) })
		return keep.add(ctx, harness.LogprobColumn{Key: q.key, Values: s.Logprobs})
	})
	// What was answered is kept, also when something failed: the next try does not ask it again.
	if flushErr := keep.flush(context.WithoutCancel(ctx)); err == nil {
		err = flushErr
	}
	if err != nil {
		return fmt.Errorf("group %d: %w", g.group.Index, err)
	}
	return g.fill(asks, known)
}

// questions lists what must be known, each once, in order of rows.
func (g *groupWork) questions(asks []*ask) []question {
	var out []question
	seen := make(map[harness.ContentKey]bool)
	add := func(key harness.ContentKey, prefix, answer []int32) {
		if !seen[key] {
			seen[key] = true
			out = append(out, question{key, prefix, answer})
		}
	}
	for _, a := range asks {
		if a.status != "" {
			continue
		}
		ids := a.step.step.Tokens.IDs
		if a.step.student.Key == (harness.ContentKey{}) {
			if g.p.opt.Student == StudentScored {
				a.step.student.Key = logprobKey(g.p.teacher, a.step.prompt.recorded, ids)
			} else {
				a.step.student = recordedColumn(a.step.step.Tokens.Logprobs)
			}
		}
		if a.step.student.Values == nil {
			add(a.step.student.Key, a.step.prompt.recorded, ids)
		}
		a.column.Key = logprobKey(g.p.teacher, a.ids, ids)
		add(a.column.Key, a.ids, ids)
	}
	return out
}

// fill gives each row its columns, and lets go of its prompt.
func (g *groupWork) fill(asks []*ask, known map[harness.ContentKey][]float32) error {
	for _, a := range asks {
		if a.status != "" {
			continue
		}
		if a.step.student.Values == nil {
			a.step.student.Values = known[a.step.student.Key]
		}
		a.column.Values = known[a.column.Key]
		n := len(a.step.step.Tokens.IDs)
		if len(a.step.student.Values) != n || len(a.column.Values) != n {
			return g.locate(a.step, fmt.Errorf("%d student and %d teacher log-probabilities for %d tokens", len(a.step.student.Values), len(a.column.Values), n))
		}
		a.status, a.ids = harness.ScoreDone, nil
	}
	return nil
}

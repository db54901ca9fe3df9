package teacher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// ErrSelfCheck says that with an empty context the teacher does not give the student's own numbers. Scores of
// such a teacher would measure something else than the context.
var ErrSelfCheck = errors.New("self-check failed")

// SelfCheck is what a pass found when it asked the teacher with an empty context.
type SelfCheck struct {
	Rows      int     `json:"rows"`
	Tokens    int     `json:"tokens"`
	MaxDelta  float64 `json:"max_delta"`  // largest |teacher − student| of a token, nats
	MeanDelta float64 `json:"mean_delta"` // mean of it
	Tolerance float64 `json:"tolerance"`  // of MaxDelta
	Realigned int     `json:"realigned"`  // prompts that the teacher splits otherwise than the policy got them, with the same text
}

// checkRows is how many steps the self-check asks about.
const checkRows = 4

// selfCheck runs once per call of Score, on the first group that has steps to score; every group waits
// for it.
func (p *passRun) selfCheck(ctx context.Context, steps []*stepWork) error {
	p.noteVersions(steps)
	var rows []*stepWork
	misaligned := 0
	for _, w := range steps {
		switch w.status {
		case "":
			rows = append(rows, w)
		case harness.ScoreMisaligned:
			misaligned++
		}
	}
	if len(rows) == 0 {
		if misaligned > 0 {
			return foreignTokenizer(fmt.Sprintf("none of %d responses is spelled by its ids under the teacher's tokenizer", misaligned))
		}
		return nil
	}
	p.checkOnce.Do(func() { p.checkErr = p.check(ctx, spread(rows, checkRows)) })
	return p.checkErr
}

// spread picks at most n elements from first to last.
func spread[T any](v []T, n int) []T {
	if len(v) <= n {
		return v
	}
	out := make([]T, n)
	for i := range out {
		out[i] = v[i*(len(v)-1)/(n-1)]
	}
	return out
}

func (p *passRun) check(ctx context.Context, rows []*stepWork) error {
	c := SelfCheck{Tolerance: p.opt.Tolerance}
	sum := 0.0
	for _, w := range rows {
		if err := p.checkPrompt(ctx, w, &c); err != nil {
			return fmt.Errorf("episode %d, step %d: %w", w.episode.ID, w.step.Index, err)
		}
		if p.opt.DryRun {
			continue
		}
		student, teacher, err := p.bothScores(ctx, w)
		if err != nil {
			return fmt.Errorf("episode %d, step %d: %w", w.episode.ID, w.step.Index, err)
		}
		c.Rows++
		c.Tokens += len(student)
		for i := range student {
			d := math.Abs(float64(teacher[i]) - float64(student[i]))
			sum += d
			c.MaxDelta = math.Max(c.MaxDelta, d)
		}
	}
	if p.opt.DryRun {
		return nil
	}
	c.MeanDelta = sum / math.Max(1, float64(c.Tokens))
	p.count(func(t *totals) { t.check = &c })
	if c.MaxDelta <= c.Tolerance {
		return nil
	}
	return p.checkFailed(c)
}

func (p *passRun) checkFailed(c SelfCheck) error {
	err := fmt.Errorf("%w: behind the student's own prompt the teacher's log-probabilities differ by up to %.4g nats (mean %.4g) on %d tokens, more than the tolerance of %g",
		ErrSelfCheck, c.MaxDelta, c.MeanDelta, c.Tokens, c.Tolerance)
	switch {
	case p.opt.Student == StudentRecorded:
		return errext.WithHint(err, "the teacher is not the policy that was recorded: score the student in the same pass (--student scored), or raise --tolerance to measure the difference too")
	case c.Realigned > 0:
		return errext.WithHint(err, "the policy continued its prompts in token space and the teacher renders them anew: raise --tolerance if that difference is meant to be measured")
	}
	if p.opt.Teacher.Engine == "llama.cpp" {
		return errext.WithHint(err, "the engine does not repeat its own numbers: run the file in this process with --deterministic, or raise --tolerance")
	}
	return errext.WithHint(err, "the server does not repeat its own numbers: turn its prefix cache off, serve with one batch shape, or raise --tolerance")
}

// checkPrompt compares the policy's prompt ids with the teacher's rendering of the same messages.
func (p *passRun) checkPrompt(ctx context.Context, w *stepWork, c *SelfCheck) error {
	t := w.step.Tokens
	if p.opt.Student == StudentRecorded && t.Meta != nil && t.Meta.Mode == llm.ModeProcessed && !neutral(t.Meta) {
		return errext.WithHint(errors.New("the recorded log-probabilities are those of the sampler, after temperature and cut-offs"),
			"score the student in the same pass: --student scored")
	}
	if w.prompt.same() {
		return nil
	}
	texts := [2]string{}
	for i, ids := range [][]int32{w.prompt.recorded, w.prompt.rendered} {
		if bad := slices.IndexFunc(ids, func(id int32) bool {
			return id < 0 || p.opt.Teacher.VocabSize > 0 && int(id) >= p.opt.Teacher.VocabSize
		}); bad >= 0 {
			return foreignTokenizer(fmt.Sprintf("prompt id %d is outside the teacher's vocabulary of %d", ids[bad], p.opt.Teacher.VocabSize))
		}
		var err error
		if texts[i], err = p.engine.Detokenize(ctx, ids); err != nil {
			return fmt.Errorf("spell prompt: %w", err)
		}
	}
	if texts[0] == texts[1] {
		c.Realigned++
		return nil
	}
	at := 0
	for at < len(w.prompt.recorded) && at < len(w.prompt.rendered) && w.prompt.recorded[at] == w.prompt.rendered[at] {
		at++
	}
	return foreignTokenizer(fmt.Sprintf("the policy's prompt has %d ids, the teacher renders the same messages to %d, and they differ from id %d on",
		len(w.prompt.recorded), len(w.prompt.rendered), at))
}

func neutral(m *harness.TokenMeta) bool {
	return llm.Sampling{Temperature: m.Temperature, TopP: m.TopP, TopK: m.TopK, MinP: m.MinP}.Neutral()
}

func foreignTokenizer(what string) error {
	return errext.WithHint(fmt.Errorf("the teacher has another tokenizer or chat template than the policy: %s", what),
		"use a teacher of the policy's own model family, served with the same tokenizer and chat template")
}

// bothScores are a step's numbers without context, as the student's and as the teacher's.
func (p *passRun) bothScores(ctx context.Context, w *stepWork) (student, teacher []float32, err error) {
	ids := w.step.Tokens.IDs
	empty, ok := w.prompt.teacher(w.prompt.rendered)
	if !ok {
		return nil, nil, errors.New("the prompt has no end to put a context at")
	}
	ask := func(prefix []int32) ([]float32, error) {
		if err := p.enter(ctx); err != nil {
			return nil, err
		}
		defer p.leave()
		s, err := p.engine.Score(ctx, llm.ScoreRequest{Prefix: prefix, Continuation: ids})
		if err != nil {
			return nil, fmt.Errorf("self-check: %w", err)
		}
		if len(s.Logprobs) != len(ids) {
			return nil, harness.FailFinal(harness.FailServer, "self-check", fmt.Errorf("%d log-probabilities for %d tokens", len(s.Logprobs), len(ids)))
		}
		return s.Logprobs, nil
	}
	if teacher, err = ask(empty); err != nil {
		return nil, nil, err
	}
	if p.opt.Student == StudentRecorded {
		return w.step.Tokens.Logprobs, teacher, nil
	}
	student, err = ask(w.prompt.recorded)
	return student, teacher, err
}

// noteVersions remembers which policy versions the scored tokens came from.
func (p *passRun) noteVersions(steps []*stepWork) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &p.totals
	for _, w := range steps {
		if w.step.Tokens == nil {
			continue
		}
		for _, v := range w.step.Tokens.Versions {
			if !t.versions {
				t.low, t.high, t.versions = v, v, true
			}
			t.low, t.high = min(t.low, v), max(t.high, v)
		}
	}
}

package store

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness"
)

// FeedSteps reads the steps of a group's done episodes, by sample and turn, with what a credit pass and
// a teacher pass have about them (0: none). Texts are not read: they are most of the file.
func (s *Store) FeedSteps(ctx context.Context, runID int64, group int, credit, score int64) ([]harness.FeedStep, error) {
	const text = `SELECT e.id, e.sample, e.stop, e.won, e.reward, e.score, e.invalid, k.env, k.task, k.split, k.type, k.seed, k.hash,
		s.id, s.idx, s.reward, s.score, s.won, s.valid, sc.status, sc.n, sc.action_mask, ls.value, lt.value,
		c.base, c.factor, c.tokens, pa.episode_id, f.step, f.token, s.shared_id IS NOT NULL, s.spans,
		CASE WHEN t.lengths IS NULL THEN NULL WHEN typeof(o.response) = 'text' THEN octet_length(o.response) ELSE o.response END, ` + tokenColumns + `
		FROM groups g JOIN tasks k ON k.id = g.task_id JOIN episodes e ON e.group_id = g.id AND e.status = 'done'
		JOIN steps s ON s.attempt_id = e.attempt_id JOIN steps o ON o.id = coalesce(s.shared_id, s.id)
		LEFT JOIN forks f ON f.attempt_id = e.attempt_id LEFT JOIN attempts pa ON pa.id = f.parent_id
		LEFT JOIN tokens t ON t.step_id = coalesce(s.shared_id, s.id) LEFT JOIN token_meta m ON m.id = t.meta_id
		LEFT JOIN scores sc ON sc.pass_id = ?3 AND sc.step_id = s.id
		LEFT JOIN logprobs ls ON ls.id = sc.student_id LEFT JOIN logprobs lt ON lt.id = sc.teacher_id
		LEFT JOIN credits c ON c.pass_id = ?4 AND c.step_id = s.id
		WHERE g.run_id = ?1 AND g.idx = ?2 ORDER BY e.sample, s.idx`
	var (
		c   carry
		out []harness.FeedStep
	)
	for st, err := range query(ctx, s.db, fmt.Sprintf("read group %d of run %d for the feed", group, runID), text, []any{runID, group, score, credit},
		func(scan func(...any) error) (harness.FeedStep, error) { return scanFeedStep(scan, &c) }) {
		if err != nil {
			return nil, err
		}
		st.Group = group
		out = append(out, st)
	}
	return out, nil
}

func scanFeedStep(scan func(...any) error, c *carry) (f harness.FeedStep, err error) {
	var (
		tokens                       tokenRow
		status                       *string
		n                            *int
		mask                         []byte
		student, teacher, advantages cell
		base, factor                 *float64
		fork                         forkRow
		shared                       bool
		spans, response              cell
		targets                      = make([]any, 0, 64)
	)
	targets = append(targets, &f.Episode, &f.Sample, &f.Outcome.Stop, &f.Outcome.Won, &f.Outcome.Reward, &f.Outcome.Score, &f.Outcome.Invalid,
		&f.Task.Env, &f.Task.ID, &f.Task.Split, &f.Task.Type, &f.Task.Seed, &f.Task.Hash,
		&f.StepID, &f.Index, &f.Reward, &f.Score, &f.Won, &f.Valid, &status, &n, &mask, &student, &teacher, &base, &factor, &advantages,
		&fork.parent, &fork.step, &fork.token, &shared, &spans, &response)
	if err := scan(append(targets, tokens.targets()...)...); err != nil {
		return f, err
	}
	fail := func(err error) (harness.FeedStep, error) {
		return f, fmt.Errorf("episode %d, step %d: %w", f.Episode, f.Index, err)
	}
	if f.Index == 0 {
		*c = carry{ids: c.ids[:0], alone: true}
	}
	if f.Tokens, err = decodeTokens(&tokens, c); err != nil {
		return fail(err)
	}
	if f.Action, err = actionMask(f.Tokens, spans.v, response.v); err != nil {
		return fail(err)
	}
	f.Fork = fork.fork()
	f.Shared = sharedTokens(f.Index, shared, f.Tokens, f.Fork)
	if base != nil && factor != nil {
		f.Credit = &harness.StepCredit{Base: *base, Factor: *factor}
		if f.Credit.Tokens, err = takeFloat32s(advantages.v); err != nil {
			return fail(err)
		}
	}
	if status == nil || n == nil {
		return f, nil
	}
	f.Scored = &harness.StepScore{StepID: f.StepID, Episode: f.Episode, Step: f.Index, Status: harness.ScoreStatus(*status)}
	if f.Scored.Status != harness.ScoreDone {
		return f, nil
	}
	if f.Scored.Student.Values, err = takeFloat32s(student.v); err != nil {
		return fail(err)
	}
	if f.Scored.Teacher.Values, err = takeFloat32s(teacher.v); err != nil {
		return fail(err)
	}
	if f.Scored.ActionMask, err = unpackBits(mask, *n); err != nil {
		return fail(err)
	}
	return f, nil
}

// actionMask marks the tokens that printed the bytes of spans, as agent's masks do; nil where nobody said
// what each token printed, or said what does not add up to the response: a mask that is shifted by a token
// is worse than none. response is its number of bytes, or the text as it lies in the file.
func actionMask(t *harness.Tokens, spans, response any) ([]bool, error) {
	if t == nil || t.Lengths == nil {
		return nil, nil
	}
	size, ok := response.(int64)
	if !ok {
		text, err := textOf(response)
		if err != nil {
			return nil, fmt.Errorf("response: %w", err)
		}
		size = int64(len(text))
	}
	marked, err := spansOf(spans)
	if err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	offsets, at := make([]harness.Span, len(t.Lengths)), 0
	for i, n := range t.Lengths {
		if n < 0 {
			return nil, nil
		}
		offsets[i] = harness.Span{Start: at, End: at + int(n)}
		at += int(n)
	}
	if int64(at) != size {
		return nil, nil
	}
	return harness.MaskSpans(offsets, marked), nil
}

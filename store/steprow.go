package store

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"math"
	"sync"

	"github.com/hindsightrl/harness"
)

// carry is what a step leaves behind for the next step of its attempt, on the writing side and on
// the reading side alike: most of what a step begins with is what the step before ended with, and is
// stored as NULL or as a delta against it.
type carry struct {
	index      int    // of the next step
	prompt     []byte // packed NextPrompt
	admissible []byte // packed Next.Admissible
	anchor     string // Next's anchor text
	task       string // Next.Task
	ids        []byte // words of the prompt ids and ids
	alone      bool   // nobody else looks at ids, so that the next step's may take their place
}

const insertStep = `INSERT INTO steps (attempt_id, idx, action, valid, reward, score, won, done, spans, response, next_text,
	feedback, privileged, next_anchor, next_task, anchor, admissible, next_admissible, prompt, next_prompt, policy_ns, env_ns)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)`

// checkStep reports a step that the ledger's invariants exclude.
func checkStep(s *harness.Step, want int) error {
	if s.Index != want {
		return fmt.Errorf("step index is %d, the attempt's next is %d", s.Index, want)
	}
	if math.IsNaN(s.Reward) || math.IsNaN(s.Score) {
		return harness.FailFinal(harness.FailEnv, "check reward", fmt.Errorf("reward %v, score %v: not a number", s.Reward, s.Score))
	}
	if n := stepSize(s); n > maxBlob {
		return fmt.Errorf("the step holds %d bytes, the ledger takes %d", n, maxBlob)
	}
	if err := checkSpans(s.Spans, s.Response); err != nil {
		return err
	}
	if err := checkLengths(s.Tokens, s.Response); err != nil {
		return err
	}
	return checkTokens(s.Tokens)
}

// checkLengths reports tokens that did not print the response.
func checkLengths(t *harness.Tokens, response string) error {
	if t == nil || t.Lengths == nil {
		return nil
	}
	sum, bad := 0, false
	for _, n := range t.Lengths {
		sum, bad = sum+int(n), bad || n < 0
	}
	if !bad && sum == len(response) {
		return nil
	}
	_, err := t.Spans(response) // says what is wrong
	return err
}

// stepSize is the number of bytes of all that a step holds of texts and token ids.
func stepSize(s *harness.Step) int {
	n := promptSize(s.Prompt) + promptSize(s.NextPrompt) + len(s.Response) + len(s.Action) + len(s.Anchor) + len(s.Feedback) +
		len(s.Privileged) + len(s.Next.Text) + len(s.Next.Task) + len(s.Next.Anchor)
	for _, list := range [][]string{s.Admissible, s.Next.Admissible} {
		for _, a := range list {
			n += len(a) + 2
		}
	}
	if s.Tokens != nil {
		n += 4 * (len(s.Tokens.IDs) + len(s.Tokens.PromptIDs))
	}
	return n
}

// encodeStep returns the row of s after a step that left c, and what s leaves. c is not changed.
func encodeStep(attempt int64, s *harness.Step, c *carry) ([]driver.Value, carry) {
	first := s.Index == 0
	next := carry{
		index:      s.Index + 1,
		prompt:     packMessages(make([]byte, 0, promptSize(s.NextPrompt)), s.NextPrompt),
		admissible: packStrings(make([]byte, 0, len(c.admissible)+64), s.Next.Admissible),
		anchor:     s.Next.AnchorText(),
		task:       s.Next.Task,
	}
	tmp := scratches.Get().(*scratch)
	defer scratches.Put(tmp)
	admissible := packStrings(tmp.admissible[:0], s.Admissible)
	prompt := packMessages(tmp.prompt[:0], s.Prompt)
	base := promptBase(prompt, s, next.admissible)
	tmp.admissible, tmp.prompt = admissible, base // as grown
	prompt = base[:len(prompt):len(prompt)]
	row := []driver.Value{
		attempt, int64(s.Index), textValue(s.Action), s.Valid, s.Reward, s.Score, s.Won, s.Done, spansText(s.Spans),
		textValue(s.Response), textValue(s.Next.Text),
		textUnless(s.Feedback == s.Next.Text, s.Feedback), textValue(s.Privileged), textValue(s.Next.Anchor),
		textUnless(!first && s.Next.Task == c.task, s.Next.Task),
		textUnless(!first && s.Anchor == c.anchor, s.Anchor),
		frameUnless(!first && bytes.Equal(admissible, c.admissible), admissible, c.admissible),
		frameUnless(bytes.Equal(next.admissible, admissible), next.admissible, admissible),
		frameUnless(!first && bytes.Equal(prompt, c.prompt), prompt, c.prompt),
		frameUnless(bytes.Equal(next.prompt, prompt), next.prompt, base),
		int64(s.PolicyTime), int64(s.EnvTime),
	}
	return row, next
}

// scratch holds what encoding one step needs and nothing keeps.
type scratch struct{ prompt, admissible []byte }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// promptBase is what a next prompt is a delta against: the prompt, and the new texts that a template
// puts into the next one.
func promptBase(prompt []byte, s *harness.Step, nextAdmissible []byte) []byte {
	return append(append(append(prompt, s.Response...), s.Next.Text...), nextAdmissible...)
}

func promptSize(ms []harness.Message) int {
	n := 1
	for _, m := range ms {
		n += len(m.Role) + len(m.Content) + 8
	}
	return n
}

func textUnless(same bool, s string) driver.Value {
	if same {
		return nil
	}
	return textValue(s)
}

func frameUnless(same bool, raw, base []byte) driver.Value {
	if same {
		return nil
	}
	return frame(raw, base)
}

// stepColumns are what decodeStep reads, in its order, of a row that holds its own content (or, of a shared
// step, of the row that does).
const stepColumns = `c.idx, c.action, c.valid, c.reward, c.score, c.won, c.done, c.spans, c.response, c.next_text,
	c.feedback, c.privileged, c.next_anchor, c.next_task, c.anchor, c.admissible, c.next_admissible, c.prompt, c.next_prompt,
	c.policy_ns, c.env_ns`

// stepRow is a row of steps as it lies in the file.
type stepRow struct {
	idx, policyNS, envNS                                    int64
	valid, won, done                                        bool
	reward, score                                           float64
	action, spans, response, nextText, feedback, privileged any
	nextAnchor, nextTask, anchor                            any
	admissible, nextAdmissible, prompt, nextPrompt          []byte
}

func (r *stepRow) targets() []any {
	return []any{
		&r.idx, &r.action, &r.valid, &r.reward, &r.score, &r.won, &r.done, &r.spans, &r.response, &r.nextText,
		&r.feedback, &r.privileged, &r.nextAnchor, &r.nextTask, &r.anchor, &r.admissible, &r.nextAdmissible, &r.prompt, &r.nextPrompt,
		&r.policyNS, &r.envNS,
	}
}

// decodeStep is the inverse of encodeStep: it reads the row after a step that left c, and moves c on.
func decodeStep(r *stepRow, c *carry) (harness.Step, error) {
	s := harness.Step{
		Index: int(r.idx), Valid: r.valid, Reward: r.reward, Score: r.score, Won: r.won, Done: r.done,
	}
	if s.Index != c.index {
		return s, badBlob("step %d follows step %d", s.Index, c.index-1)
	}
	if err := decodeTexts(r, c, &s); err != nil {
		return s, err
	}
	first := s.Index == 0
	admissible, err := unframeOr(r.admissible, c.admissible, c.admissible, first)
	if err != nil {
		return s, fmt.Errorf("admissible: %w", err)
	}
	nextAdmissible, err := unframeOr(r.nextAdmissible, admissible, admissible, false)
	if err != nil {
		return s, fmt.Errorf("next_admissible: %w", err)
	}
	prompt, err := unframeOr(r.prompt, c.prompt, c.prompt, first)
	if err != nil {
		return s, fmt.Errorf("prompt: %w", err)
	}
	base := promptBase(bytes.Clone(prompt), &s, nextAdmissible)
	nextPrompt, err := unframeOr(r.nextPrompt, base, prompt, false)
	if err != nil {
		return s, fmt.Errorf("next_prompt: %w", err)
	}
	if s.Admissible, err = unpackStrings(admissible); err != nil {
		return s, fmt.Errorf("admissible: %w", err)
	}
	if s.Next.Admissible, err = unpackStrings(nextAdmissible); err != nil {
		return s, fmt.Errorf("next_admissible: %w", err)
	}
	if s.Prompt, err = unpackMessages(prompt); err != nil {
		return s, fmt.Errorf("prompt: %w", err)
	}
	if s.NextPrompt, err = unpackMessages(nextPrompt); err != nil {
		return s, fmt.Errorf("next_prompt: %w", err)
	}
	s.PolicyTime, s.EnvTime = nanoseconds(r.policyNS), nanoseconds(r.envNS)
	c.index, c.prompt, c.admissible = s.Index+1, nextPrompt, nextAdmissible
	c.anchor, c.task = s.Next.AnchorText(), s.Next.Task
	return s, nil
}

// decodeTexts fills the text columns. The order matters: feedback may stand for next_text.
func decodeTexts(r *stepRow, c *carry, s *harness.Step) (err error) {
	first := c.index == 0
	for _, t := range []struct {
		name string
		to   *string
		v    any
		same *string // what NULL stands for
	}{
		{"action", &s.Action, r.action, nil},
		{"response", &s.Response, r.response, nil},
		{"next_text", &s.Next.Text, r.nextText, nil},
		{"feedback", &s.Feedback, r.feedback, &s.Next.Text},
		{"privileged", &s.Privileged, r.privileged, nil},
		{"next_anchor", &s.Next.Anchor, r.nextAnchor, nil},
		{"next_task", &s.Next.Task, r.nextTask, before(first, &c.task)},
		{"anchor", &s.Anchor, r.anchor, before(first, &c.anchor)},
	} {
		if t.v == nil && t.same != nil {
			*t.to = *t.same
			continue
		}
		if *t.to, err = textOf(t.v); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if s.Spans, err = spansOf(r.spans); err != nil {
		return fmt.Errorf("spans: %w", err)
	}
	return nil
}

func before(first bool, s *string) *string {
	if first {
		return nil
	}
	return s
}

// unframeOr decodes a blob, or returns same for NULL; a first step has nothing that it could equal.
func unframeOr(blob, base, same []byte, first bool) ([]byte, error) {
	if blob == nil {
		if first {
			return nil, badBlob("NULL in a first step")
		}
		return same, nil
	}
	return unframe(blob, base)
}

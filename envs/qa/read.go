package qa

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/internal/answer"
	"github.com/hindsightrl/harness/internal/errext"
)

// row is a line of a file: its fields by lower-case name.
type row map[string]json.RawMessage

// Field names, the first that is there counts. They cover AIME and AMC collections ("Problem", "Answer",
// "ID"), MATH ("problem", "solution", "subject", "unique_id"), GSM8K ("question", "answer" with "####"),
// MMLU and ARC ("choices", "answerKey"), and what RL trainers pass around ("prompt", "data_source",
// "reward_model").
var (
	textFields   = []string{"question", "problem", "prompt", "query", "input", "instruction"}
	answerFields = []string{"answer", "final_answer", "expected_answer", "ground_truth", "gold", "target", "label", "answerkey"}
	idFields     = []string{"id", "unique_id", "problem_id", "question_id", "uid"}
	typeFields   = []string{"type", "subject", "category", "topic"}
	sourceFields = []string{"source", "data_source", "dataset"}
	optionFields = []string{"options", "choices"}
)

// Read reads questions from JSONL, or from a JSON array of the same objects. name is the file's, without
// folder and ending: the split of questions that name none, and the beginning of their ids. Errors name
// the line.
func Read(name string, data []byte) ([]Question, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '[' {
		var rows []json.RawMessage
		if err := json.Unmarshal(trimmed, &rows); err != nil {
			return nil, fmt.Errorf("read questions %q: %w", name, err)
		}
		return readRows(name, "element", rows)
	}
	lines := bytes.Split(data, []byte("\n"))
	rows := make([]json.RawMessage, len(lines))
	for i, l := range lines {
		rows[i] = bytes.TrimSpace(l)
	}
	return readRows(name, "line", rows)
}

func readRows(name, unit string, rows []json.RawMessage) ([]Question, error) {
	var out []Question
	at := map[string]int{}
	for i, raw := range rows {
		if len(raw) == 0 {
			continue
		}
		q, err := readRow(name, i+1, raw)
		if err == nil {
			if first, dup := at[q.ID]; dup {
				err = fmt.Errorf("the id %q is that of %s %d", q.ID, unit, first)
			}
			at[q.ID] = i + 1
		}
		if err != nil {
			err = errext.WithHint(err, `each line is an object such as {"question": "What is 2 + 2?", "answer": "4", "id": "1"}`)
			return nil, fmt.Errorf("read questions %q, %s %d: %w", name, unit, i+1, err)
		}
		out = append(out, q)
	}
	return out, nil
}

func readRow(name string, number int, raw json.RawMessage) (Question, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return Question{}, err
	}
	r := make(row, len(fields))
	for k, v := range fields {
		if string(v) != "null" {
			r[strings.ToLower(k)] = v
		}
	}
	text, err := r.text()
	if err != nil {
		return Question{}, err
	}
	q := Question{Text: text, Type: r.word(typeFields), Split: r.word([]string{"split"})}
	if q.Options, err = r.options(); err != nil {
		return q, err
	}
	if q.Answer, q.Known, err = r.answer(q.Options); err != nil {
		return q, err
	}
	if q.Type == "" {
		q.Type = r.word(sourceFields)
	}
	if q.Split == "" {
		q.Split = name
	}
	id := r.word(idFields)
	if id == "" {
		id = strconv.Itoa(number)
	}
	q.ID = name + "/" + id
	return q, nil
}

// first is the first of the fields that is there.
func (r row) first(names []string) (json.RawMessage, string) {
	for _, n := range names {
		if v, ok := r[n]; ok {
			return v, n
		}
	}
	return nil, ""
}

// word is a field's text, or its number as written; "" where there is none.
func (r row) word(names []string) string {
	v, _ := r.first(names)
	s, err := scalar(v)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

// scalar reads a string, a number as it is written, or a truth value.
func scalar(v json.RawMessage) (string, error) {
	if len(v) == 0 {
		return "", nil
	}
	switch v[0] {
	case '"':
		var s string
		err := json.Unmarshal(v, &s)
		return s, err
	case '{', '[':
		return "", fmt.Errorf("%.40s: want a text or a number", v)
	}
	return string(v), nil
}

// text is what is asked. A chat prompt's last user message is the question.
func (r row) text() (string, error) {
	v, name := r.first(textFields)
	if v == nil {
		return "", fmt.Errorf("no question: none of the fields %s", strings.Join(textFields, ", "))
	}
	if v[0] == '[' {
		var messages []struct{ Role, Content string }
		if err := json.Unmarshal(v, &messages); err != nil {
			return "", fmt.Errorf("field %q: %w", name, err)
		}
		v = nil
		for _, m := range messages {
			if m.Role == "user" {
				v, _ = json.Marshal(m.Content)
			}
		}
	}
	s, err := scalar(v)
	if err != nil {
		return "", fmt.Errorf("field %q: %w", name, err)
	}
	if s = strings.TrimSpace(s); s == "" {
		return "", fmt.Errorf("field %q is empty", name)
	}
	return s, nil
}

// answer is the reference answer: a field of its own, a trainer's ground truth, or what a worked
// solution ends with.
func (r row) answer(options []string) (text string, known bool, err error) {
	v, name := r.first(answerFields)
	if v == nil {
		var model struct {
			GroundTruth json.RawMessage `json:"ground_truth"`
		}
		if raw, ok := r["reward_model"]; ok && json.Unmarshal(raw, &model) == nil && len(model.GroundTruth) > 0 && string(model.GroundTruth) != "null" {
			v, name = model.GroundTruth, "reward_model.ground_truth"
		}
	}
	if v == nil {
		f := answer.Extract(r.word([]string{"solution", "rationale"}))
		return f.Text, f.How == answer.Boxed || f.How == answer.Stated, nil
	}
	if v[0] == '[' {
		text, err = joined(v)
	} else {
		text, err = scalar(v)
	}
	if err != nil {
		return "", false, fmt.Errorf("field %q: %w", name, err)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", false, nil
	}
	if i, err := strconv.Atoi(text); err == nil && v[0] != '"' && i >= 0 && i < len(options) {
		return letter(i), true, nil // an option by its number
	}
	// A worked solution in place of an answer says itself where the answer is.
	if f := answer.Extract(text); f.How == answer.Boxed || strings.Contains(text, "####") && f.How == answer.Stated {
		text = f.Text
	}
	return text, true, nil
}

// joined reads a list of answers as one: several are a set.
func joined(v json.RawMessage) (string, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(v, &all); err != nil {
		return "", err
	}
	parts := make([]string, len(all))
	for i, a := range all {
		var err error
		if parts[i], err = scalar(a); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, ", "), nil
}

// options reads a list of texts, an object of texts by letter, or {"text": [...], "label": [...]}.
func (r row) options() ([]string, error) {
	v, name := r.first(optionFields)
	if v == nil {
		return nil, nil
	}
	var list []json.RawMessage
	if v[0] == '{' {
		var by map[string]json.RawMessage
		if err := json.Unmarshal(v, &by); err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		if texts, ok := by["text"]; ok {
			v = texts
		} else {
			for i := range by {
				if len(i) != 1 || int(i[0]-'A') >= len(by) {
					return nil, fmt.Errorf("field %q: option %q is none of A to %s", name, i, letter(min(len(by), maxOptions)-1))
				}
			}
			for i := range len(by) {
				list = append(list, by[letter(i)])
			}
		}
	}
	if list == nil {
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, fmt.Errorf("field %q: want a list of texts: %w", name, err)
		}
	}
	if len(list) > maxOptions {
		return nil, fmt.Errorf("field %q: %d options, answers are read with the letters A to %s", name, len(list), letter(maxOptions-1))
	}
	out := make([]string, len(list))
	for i, o := range list {
		var err error
		if out[i], err = scalar(o); err != nil {
			return nil, fmt.Errorf("field %q: option %s: %w", name, letter(i), err)
		}
		if strings.TrimSpace(out[i]) == "" {
			return nil, fmt.Errorf("field %q: %w", name, errors.New("option "+letter(i)+" is empty"))
		}
	}
	return out, nil
}

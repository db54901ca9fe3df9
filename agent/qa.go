package agent

import (
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/answer"
)

// qaFormat asks a question once. The prompt after the answer is rendered as well: hindsight shows it.
var qaFormat = Format{
	First:    "agent_qa_first",
	Later:    "agent_qa",
	Turn:     "agent_qa_turn",
	MaxSteps: 1,
	Project:  ProjectQA,
	Spans:    AnswerSpans,
	Task:     func(first harness.Observation) string { return first.Task },
	Observe:  func(_ string, o harness.Observation) string { return o.Text },
	Actions:  quotedLines,
}

// ProjectQA is the rule for questions: the action is the final answer, in a box, in tags, or announced
// in words (see internal/answer), as written. A response that declares none gives its last choice
// letter or number, and is invalid; without any of these the action is "".
func ProjectQA(response string) (action string, valid bool) {
	f := answer.Extract(response)
	return strings.ToValidUTF8(f.Text, "\uFFFD"), f.How.Declared() && utf8.ValidString(response)
}

// AnswerSpans finds the bytes of a response that ProjectQA takes for the answer.
func AnswerSpans(response string) []harness.Span {
	f := answer.Extract(response)
	if f.How == answer.None {
		return nil
	}
	return []harness.Span{f.Span}
}

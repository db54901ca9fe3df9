package qa

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/answer"
)

// Name is the environment name of question tasks.
const Name = "qa"

// Question is one question. Two questions with the same ID in one suite are an error.
type Question struct {
	ID      string
	Text    string
	Options []string // of a multiple-choice question, in order: A, B, …
	Answer  string   // "" where it is not known
	Known   bool     // Answer is the reference answer
	Type    string   // subject or kind, the row of a summary table; "" where the data says nothing
	Split   string
}

// task describes the question to the harness. The hash covers what is asked and what is right.
func (q *Question) task() harness.Task {
	h := sha256.New()
	for _, s := range append([]string{q.Text, q.Answer, strconv.FormatBool(q.Known)}, q.Options...) {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return harness.Task{Env: Name, ID: q.ID, Split: q.Split, Type: q.Type, Hash: hex.EncodeToString(h.Sum(nil))}
}

// Prompt is the question as an agent reads it, with its options below.
func (q *Question) Prompt() string {
	if len(q.Options) == 0 {
		return q.Text
	}
	var b strings.Builder
	b.WriteString(q.Text)
	for i, o := range q.Options {
		fmt.Fprintf(&b, "\n(%s) %s", letter(i), o)
	}
	return b.String()
}

// maxOptions is the number of letters that answers are read with, A to J.
const maxOptions = 10

func letter(i int) string { return string(rune('A' + i)) }

// Right reports whether an answer is the question's. In a multiple-choice question the option's text
// counts as its letter. A question whose answer is not known has no right one.
func (q *Question) Right(given string, rules answer.Rules) bool {
	given = strings.TrimSpace(given)
	if !q.Known || given == "" {
		return false
	}
	if answer.Equal(given, q.Answer, rules) {
		return true
	}
	if rules.Exact || len(q.Options) == 0 {
		return false
	}
	return answer.Equal(q.lettered(given, rules), q.lettered(q.Answer, rules), rules)
}

// lettered is the letter of the only option that an answer equals; the answer itself where it equals
// none or several.
func (q *Question) lettered(given string, rules answer.Rules) string {
	found := given
	for i, o := range q.Options {
		if !answer.Equal(given, o, rules) {
			continue
		}
		if found != given {
			return given
		}
		found = letter(i)
	}
	return found
}

// referencePrefix begins what the environment keeps to itself about a question with a known answer.
const referencePrefix = "reference answer: "

// Reference reads the reference answer out of a step's Privileged text: it is how a recorded episode
// says what would have been right. known is false where the environment did not know.
func Reference(privileged string) (answer string, known bool) {
	return strings.CutPrefix(privileged, referencePrefix)
}

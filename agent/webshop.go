package agent

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hindsightrl/harness"
)

// separator stands between the parts of a page.
const separator = " [SEP] "

// blankQuery is the blank in WebShop's search action.
const blankQuery = "<your query>"

// webshopFormat prints what the reference prints, given the reference's templates.
// Source: OliverLeeXZ/SERL@5a2a85b agent_system/environments/env_manager.py:WebshopEnvironmentManager.
var webshopFormat = Format{
	First:     "agent_webshop_first",
	Later:     "agent_webshop",
	Turn:      "agent_webshop_turn",
	MaxSteps:  15,
	Project:   ProjectWebShop,
	Spans:     ExactSpans,
	Task:      webshopTask,
	Observe:   webshopObserve,
	Actions:   webshopActions,
	MaxPrompt: 13000,
	Concrete:  webshopConcrete,
}

// webshopTask is the third part of the first page, which follows "Instruction:"; where the page is of
// another form, the environment's own statement.
func webshopTask(first harness.Observation) string {
	parts := strings.Split(first.Text, separator)
	if len(parts) > 2 && parts[1] == "Instruction:" {
		return parts[2]
	}
	return first.Task
}

// webshopObserve prints the parts after the instruction, each in single quotes. A page without the
// instruction is printed as it is.
func webshopObserve(task string, o harness.Observation) string {
	parts := strings.Split(o.Text, separator)
	i := slices.Index(parts, task)
	if i < 0 {
		return o.Text
	}
	var b strings.Builder
	b.Grow(len(o.Text) + 2*len(parts))
	for j, p := range parts[i+1:] {
		if j > 0 {
			b.WriteString(separator)
		}
		b.WriteByte('\'')
		b.WriteString(p)
		b.WriteByte('\'')
	}
	return b.String()
}

// webshopActions prints each action in single quotes and with a comma, on a line of its own.
func webshopActions(admissible []string) string {
	var b strings.Builder
	for i, a := range admissible {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteByte('\'')
		b.WriteString(a)
		b.WriteString("',")
	}
	return b.String()
}

// webshopConcrete fills the search action's blank with up to four neighbouring words of the task.
func webshopConcrete(action, task string, r *rand.Rand) string {
	if !strings.Contains(action, blankQuery) {
		return action
	}
	words := strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(task))
	if len(words) == 0 {
		words = []string{"anything"}
	}
	n := 1 + r.IntN(min(4, len(words)))
	at := r.IntN(len(words) - n + 1)
	return strings.Replace(action, blankQuery, strings.Join(words[at:at+n], " "), 1)
}

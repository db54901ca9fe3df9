package agent

import (
	"math/rand/v2"

	"github.com/hindsightrl/harness"
)

// DefaultHistory is the number of past steps that a prompt shows: the reference's window.
const DefaultHistory = 2

// Format is how one environment talks to a policy: its prompts, how a response becomes an action, and
// its step limit. All functions are safe for concurrent use and depend on their arguments alone.
type Format struct {
	First    string // template key of the first step's prompt, and of every prompt without history
	Later    string // template key of the other prompts
	Turn     string // template key of what a conversation gains after each step
	MaxSteps int    // default step limit

	// Conversation makes every episode one growing chat, as Config.Conversation does for all formats: for
	// environments whose answers belong to the whole way and not to its last steps.
	Conversation bool

	// Project parses a response.
	Project Projection
	// Spans finds the bytes of a response that are the executable action.
	Spans func(response string) []harness.Span
	// Task is what the prompts call the task, from the first observation.
	Task func(first harness.Observation) string
	// Observe is how prompts and history show an observation of the task.
	Observe func(task string, o harness.Observation) string
	// Actions prints the actions that an observation offers.
	Actions func(admissible []string) string
	// MaxPrompt is the number of code points beyond which the history is dropped; 0 = no limit.
	MaxPrompt int
	// Concrete turns an admissible action with a blank in it into one that can be sent, for policies
	// that choose from the list; nil where every action is complete. task is Task's result.
	Concrete func(action, task string, r *rand.Rand) string
	// Respond writes an action as a response, for policies that have no model; nil is the function Respond.
	Respond func(thought, action string) string
}

// Formats maps environment names to formats. The entry "generic" serves every name without its own.
type Formats map[string]Format

// genericFormat is the entry of Formats for all other environments.
const genericFormat = "generic"

// DefaultFormats returns the built-in formats as a map of its own, to which further environments are
// added.
func DefaultFormats() Formats {
	return Formats{
		"alfworld":    alfworldFormat,
		"webshop":     webshopFormat,
		"swebench":    swebenchBash,
		"qa":          qaFormat,
		genericFormat: plainFormat,
	}
}

// For returns the format of an environment: its own entry, else "generic", else the built-in generic one.
func (f Formats) For(env string) Format {
	if own, ok := f[env]; ok {
		return own
	}
	if g, ok := f[genericFormat]; ok {
		return g
	}
	return plainFormat
}

// anchor is what makes two states of a task the same for anchor groups: the environment's own word,
// else the observation as the prompts show it, which is what the reference compares.
func (f Format) anchor(task string, o harness.Observation) string {
	if o.Anchor != "" {
		return o.Anchor
	}
	return f.Observe(task, o)
}

var plainFormat = Format{
	First:    "agent_generic_first",
	Later:    "agent_generic",
	Turn:     "agent_generic_turn",
	MaxSteps: 30,
	Project:  ProjectGeneric,
	Spans:    GenericSpans,
	Task:     func(first harness.Observation) string { return first.Task },
	Observe:  func(_ string, o harness.Observation) string { return o.Text },
	Actions:  quotedLines,
}

// quotedLines prints each action in single quotes on a line of its own.
func quotedLines(admissible []string) string {
	n := 0
	for _, a := range admissible {
		n += len(a) + 3
	}
	b := make([]byte, 0, n)
	for i, a := range admissible {
		if i > 0 {
			b = append(b, '\n')
		}
		b = append(b, '\'')
		b = append(b, a...)
		b = append(b, '\'')
	}
	return string(b)
}

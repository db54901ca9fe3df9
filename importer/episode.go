package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
)

// Episode is a rollout as a file holds it.
type Episode struct {
	Source  string             // where it stands: "traces.jsonl:3"
	Task    harness.Task       // rollouts of one task are one group
	Steps   []harness.Step     // one for each call of the model
	Outcome harness.Outcome    // unless it failed
	Failure *harness.Failure   // why it has no outcome; nil for one that ended
	Rest    []harness.Artifact // what has no place elsewhere
	Model   string             // who answered; "" = not said
}

// Notes count what a reader did other than copying: key says what, in words that follow a number
// ("episodes with …").
type Notes map[string]int

// Lines are the notes for people, sorted.
func (n Notes) Lines() []string {
	out := make([]string, 0, len(n))
	for what, count := range n {
		out = append(out, fmt.Sprintf("%d %s", count, what))
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(afterNumber(a), afterNumber(b)) })
	return out
}

func afterNumber(s string) string {
	for i := range len(s) {
		if s[i] == ' ' {
			return s[i:]
		}
	}
	return s
}

// Options say what files leave open. The zero value works.
type Options struct {
	// Env is the environment name of the tasks where a file names none. "" means the format's name.
	Env string
	// WonAt is the reward from which on an episode counts as won. 0 means 1.
	WonAt float64
	// Result finds what is known about an ATIF file beside it: its task and its reward. nil means nothing.
	Result func(file string, t Trajectory) (Result, error)
}

// won is the threshold.
func (o Options) won() float64 { return cmp.Or(o.WonAt, 1) }

// turn is a call of the model between what it saw and what followed.
type turn struct {
	prompt []harness.Message
	answer answer
	after  []harness.Message // until the next call, on the way that the episode took
	tokens *harness.Tokens
}

// assemble makes steps of turns. The reward of the whole comes with the last step, for no file says which
// action earned it.
func assemble(turns []turn, reward float64, stop harness.StopReason, won bool) ([]harness.Step, harness.Outcome) {
	steps := make([]harness.Step, len(turns))
	score := min(max(reward, 0), 1)
	for i, t := range turns {
		feedback := joined(t.after)
		next := append(slices.Clone(t.prompt), harness.Message{Role: roleAssistant, Content: t.answer.text})
		s := harness.Step{
			Index: i, Prompt: t.prompt, Response: t.answer.text, Action: t.answer.action, Valid: true, Spans: t.answer.spans,
			Anchor: seen(t.prompt), Feedback: feedback, NextPrompt: append(next, t.after...), Tokens: t.tokens,
			Next: harness.Observation{Text: feedback, Task: instruction(t.prompt)},
		}
		if i == len(turns)-1 {
			s.Reward, s.Score, s.Won, s.Done = reward, score, won, true
		}
		steps[i] = s
	}
	if stop == harness.StopFinished && won {
		stop = harness.StopWon
	}
	return steps, harness.Outcome{Stop: stop, Won: won, Reward: reward, Score: score, Steps: len(steps)}
}

// failed are the steps of an episode that has no outcome.
func failed(turns []turn) []harness.Step {
	steps, _ := assemble(turns, 0, harness.StopDone, false)
	if n := len(steps); n > 0 {
		steps[n-1].Done = false
	}
	return steps
}

// artifact keeps what is left of a record; nil where nothing is.
func artifact(name string, rest any, empty bool) ([]harness.Artifact, error) {
	if empty {
		return nil, nil
	}
	raw, err := json.Marshal(rest)
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", name, err)
	}
	return []harness.Artifact{{Name: name, Content: string(raw)}}, nil
}

package agent

import (
	"fmt"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/pyformat"
)

// Past is one step of a history: what was observed, as Format.Observe prints it, and the action taken.
type Past struct {
	Observation string
	Action      string
}

// Scene is what a prompt shows.
type Scene struct {
	Task        string // as Format.Task gives it
	History     []Past // every step so far, oldest first
	Window      int    // how many of them to show; 0 or less = none
	Observation harness.Observation
}

// Prompt renders the messages for the step that follows the history: one user message, as the
// reference has it. The first step's prompt has no history. An error is the fault of the templates.
func (f Format) Prompt(t *Templates, s Scene) ([]harness.Message, error) {
	values := promptValues{
		task:        s.Task,
		observation: f.Observe(s.Task, s.Observation),
		actions:     f.Actions(s.Observation.Admissible),
		steps:       len(s.History),
	}
	if len(s.History) == 0 || s.Window <= 0 {
		return t.user(f.First, &values)
	}
	recent := s.History[max(0, len(s.History)-s.Window):]
	values.shown = len(recent)
	var err error
	if values.history, err = t.history(recent, len(s.History)-len(recent)); err != nil {
		return nil, err
	}
	prompt, err := t.user(f.Later, &values)
	if err != nil {
		return nil, err
	}
	if f.MaxPrompt > 0 && utf8.RuneCountInString(prompt[0].Content) > f.MaxPrompt {
		values.history, values.shown = "", 0
		return t.user(f.First, &values)
	}
	return prompt, nil
}

// history renders the recent steps; before is the number of steps that came before them.
func (t *Templates) history(recent []Past, before int) (string, error) {
	line, err := t.get(keyHistoryLine)
	if err != nil {
		return "", err
	}
	separator, err := t.get(keyHistorySeparator)
	if err != nil {
		return "", err
	}
	var b []byte
	for i, p := range recent {
		if i > 0 {
			if b, err = separator.Append(b, noValue); err != nil {
				return "", fmt.Errorf("render %q: %w", keyHistorySeparator, err)
			}
		}
		b, err = line.Append(b, func(name string) any {
			switch name {
			case "step":
				return before + i + 1
			case "observation":
				return p.Observation
			case "action":
				return p.Action
			}
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("render %q: %w", keyHistoryLine, err)
		}
	}
	return string(b), nil
}

func noValue(string) any { return nil }

// user renders one template as a single user message.
func (t *Templates) user(key string, v *promptValues) ([]harness.Message, error) {
	p, err := t.get(key)
	if err != nil {
		return nil, err
	}
	size := len(p.Source()) + len(v.task) + len(v.history) + len(v.observation) + len(v.actions)
	text, err := p.Append(make([]byte, 0, size), v.get)
	if err != nil {
		return nil, fmt.Errorf("render %q: %w", key, err)
	}
	return []harness.Message{{Role: "user", Content: string(text)}}, nil
}

func (t *Templates) get(key string) (*pyformat.Template, error) {
	p := t.byKey[key]
	if p == nil {
		return nil, fmt.Errorf("no prompt template %q", key)
	}
	return p, nil
}

// promptValues fills the placeholders in promptFields.
type promptValues struct {
	task, history, observation, actions string
	steps, shown                        int
}

func (v *promptValues) get(name string) any {
	switch name {
	case "task_description":
		return v.task
	case "step_count":
		return v.steps
	case "history_length":
		return v.shown
	case "action_history":
		return v.history
	case "current_step":
		return v.steps + 1
	case "current_observation":
		return v.observation
	case "admissible_actions", "available_actions":
		return v.actions
	}
	return nil
}

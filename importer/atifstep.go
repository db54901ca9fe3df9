package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hindsightrl/harness"
)

// atifWalk goes through the steps of a trajectory.
type atifWalk struct {
	r     *Reader
	model string            // who answers where a step does not say
	asked string            // everything before the agent's first step
	past  []harness.Message // what a prompt holds
	turns []turn
	rests []fields // what is left of each step
}

func (w *atifWalk) steps(f fields) error {
	var raws []json.RawMessage
	if given, err := f.take("steps", &raws); err != nil {
		return err
	} else if !given || len(raws) == 0 {
		return at("steps", errors.New("missing"))
	}
	for i, raw := range raws {
		s, err := object(raw)
		if err == nil {
			err = w.step(s, i+1)
		}
		if err != nil {
			p := at(fmt.Sprintf("steps[%d]", i), err)
			return &place{p.(*place).where, &stepError{i, p.(*place).err}} //nolint:errorlint // at makes one
		}
		w.rests = append(w.rests, s)
	}
	return nil
}

// atifStep is a step's head.
type atifStep struct {
	source    string
	message   string
	reasoning string
	model     string
	copied    bool
	calls     *int // of the model behind the step; nil = not said
}

func (w *atifWalk) step(f fields, id int) error {
	var h atifStep
	var number int
	if _, err := f.take("step_id", &number); err != nil {
		return err
	}
	if number != id {
		return at("step_id", fmt.Errorf("%d: expected %d", number, id))
	}
	text, err := content(f["message"])
	if err != nil {
		return at("message", err)
	}
	h.message = text
	delete(f, "message")
	for name, into := range map[string]any{"source": &h.source, "reasoning_content": &h.reasoning, "is_copied_context": &h.copied, "llm_call_count": &h.calls} {
		if _, err := f.take(name, into); err != nil {
			return err
		}
	}
	if _, err := f.peek("model_name", &h.model); err != nil {
		return err
	}
	switch h.source {
	case roleSystem, roleUser:
		return w.said(f, h)
	case "agent":
		return w.acted(f, h)
	}
	return at("source", fmt.Errorf("unknown source %q", h.source))
}

// said is a step of the system or the user.
func (w *atifWalk) said(f fields, h atifStep) error {
	for _, name := range []string{"tool_calls", "metrics"} {
		if k := kind(f[name]); k != "nothing" && k != "null" {
			return at(name, fmt.Errorf("only an agent's step has it, and this one is the %s's", h.source))
		}
	}
	seen, err := observations(f)
	if err != nil {
		return err
	}
	var more []harness.Message
	if h.message != "" {
		more = append(more, harness.Message{Role: h.source, Content: h.message})
	}
	w.follow(append(more, seen...))
	return nil
}

// follow adds what came after the last answer, or before the first.
func (w *atifWalk) follow(ms []harness.Message) {
	w.past = append(w.past, ms...)
	if n := len(w.turns); n > 0 {
		w.turns[n-1].after = append(w.turns[n-1].after, ms...)
		return
	}
	for _, m := range ms {
		w.asked += m.Role + "\x00" + m.Content + "\x00"
	}
}

// acted is a step of the agent: a turn, unless no model was asked or an earlier trajectory has it already.
func (w *atifWalk) acted(f fields, h atifStep) error {
	calls, err := atifCalls(f)
	if err != nil {
		return err
	}
	seen, err := observations(f)
	if err != nil {
		return err
	}
	a := compose(h.reasoning, h.message, calls)
	said := harness.Message{Role: roleAssistant, Content: a.text}
	switch {
	case h.copied:
		w.r.notes["steps copied from an earlier trajectory: part of prompts alone"]++
	case h.calls != nil && *h.calls == 0:
		w.r.notes["steps of agents that asked no model: part of prompts alone"]++
	default:
		t := turn{prompt: slices.Clone(w.past), answer: a}
		if t.tokens, err = w.tokens(f, h); err != nil {
			return at("metrics", err)
		}
		if a.composed {
			w.r.notes[notePutTogether]++
		}
		w.model = firstOf(h.model, w.model)
		w.turns = append(w.turns, t)
		w.past = append(w.past, said)
		w.follow(seen)
		return nil
	}
	w.follow(append([]harness.Message{said}, seen...))
	return nil
}

// tokens takes the tokens of a step's metrics. What is left of the metrics stays in the rest.
func (w *atifWalk) tokens(f fields, h atifStep) (*harness.Tokens, error) {
	if k := kind(f["metrics"]); k == "nothing" || k == "null" {
		return nil, nil
	}
	m, err := object(f["metrics"])
	if err != nil {
		return nil, err
	}
	var t harness.Tokens
	for name, into := range map[string]any{"prompt_token_ids": &t.PromptIDs, "completion_token_ids": &t.IDs, "logprobs": &t.Logprobs} {
		if _, err := m.peek(name, into); err != nil {
			return nil, err
		}
	}
	if err := checkTokens(t.PromptIDs, "", nil); err != nil {
		return nil, err
	}
	switch {
	case len(t.IDs) == 0:
		if len(t.Logprobs) > 0 || len(t.PromptIDs) > 0 {
			w.r.notes["steps with log-probabilities or prompt ids but no completion_token_ids: they are in the artifact "+atifFile+" alone"]++
		}
		return nil, nil
	case h.calls != nil && *h.calls > 1:
		w.r.notes["steps of several model calls: their tokens are in the artifact "+atifFile+" alone"]++
		return nil, nil
	}
	if err := checkTokens(t.IDs, "logprobs", t.Logprobs); err != nil {
		return nil, err
	}
	for _, name := range []string{"prompt_token_ids", "completion_token_ids", "logprobs"} {
		delete(m, name)
	}
	delete(f, "metrics")
	return &t, f.put("metrics", map[string]fields{"rest": m})
}

// atifCalls takes tool_calls: {tool_call_id, function_name, arguments}.
func atifCalls(f fields) ([]toolCall, error) {
	var raws []json.RawMessage
	if _, err := f.take("tool_calls", &raws); err != nil {
		return nil, err
	}
	calls, rests := make([]toolCall, len(raws)), map[string]fields{}
	for i, raw := range raws {
		where := fmt.Sprintf("tool_calls[%d]", i)
		c, err := object(raw)
		if err != nil {
			return nil, at(where, err)
		}
		if given, err := c.take("function_name", &calls[i].name); err != nil || !given {
			return nil, at(where, at("function_name", errors.Join(err, errors.New("missing"))))
		}
		if calls[i].arguments = c["arguments"]; kind(calls[i].arguments) != "an object" {
			return nil, at(where, at("arguments", fmt.Errorf("%s is no object", kind(calls[i].arguments))))
		}
		delete(c, "arguments")
		rests[fmt.Sprint(i)] = c
	}
	return calls, f.put("tool_calls", rests)
}

// observations takes what tools or the environment answered.
func observations(f fields) ([]harness.Message, error) {
	raw := f["observation"]
	delete(f, "observation")
	if k := kind(raw); k == "nothing" || k == "null" {
		return nil, nil
	}
	o, err := object(raw)
	if err != nil {
		return nil, at("observation", err)
	}
	var raws []json.RawMessage
	if _, err := o.take("results", &raws); err != nil {
		return nil, at("observation", err)
	}
	var out []harness.Message
	rests := map[string]fields{}
	for i, raw := range raws {
		where := fmt.Sprintf("observation.results[%d]", i)
		c, err := object(raw)
		if err != nil {
			return nil, at(where, err)
		}
		text, err := content(c["content"])
		if err != nil {
			return nil, at(where, at("content", err))
		}
		delete(c, "content")
		role := roleUser
		if k := kind(c["source_call_id"]); k == "text" {
			role = roleTool
		}
		out = append(out, harness.Message{Role: role, Content: text})
		rests[fmt.Sprint(i)] = c
	}
	return out, f.put("observation", rests)
}

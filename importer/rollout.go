package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hindsightrl/harness"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// rollout reads a line of results.jsonl, as verifiers wrote them before traces: prompt, completion and reward,
// and the trajectory with its tokens where that was among the saved columns.
func (r *Reader) rollout(f fields) (*Episode, error) {
	var (
		example   json.RawMessage
		truncated bool
		condition string
		reward    *float64
		task      string
	)
	if given, err := f.take("example_id", &example); err != nil || !given {
		return nil, at("example_id", errors.Join(err, errors.New("missing: it tells which rollouts belong together")))
	}
	for name, into := range map[string]any{"is_truncated": &truncated, "stop_condition": &condition} {
		if _, err := f.peek(name, into); err != nil {
			return nil, err
		}
	}
	if _, err := f.take("reward", &reward); err != nil {
		return nil, err
	}
	if raw, ok := f["task"]; ok && kind(raw) == "text" { // an object is the task itself
		if _, err := f.peek("task", &task); err != nil {
			return nil, err
		}
	}
	turns, err := r.rolloutTurns(f)
	if err != nil {
		return nil, err
	}
	env := firstOf(r.opt.Env, task, FormatVerifiers)
	ep := &Episode{Task: harness.Task{Env: env, ID: trimQuotes(example)}}
	if err := r.rolloutEnd(ep, f, turns, reward, stopReason(condition, false, truncated)); err != nil {
		return nil, err
	}
	f.prune()
	r.keep("rollout", f)
	ep.Rest, err = artifact(verifiersFile, map[string]fields{"rollout": f}, len(f) == 0)
	return ep, err
}

// put gives f what is left of parts of a value that was taken, by index; nothing where nothing is left.
func (f fields) put(name string, rests map[string]fields) error {
	for i, rest := range rests {
		if rest.prune(); len(rest) == 0 {
			delete(rests, i)
		}
	}
	if len(rests) == 0 {
		return nil
	}
	raw, err := json.Marshal(rests)
	f[name] = raw
	return err
}

func trimQuotes(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (r *Reader) rolloutEnd(ep *Episode, f fields, turns []turn, reward *float64, stop harness.StopReason) error {
	if raw, ok := f["error"]; ok && kind(raw) != "null" {
		var e struct {
			Error    string `json:"error"`
			ChainStr string `json:"error_chain_str"`
		}
		if kind(raw) == "text" { // before 0.1.10
			if _, err := f.peek("error", &e.Error); err != nil {
				return err
			}
		} else if _, err := f.peek("error", &e); err != nil {
			return err
		}
		ep.Steps = failed(turns)
		ep.Failure = &harness.Failure{Kind: failureKind(e.Error), Op: firstOf(e.Error, "rollout"), Err: errors.New(firstOf(e.ChainStr, e.Error, "no message"))}
		return nil
	}
	if reward == nil {
		return at("reward", errors.New("missing"))
	}
	if len(turns) == 0 {
		return at("completion", errors.New("the model said nothing, and the rollout has a reward"))
	}
	ep.Steps, ep.Outcome = assemble(turns, *reward, stop, *reward >= r.opt.won())
	return nil
}

// rolloutTurns takes the turns from the trajectory, or else from the completion.
func (r *Reader) rolloutTurns(f fields) ([]turn, error) {
	prompt, err := messagesOf(f, "prompt", roleUser)
	if err != nil {
		return nil, err
	}
	said, err := messagesOf(f, "completion", roleAssistant)
	if err != nil {
		return nil, err
	}
	var steps []json.RawMessage
	if _, err := f.take("trajectory", &steps); err != nil {
		return nil, err
	}
	if len(steps) > 0 {
		turns, rests, err := r.trajectory(steps, said)
		if err != nil {
			return nil, err
		}
		return turns, f.put("trajectory", rests)
	}
	var turns []turn
	past := messages(prompt)
	for _, m := range said {
		switch {
		case m.msg.Role == roleAssistant:
			turns = append(turns, turn{prompt: slices.Clone(past), answer: m.answer})
			if m.answer.composed {
				r.notes[notePutTogether]++
			}
		case len(turns) == 0: // before the model said anything
		default:
			last := &turns[len(turns)-1]
			last.after = append(last.after, m.msg)
		}
		past = append(past, m.msg)
	}
	if len(turns) > 0 {
		r.notes["rollouts without a trajectory: they have no tokens"]++
	}
	return turns, nil
}

// said is a message with its parts.
type said struct {
	msg    harness.Message
	answer answer
}

func messages(all []said) []harness.Message {
	out := make([]harness.Message, len(all))
	for i, m := range all {
		out[i] = m.msg
	}
	return out
}

// messagesOf takes messages, or text, which is one message of the role.
func messagesOf(f fields, name, role string) ([]said, error) {
	raw := f[name]
	delete(f, name)
	switch kind(raw) {
	case "nothing", "null":
		return nil, nil
	case "text":
		var s string
		err := json.Unmarshal(raw, &s)
		a := compose("", s, nil)
		return []said{{harness.Message{Role: role, Content: s}, a}}, at(name, err)
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(raw, &raws); err != nil {
		return nil, at(name, fmt.Errorf("%s is neither text nor a list of messages", kind(raw)))
	}
	out := make([]said, len(raws))
	rests := map[string]fields{}
	for i, raw := range raws {
		m, err := object(raw)
		if err == nil {
			out[i].msg, out[i].answer, err = chatMessage(m)
		}
		if err != nil {
			return nil, at(fmt.Sprintf("%s[%d]", name, i), err)
		}
		rests[strconv.Itoa(i)] = m
	}
	return out, f.put(name, rests)
}

// trajectory reads the steps with their tokens, and what is left of each. What follows an answer is what the
// next prompt has more.
func (r *Reader) trajectory(raws []json.RawMessage, completion []said) ([]turn, map[string]fields, error) {
	turns, rests := make([]turn, len(raws)), map[string]fields{}
	for i, raw := range raws {
		f, err := object(raw)
		if err == nil {
			err = r.trajectoryStep(f, &turns[i])
		}
		if err != nil {
			return nil, nil, at(fmt.Sprintf("trajectory[%d]", i), err)
		}
		rests[strconv.Itoa(i)] = f
	}
	for i := range turns {
		t := &turns[i]
		known := append(slices.Clone(t.prompt), harness.Message{Role: roleAssistant, Content: t.answer.text})
		switch {
		case i+1 == len(turns):
			tail := len(completion)
			for tail > 0 && completion[tail-1].msg.Role != roleAssistant {
				tail--
			}
			t.after = messages(completion[tail:])
		case len(turns[i+1].prompt) >= len(known) && slices.Equal(turns[i+1].prompt[:len(known)], known):
			t.after = slices.Clone(turns[i+1].prompt[len(known):])
		default:
			r.notes["steps whose answer is not in the next prompt: what followed it is not known"]++
		}
	}
	return turns, rests, nil
}

func (r *Reader) trajectoryStep(f fields, t *turn) error {
	prompt, err := messagesOf(f, "prompt", roleUser)
	if err != nil {
		return err
	}
	answers, err := messagesOf(f, "completion", roleAssistant)
	if err != nil {
		return err
	}
	if len(answers) != 1 || answers[0].msg.Role != roleAssistant {
		return at("completion", fmt.Errorf("%d messages: a step is one answer of the model", len(answers)))
	}
	t.prompt, t.answer = messages(prompt), answers[0].answer
	if t.answer.composed {
		r.notes[notePutTogether]++
	}
	if k := kind(f["tokens"]); k == "nothing" || k == "null" {
		return nil
	}
	tok, err := object(f["tokens"])
	if err == nil {
		t.tokens, err = r.stepTokens(tok)
	}
	if err != nil {
		return at("tokens", err)
	}
	if t.tokens == nil { // they stay in the rest
		return nil
	}
	delete(f, "tokens")
	return f.put("tokens", map[string]fields{"rest": tok})
}

// stepTokens takes the tokens of a step; nil where its answer is masked: verifiers does not train on it, and
// the ledger has no place for a mask that says so.
func (r *Reader) stepTokens(f fields) (*harness.Tokens, error) {
	var (
		t    harness.Tokens
		mask []int
	)
	if _, err := f.peek("completion_mask", &mask); err != nil {
		return nil, err
	}
	for name, into := range map[string]any{"prompt_ids": &t.PromptIDs, "completion_ids": &t.IDs, "completion_logprobs": &t.Logprobs} {
		if _, err := f.peek(name, into); err != nil {
			return nil, err
		}
	}
	if len(mask) != 0 && len(mask) != len(t.IDs) {
		return nil, at("completion_mask", fmt.Errorf("%d values for %d tokens", len(mask), len(t.IDs)))
	}
	if err := checkTokens(t.PromptIDs, "", nil); err != nil {
		return nil, err
	}
	if err := checkTokens(t.IDs, "completion_logprobs", t.Logprobs); err != nil {
		return nil, err
	}
	if slices.Contains(mask, 0) {
		r.notes["steps whose answer is masked: their tokens are in the artifact "+verifiersFile+" alone"]++
		return nil, nil
	}
	for _, name := range []string{"prompt_ids", "completion_ids", "completion_logprobs", "completion_mask"} {
		delete(f, name)
	}
	return &t, nil
}

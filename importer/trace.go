package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hindsightrl/harness"
)

// node is a message of a trace's graph with the tokens that it adds.
type node struct {
	parent   int // -1 = root
	sampled  bool
	msg      harness.Message
	answer   answer
	ids      []int32
	mask     []bool
	logprobs []float32
	rest     fields
}

// traceRest is what of a trace has no place.
type traceRest struct {
	Episode fields            `json:"episode,omitempty"`
	Trace   fields            `json:"trace"`
	Nodes   map[string]fields `json:"nodes,omitempty"` // by index
}

// trace reads a trace; nil for one of an agent that is not trained.
func (r *Reader) trace(f fields, o origin) (*Episode, error) {
	var agent struct {
		Name      string
		Trainable *bool
	}
	if _, err := f.peek("agent", &agent); err != nil {
		return nil, err
	}
	if agent.Trainable != nil && !*agent.Trainable {
		r.notes[fmt.Sprintf("traces of agent %q left out: it is not trained", agent.Name)]++
		return nil, nil
	}
	task, err := traceTask(f, o, agent.Name)
	if err != nil {
		return nil, err
	}
	nodes, err := traceNodes(f)
	if err != nil {
		return nil, err
	}
	calls, err := traceCalls(f, nodes)
	if err != nil {
		return nil, err
	}
	turns, err := r.traceTurns(nodes, calls, o)
	if err != nil {
		return nil, err
	}
	ep := &Episode{Task: task}
	for _, c := range calls {
		ep.Model = firstOf(ep.Model, c.Model)
	}
	if err := r.traceEnd(ep, f, turns); err != nil {
		return nil, err
	}
	rest := traceRest{Episode: o.rest, Trace: f, Nodes: map[string]fields{}}
	for i := range nodes {
		nodes[i].rest.prune()
		if len(nodes[i].rest) > 0 {
			rest.Nodes[fmt.Sprint(i)] = nodes[i].rest
		}
	}
	rest.Trace.prune()
	r.keep("trace", rest.Trace)
	for _, n := range rest.Nodes {
		r.keep("nodes", n)
	}
	ep.Rest, err = artifact(verifiersFile, rest, false)
	return ep, err
}

// notePutTogether counts answers whose text is not the model's own, byte for byte.
const notePutTogether = "responses put together from reasoning, content and tool calls"

// scaffold are fields that are kept like others and not worth a word.
var scaffold = []string{
	"version", "id", "verifiers", "task", "agent", "is_completed", "ok", "timing", "timestamp", "num_input_tokens", "num_output_tokens", "num_total_tokens", "tool_call_id", "name", "provider_state", "is_content", "tools", "tool_calls", "example_id",
	"rewards", "stop_condition", "errors", "is_timeout", "is_truncated",
}

// keep notes the fields that go to the artifact.
func (r *Reader) keep(what string, f fields) {
	for _, k := range f.names() {
		if !slices.Contains(scaffold, strings.TrimPrefix(k, "message.")) {
			r.notes[what+"."+k+" kept in the artifact "+verifiersFile]++
		}
	}
}

func traceNodes(f fields) ([]node, error) {
	var raws []json.RawMessage
	if _, err := f.take("nodes", &raws); err != nil {
		return nil, err
	}
	nodes := make([]node, len(raws))
	for i, raw := range raws {
		if err := nodes[i].read(raw, i); err != nil {
			return nil, at(fmt.Sprintf("nodes[%d]", i), err)
		}
	}
	return nodes, nil
}

func (n *node) read(raw json.RawMessage, index int) error {
	f, err := object(raw)
	if err != nil {
		return err
	}
	n.parent = -1
	if _, err = f.take("parent", &n.parent); err != nil {
		return err
	}
	if n.parent >= index || n.parent < -1 {
		return at("parent", fmt.Errorf("%d is no node before this one", n.parent))
	}
	var msg json.RawMessage
	if given, err := f.take("message", &msg); err != nil || !given {
		return at("message", errors.Join(err, errors.New("missing")))
	}
	m, err := object(msg)
	if err == nil {
		n.msg, n.answer, err = chatMessage(m)
	}
	if err != nil {
		return at("message", err)
	}
	for name, into := range map[string]any{"sampled": &n.sampled, "token_ids": &n.ids, "mask": &n.mask, "logprobs": &n.logprobs} {
		if _, err := f.take(name, into); err != nil {
			return err
		}
	}
	if n.sampled && n.msg.Role != roleAssistant {
		return at("message.role", fmt.Errorf("the model sampled a message of role %q", n.msg.Role))
	}
	if len(n.mask) != len(n.ids) {
		return at("mask", fmt.Errorf("%d values for %d token ids", len(n.mask), len(n.ids)))
	}
	if !n.sampled && slices.Contains(n.mask, true) {
		return at("mask", errors.New("tokens are marked as sampled in a message that is not"))
	}
	m.prune()
	for k, v := range m {
		f["message."+k] = v
	}
	n.rest = f
	return nil
}

// response is where the sampled tokens lie.
func (n *node) response() (from, to int, err error) {
	from = slices.Index(n.mask, true)
	if from < 0 {
		return len(n.ids), len(n.ids), nil
	}
	for to = from; to < len(n.mask) && n.mask[to]; {
		to++
	}
	if slices.Contains(n.mask[to:], true) {
		return 0, 0, at("mask", errors.New("the sampled tokens are not one run: they are no response to one prompt"))
	}
	return from, to, nil
}

// call is a model call that committed a node.
type call struct {
	Node         *int   `json:"node"`
	Model        string `json:"model"`
	FinishReason string `json:"finish_reason"`
	Sampling     *struct {
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"top_p"`
	} `json:"sampling"`
}

// traceCalls are the calls by node. They stay in the rest: usage, errors and times have no other place.
func traceCalls(f fields, nodes []node) (map[int]call, error) {
	var list []call
	if _, err := f.peek("calls", &list); err != nil {
		return nil, err
	}
	out := map[int]call{}
	for i, c := range list {
		if c.Node == nil {
			continue
		}
		if *c.Node < 0 || *c.Node >= len(nodes) {
			return nil, at(fmt.Sprintf("calls[%d].node", i), fmt.Errorf("no node %d", *c.Node))
		}
		out[*c.Node] = c
	}
	return out, nil
}

// traceTurns makes a turn of every message that the model sampled, in the order of the nodes. The prompt is
// the way from the root; where a trace branches, what follows a message is its first child's.
func (r *Reader) traceTurns(nodes []node, calls map[int]call, o origin) ([]turn, error) {
	child := make([]int, len(nodes)) // first one; 0 = none
	leaves := 0
	for i := range nodes {
		if p := nodes[i].parent; p >= 0 && child[p] == 0 {
			child[p] = i
		}
	}
	var turns []turn
	for i := range nodes {
		if child[i] == 0 {
			leaves++
		}
		n := &nodes[i]
		if !n.sampled {
			continue
		}
		t := turn{answer: n.answer}
		prompt := []int32{}
		for _, p := range path(nodes, n.parent) {
			t.prompt = append(t.prompt, nodes[p].msg)
			prompt = append(prompt, nodes[p].ids...)
		}
		for c := child[i]; c != 0 && !nodes[c].sampled; c = child[c] {
			t.after = append(t.after, nodes[c].msg)
		}
		tokens, err := n.tokens(prompt, calls[i], o)
		if err != nil {
			return nil, at(fmt.Sprintf("nodes[%d]", i), err)
		}
		t.tokens = tokens
		if n.answer.composed {
			r.notes[notePutTogether]++
		}
		turns = append(turns, t)
	}
	if leaves > 1 {
		r.notes["traces with branches: their steps come in the order in which the model was called"]++
	}
	return turns, nil
}

// path is the way from the root to a node, as indices.
func path(nodes []node, to int) []int {
	var out []int
	for ; to >= 0; to = nodes[to].parent {
		out = append(out, to)
	}
	slices.Reverse(out)
	return out
}

// tokens are those of a sampled message after a prompt; nil where the trace has none.
func (n *node) tokens(prompt []int32, c call, o origin) (*harness.Tokens, error) {
	if len(n.ids) == 0 {
		if len(n.logprobs) > 0 {
			return nil, at("logprobs", fmt.Errorf("%d values without token ids", len(n.logprobs)))
		}
		return nil, nil
	}
	from, to, err := n.response()
	if err != nil {
		return nil, err
	}
	t := &harness.Tokens{PromptIDs: append(prompt, n.ids[:from]...), IDs: n.ids[from:to], Logprobs: n.logprobs}
	if err := checkTokens(n.ids, "", nil); err != nil {
		return nil, err
	}
	if err := checkTokens(t.IDs, "logprobs", t.Logprobs); err != nil {
		return nil, err
	}
	if o.version != nil {
		t.Versions = slices.Repeat([]int32{*o.version}, len(t.IDs))
	}
	if s := c.Sampling; s != nil && s.Temperature != nil {
		t.Meta = &harness.TokenMeta{Engine: "verifiers", Model: c.Model, Temperature: *s.Temperature, TopP: 1, Finish: c.FinishReason}
		if s.TopP != nil {
			t.Meta.TopP = *s.TopP
		}
	}
	return t, nil
}

// traceEnd reads how a trace ended.
func (r *Reader) traceEnd(ep *Episode, f fields, turns []turn) error {
	var rewards map[string]*struct {
		Score  *float64
		Weight *float64
	}
	if _, err := f.peek("rewards", &rewards); err != nil {
		return err
	}
	var (
		ok, timeout bool
		condition   string
		reward      float64
		scored      bool
	)
	for name, into := range map[string]any{"ok": &ok, "is_timeout": &timeout, "stop_condition": &condition} {
		if _, err := f.peek(name, into); err != nil {
			return err
		}
	}
	for _, name := range sortedNames(rewards) {
		p := rewards[name]
		if p == nil {
			continue
		}
		if p.Score == nil {
			return at("rewards."+name, errors.New("it has no score"))
		}
		scored = true
		weight := 1.0
		if p.Weight != nil {
			weight = *p.Weight
		}
		reward += *p.Score * weight
	}
	fail, err := r.failure(f)
	switch {
	case err != nil:
		return err
	case ok && !scored:
		return at("rewards", errors.New("the trace has ended well and has no reward: it was not scored"))
	case ok, fail == nil && scored:
		if len(turns) == 0 {
			return at("nodes", errors.New("the model said nothing, and the trace has a reward"))
		}
		ep.Steps, ep.Outcome = assemble(turns, reward, stopReason(condition, timeout, false), reward >= r.opt.won())
		return nil
	case fail == nil && timeout:
		fail = &harness.Failure{Kind: harness.FailBudget, Op: condition, Err: errors.New("a deadline expired")}
	case fail == nil:
		fail = &harness.Failure{Kind: harness.FailEnv, Op: firstOf(condition, "rollout"), Err: errors.New("the trace did not end well, and does not say why")}
	}
	ep.Steps, ep.Failure = failed(turns), fail
	return nil
}

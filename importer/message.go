package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hindsightrl/harness"
)

// Roles of messages.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// answer is what a model said. Files hold its parts, not the text that it sampled: where there is more than
// plain content, text is put together as Qwen's and Hermes' templates spell it.
type answer struct {
	text     string
	action   string         // the tool calls as JSON, one a line; the content where there are none
	spans    []harness.Span // bytes of text that are the action
	composed bool           // text is more than the content
}

// toolCall is a call of a tool; arguments are JSON, or raw text of a custom tool.
type toolCall struct {
	name      string
	arguments json.RawMessage
}

// compose puts an answer's text together.
func compose(reasoning, content string, calls []toolCall) answer {
	var a answer
	var b strings.Builder
	if reasoning != "" {
		a.composed = true
		b.WriteString("<think>\n" + reasoning + "\n</think>\n\n")
	}
	start := b.Len()
	b.WriteString(content)
	if len(calls) == 0 {
		a.action = content
		if content != "" {
			a.spans = []harness.Span{{Start: start, End: b.Len()}}
		}
		a.text = b.String()
		return a
	}
	a.composed = true
	var actions []string
	for i, c := range calls {
		if content != "" || i > 0 {
			b.WriteByte('\n')
		}
		call := callText(c)
		b.WriteString("<tool_call>\n")
		start := b.Len()
		b.WriteString(call)
		a.spans = append(a.spans, harness.Span{Start: start, End: b.Len()})
		b.WriteString("\n</tool_call>")
		actions = append(actions, call)
	}
	a.text, a.action = b.String(), strings.Join(actions, "\n")
	return a
}

// callText is {"name": …, "arguments": …}; arguments keep the order that they were written in.
func callText(c toolCall) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(c.name) //nolint:errcheck // a string
	name := strings.TrimSuffix(b.String(), "\n")
	return `{"name": ` + name + `, "arguments": ` + string(c.arguments) + "}"
}

// arguments reads a call's arguments as OpenAI has them: JSON in a string. Text that is no JSON (of a custom
// tool, or broken by the model) stays a string.
func arguments(s string) json.RawMessage {
	if trimmed := strings.TrimSpace(s); json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`) // Marshal takes every string
	}
	return raw
}

// content reads a message's content: text, a list of text parts, or nothing.
func content(raw json.RawMessage) (string, error) {
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0, string(raw) == "null":
		return "", nil
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case raw[0] != '[':
		return "", fmt.Errorf("%s is neither text nor a list of parts", kind(raw))
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", err
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		where := fmt.Sprintf("[%d]", i)
		f, err := object(p)
		if err != nil {
			return "", at(where, err)
		}
		var typ string
		if _, err := f.take("type", &typ); err != nil {
			return "", at(where, err)
		}
		if typ != "text" {
			return "", at(where, fmt.Errorf("a part of type %q: only text can be imported", typ))
		}
		if given, err := f.take("text", &texts[i]); err != nil || !given {
			if err == nil {
				err = fmt.Errorf("a text part without text")
			}
			return "", at(where, err)
		}
	}
	return strings.Join(texts, "\n"), nil
}

// chatMessage reads a message of OpenAI's kind. What it leaves in f has no place.
func chatMessage(f fields) (m harness.Message, a answer, err error) {
	if given, err := f.take("role", &m.Role); err != nil || !given {
		if err == nil {
			err = at("role", fmt.Errorf("missing"))
		}
		return m, a, err
	}
	text, err := content(f["content"])
	delete(f, "content")
	if err != nil {
		return m, a, at("content", err)
	}
	switch m.Role {
	case roleSystem, roleUser, roleTool:
		m.Content = text
		return m, answer{text: text}, nil
	case roleAssistant:
	default:
		return m, a, at("role", fmt.Errorf("unknown role %q", m.Role))
	}
	var reasoning string
	if _, err := f.take("reasoning_content", &reasoning); err != nil {
		return m, a, err
	}
	calls, err := toolCalls(f)
	if err != nil {
		return m, a, err
	}
	a = compose(reasoning, text, calls)
	m.Content = a.text
	return m, a, nil
}

// toolCalls reads tool_calls: {"name", "arguments"}, in verifiers as they are, in OpenAI inside "function",
// or in a string of JSON as older files of verifiers have each.
func toolCalls(f fields) ([]toolCall, error) {
	var raws []json.RawMessage
	if _, err := f.take("tool_calls", &raws); err != nil {
		return nil, err
	}
	calls, rests := make([]toolCall, len(raws)), map[string]fields{}
	for i, raw := range raws {
		where := fmt.Sprintf("tool_calls[%d]", i)
		if s := ""; json.Unmarshal(raw, &s) == nil {
			raw = json.RawMessage(s)
		}
		c, err := object(raw)
		if err != nil {
			return nil, at(where, err)
		}
		outer := c
		if inner, ok := c["function"]; ok {
			if c, err = object(inner); err != nil {
				return nil, at(where+".function", err)
			}
			delete(outer, "function")
		}
		rests[strconv.Itoa(i)] = outer // ids and types of calls
		var args string
		given, err := c.take("name", &calls[i].name)
		if err == nil && !given {
			err = at("name", fmt.Errorf("missing"))
		}
		if err == nil {
			if _, err = c.take("arguments", &args); err == nil {
				calls[i].arguments = arguments(args)
			}
		}
		if err != nil {
			return nil, at(where, err)
		}
	}
	return calls, f.put("tool_calls", rests)
}

// joined is the text of messages, one after the other.
func joined(ms []harness.Message) string {
	texts := make([]string, 0, len(ms))
	for _, m := range ms {
		texts = append(texts, m.Content)
	}
	return strings.Join(texts, "\n")
}

// seen is what the model saw last: the messages after its own last one, without the system's.
func seen(prompt []harness.Message) string {
	var last []harness.Message
	for _, m := range prompt {
		switch m.Role {
		case roleAssistant:
			last = nil
		case roleSystem:
		default:
			last = append(last, m)
		}
	}
	return joined(last)
}

// instruction is the first thing that the user said.
func instruction(prompt []harness.Message) string {
	for _, m := range prompt {
		if m.Role == roleUser {
			return m.Content
		}
	}
	return ""
}

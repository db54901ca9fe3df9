package openenv

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kinds of messages on a session's WebSocket.
const (
	kindReset = "reset"
	kindStep  = "step"
	kindState = "state"
	kindClose = "close"
	kindMCP   = "mcp"
)

// maxID is how long an episode's or a request's id may be, in characters, as in the original.
const maxID = 255

// message is what a client says on a session's WebSocket.
type message struct {
	kind   string
	reset  resetData       // with kindReset
	action string          // with kindStep
	rpc    json.RawMessage // with kindMCP
}

// resetData chooses an episode's task. What is not said is nil or "".
type resetData struct {
	Seed      *int64
	EpisodeID string
	TaskID    string
	Split     string
	Index     *int
	MaxSteps  *int
	SessionID string // over HTTP alone
}

// parseMessage reads a message.
func parseMessage(raw []byte) (message, *fault) {
	fields, f := object(raw)
	if f != nil {
		return message{}, f
	}
	var m message
	if t, ok := fields["type"]; ok {
		if json.Unmarshal(t, &m.kind) != nil {
			return message{}, invalid("string_type", "Input should be a valid string", "type")
		}
	}
	takesData := true
	switch m.kind {
	case kindReset, kindStep, kindMCP:
	case kindState, kindClose:
		takesData = false
	default:
		return message{}, &fault{Message: "Unknown message type: " + clip(m.kind), Code: codeUnknownType}
	}
	for _, k := range sortedKeys(fields) {
		if k != "type" && (k != "data" || !takesData) {
			return message{}, invalid("extra_forbidden", "Extra inputs are not permitted", k)
		}
	}
	data, given := fields["data"]
	if !given && (m.kind == kindStep || m.kind == kindMCP) {
		return message{}, invalid("missing", "Field required", "data")
	}
	switch m.kind {
	case kindReset:
		m.reset, f = parseReset(data, false, "data")
	case kindStep:
		m.action, f = parseAction(data, "data")
	case kindMCP:
		if m.rpc = data; !isObject(data) {
			f = invalid("dict_type", "Input should be a valid dictionary", "data")
		}
	}
	return m, f
}

// resetKeys are what a reset takes; in a request's body also a session's id.
var resetKeys = []string{"seed", "episode_id", "task_id", "split", "index", "max_steps"}

// parseReset reads the parameters of a reset; loc is where they stand. Nothing at all is none.
func parseReset(raw json.RawMessage, http bool, loc ...string) (resetData, *fault) {
	var d resetData
	if len(raw) == 0 {
		return d, nil
	}
	fields, f := objectAt(raw, loc)
	if f != nil {
		return d, f
	}
	for _, k := range sortedKeys(fields) {
		at := append(slices.Clone(loc), k)
		v := fields[k]
		if isNull(v) && (slices.Contains(resetKeys, k) || http && k == "session_id") {
			continue
		}
		switch k {
		case "seed":
			d.Seed, f = wholeNumber[int64](v, at)
		case "index":
			d.Index, f = wholeNumber[int](v, at)
		case "max_steps":
			d.MaxSteps, f = wholeNumber[int](v, at)
		case "episode_id":
			d.EpisodeID, f = text(v, maxID, at)
		case "task_id":
			d.TaskID, f = text(v, 0, at)
		case "split":
			d.Split, f = text(v, 0, at)
		case "session_id":
			if d.SessionID, f = text(v, maxID, at); !http {
				f = unknownReset(at)
			}
		default:
			f = unknownReset(at)
		}
		if f != nil {
			return d, f
		}
	}
	if d.TaskID != "" && d.Index != nil {
		return d, invalid("value_error", "task_id and index both name a task: send one of them", append(slices.Clone(loc), "index")...)
	}
	return d, nil
}

func unknownReset(at []string) *fault {
	return invalidf("extra_forbidden", at, "Extra inputs are not permitted: a reset takes %s", strings.Join(resetKeys, ", "))
}

// parseAction reads an action: {"text": …}, with metadata that has no effect, as every action may have.
func parseAction(raw json.RawMessage, loc ...string) (string, *fault) {
	fields, f := objectAt(raw, loc)
	if f != nil {
		return "", f
	}
	for _, k := range sortedKeys(fields) {
		switch {
		case k == "metadata" && !isObject(fields[k]):
			return "", invalid("dict_type", "Input should be a valid dictionary", append(slices.Clone(loc), k)...)
		case k != "text" && k != "metadata":
			return "", invalid("extra_forbidden", `Extra inputs are not permitted: an action is {"text": …}`, append(slices.Clone(loc), k)...)
		}
	}
	at := append(slices.Clone(loc), "text")
	v, ok := fields["text"]
	if !ok {
		return "", invalid("missing", "Field required", at...)
	}
	return text(v, 0, at)
}

// object reads a message's outer object.
func object(raw []byte) (map[string]json.RawMessage, *fault) {
	if !json.Valid(raw) {
		var v any
		return nil, &fault{Message: "Invalid JSON: " + json.Unmarshal(raw, &v).Error(), Code: codeInvalidJSON}
	}
	return objectAt(raw, []string{})
}

// objectAt reads an object; of a name that occurs twice the last counts, as everywhere in JSON.
func objectAt(raw json.RawMessage, loc []string) (map[string]json.RawMessage, *fault) {
	var fields map[string]json.RawMessage
	if !isObject(raw) || json.Unmarshal(raw, &fields) != nil {
		return nil, invalid("dict_type", "Input should be a valid dictionary", loc...)
	}
	return fields, nil
}

func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// text reads a string of at most so many characters; 0 = any.
func text(raw json.RawMessage, most int, loc []string) (string, *fault) {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", invalid("string_type", "Input should be a valid string", loc...)
	}
	if most > 0 && utf8.RuneCountInString(*s) > most {
		return "", invalidf("string_too_long", loc, "String should have at most %d characters", most)
	}
	return *s, nil
}

// wholeNumber reads a number without a fraction that is not negative; 3.0 is one, as in the original.
func wholeNumber[T int | int64](raw json.RawMessage, loc []string) (*T, *fault) {
	s := string(bytes.TrimSpace(raw))
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		x, floatErr := strconv.ParseFloat(s, 64)
		if floatErr != nil || x != math.Trunc(x) || math.Abs(x) >= 1<<53 {
			return nil, invalid("int_type", "Input should be a valid integer", loc...)
		}
		n = int64(x)
	}
	if n < 0 {
		return nil, invalid("greater_than_equal", "Input should be greater than or equal to 0", loc...)
	}
	v := T(n)
	return &v, nil
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// clip keeps what is quoted back short.
func clip(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

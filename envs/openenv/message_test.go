package openenv

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseMessage(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		name, in string
		code     string // "" = parsed
		loc      string // of the first error
		kind     string
	}{
		{name: "reset without data", in: `{"type":"reset"}`, kind: kindReset},
		{name: "reset with nothing said", in: `{"type":"reset","data":{"seed":null,"episode_id":null}}`, kind: kindReset},
		{name: "reset with everything", in: `{"type":"reset","data":{"seed":7,"episode_id":"e","split":"train","index":2,"max_steps":0}}`, kind: kindReset},
		{name: "a seed as Python's float", in: `{"type":"reset","data":{"seed":3.0}}`, kind: kindReset},
		{name: "step", in: `{"type":"step","data":{"text":"look","metadata":{"a":[1]}}}`, kind: kindStep},
		{name: "state", in: ` {"type":"state"} `, kind: kindState},
		{name: "close", in: `{"type":"close"}`, kind: kindClose},
		{name: "mcp", in: `{"type":"mcp","data":{"jsonrpc":"2.0"}}`, kind: kindMCP},

		{name: "no JSON", in: `{"type":`, code: codeInvalidJSON},
		{name: "two values", in: `{} {}`, code: codeInvalidJSON},
		{name: "binary", in: "\x00\xff", code: codeInvalidJSON},
		{name: "nothing", in: ``, code: codeInvalidJSON},
		{name: "no object", in: `[1]`, code: codeValidation},
		{name: "null", in: `null`, code: codeValidation},
		{name: "no type", in: `{}`, code: codeUnknownType},
		{name: "unknown type", in: `{"type":"resett"}`, code: codeUnknownType},
		{name: "type is a number", in: `{"type":1}`, code: codeValidation, loc: "type"},
		{name: "something more", in: `{"type":"reset","daat":{}}`, code: codeValidation, loc: "daat"},
		{name: "state with data", in: `{"type":"state","data":{}}`, code: codeValidation, loc: "data"},
		{name: "step without data", in: `{"type":"step"}`, code: codeValidation, loc: "data"},
		{name: "step with text as data", in: `{"type":"step","data":"look"}`, code: codeValidation, loc: "data"},
		{name: "step without text", in: `{"type":"step","data":{"metadata":{}}}`, code: codeValidation, loc: "data.text"},
		{name: "step with a number", in: `{"type":"step","data":{"text":3}}`, code: codeValidation, loc: "data.text"},
		{name: "step with null", in: `{"type":"step","data":{"text":null}}`, code: codeValidation, loc: "data.text"},
		{name: "step of another environment", in: `{"type":"step","data":{"message":"look","text":"look"}}`, code: codeValidation, loc: "data.message"},
		{name: "metadata is a list", in: `{"type":"step","data":{"text":"look","metadata":[]}}`, code: codeValidation, loc: "data.metadata"},
		{name: "reset with a list", in: `{"type":"reset","data":[]}`, code: codeValidation, loc: "data"},
		{name: "reset with a misspelt name", in: `{"type":"reset","data":{"taskid":"x"}}`, code: codeValidation, loc: "data.taskid"},
		{name: "reset with an HTTP session", in: `{"type":"reset","data":{"session_id":"x"}}`, code: codeValidation, loc: "data.session_id"},
		{name: "negative seed", in: `{"type":"reset","data":{"seed":-1}}`, code: codeValidation, loc: "data.seed"},
		{name: "half a seed", in: `{"type":"reset","data":{"seed":1.5}}`, code: codeValidation, loc: "data.seed"},
		{name: "a seed beyond all numbers", in: `{"type":"reset","data":{"seed":1e300}}`, code: codeValidation, loc: "data.seed"},
		{name: "a seed as text", in: `{"type":"reset","data":{"seed":"1"}}`, code: codeValidation, loc: "data.seed"},
		{name: "an index as a boolean", in: `{"type":"reset","data":{"index":true}}`, code: codeValidation, loc: "data.index"},
		{name: "a long episode id", in: `{"type":"reset","data":{"episode_id":"` + long + `"}}`, code: codeValidation, loc: "data.episode_id"},
		{name: "two tasks", in: `{"type":"reset","data":{"task_id":"a","index":0}}`, code: codeValidation, loc: "data.index"},
		{name: "mcp with a list", in: `{"type":"mcp","data":[]}`, code: codeValidation, loc: "data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, f := parseMessage([]byte(c.in))
			if c.code == "" {
				if f != nil || m.kind != c.kind {
					t.Fatalf("got %q, %v", m.kind, f)
				}
				return
			}
			if f == nil || f.Code != c.code {
				t.Fatalf("got %+v, want code %s", f, c.code)
			}
			if loc := ""; len(f.Errors) > 0 {
				if loc = strings.Join(f.Errors[0].Loc, "."); loc != c.loc {
					t.Errorf("the error is at %q, want %q", loc, c.loc)
				}
			}
		})
	}
}

func TestParseMessageKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	m, f := parseMessage([]byte(`{"type":"reset","data":{"seed":7,"episode_id":"e","split":"train","task_id":"t","max_steps":5}}`))
	if f != nil || *m.reset.Seed != 7 || m.reset.EpisodeID != "e" || m.reset.Split != "train" || m.reset.TaskID != "t" || *m.reset.MaxSteps != 5 || m.reset.Index != nil {
		t.Errorf("got %+v, %v", m.reset, f)
	}
	if m, f = parseMessage([]byte(`{"type":"step","data":{"text":"go\u00e9 \n"}}`)); f != nil || m.action != "goé \n" {
		t.Errorf("got %q, %v", m.action, f)
	}
}

func TestParseStep(t *testing.T) {
	t.Parallel()
	for in, loc := range map[string]string{
		`{"action":{"text":"look"},"session_id":"s","timeout_s":2.5,"request_id":"r"}`: "",
		`{"action":{"text":"look"},"session_id":"s","timeout_s":null}`:                 "",
		`{"action":{"text":"look"},"session_id":"s","timeout_s":1e300}`:                "",
		`{"action":{"text":"look"}}`:                                                   "body.session_id",
		`{"session_id":"s"}`:                                                           "body.action",
		`{"action":"look","session_id":"s"}`:                                           "body.action",
		`{"action":{"text":"look"},"session_id":"s","timeout_s":0}`:                    "body.timeout_s",
		`{"action":{"text":"look"},"session_id":"s","timeout_s":"soon"}`:               "body.timeout_s",
		`{"action":{"text":"look"},"session_id":"s","request_id":"a\r\nb"}`:            "body.request_id",
		`{"action":{"text":"look"},"session_id":"s","render":true}`:                    "body.render",
		`[]`: "body",
	} {
		req, f := parseStep([]byte(in))
		got := ""
		if f != nil {
			got = strings.Join(f.Errors[0].Loc, ".")
		}
		if got != loc || f == nil && (req.action != "look" || req.session != "s" || req.timeout < 0) {
			t.Errorf("%s: got %q %+v, want an error at %q", in, got, req, loc)
		}
	}
}

// FuzzMessage: whatever a client sends is parsed or refused, with a fault that can be sent.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{"type":"reset","data":{"seed":7,"episode_id":"e","task_id":"t","split":"s","max_steps":1}}`, `{"type":"reset","data":{"index":0}}`,
		`{"type":"step","data":{"text":"look","metadata":{}}}`, `{"type":"state"}`, `{"type":"close"}`,
		`{"type":"mcp","data":{"jsonrpc":"2.0","method":"tools/call","params":{"name":"act","arguments":{"text":"x"}},"id":1}}`,
		`{"jsonrpc":"2.0","method":"openenv/session/close","params":{"session_id":"x"},"id":"a"}`, `{"jsonrpc":"2.0","method":"x","id":[]}`,
		`{"action":{"text":"look"},"session_id":"s","timeout_s":2.5,"request_id":"r"}`, `[`, `{"type":{}}`, "\x00", `{"type":"reset","data":{"seed":1e400}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		check := func(f *fault) {
			if f == nil {
				return
			}
			if f.Code == "" || f.Message == "" {
				t.Errorf("%q: an empty fault", raw)
			}
			var back struct {
				Type string
				Data fault
			}
			if err := json.Unmarshal(encode(envelope{"error", f}), &back); err != nil || back.Type != "error" || back.Data.Code != f.Code {
				t.Errorf("%q: the fault does not travel: %v", raw, err)
			}
		}
		m, fa := parseMessage(raw)
		check(fa)
		if fa == nil {
			switch m.kind {
			case kindReset, kindStep, kindState, kindClose, kindMCP:
			default:
				t.Errorf("%q: parsed as %q", raw, m.kind)
			}
			if s := m.reset.Seed; s != nil && *s < 0 {
				t.Errorf("%q: seed %d", raw, *s)
			}
		}
		_, fa = parseStep(raw)
		check(fa)
		_, fa = parseReset(raw, true, "body")
		check(fa)
		call, _, e := parseRPC(raw)
		if e != nil && (e.Code == 0 || e.Message == "") {
			t.Errorf("%q: an empty JSON-RPC error", raw)
		}
		if len(call.ID) > 0 && !json.Valid(call.ID) {
			t.Errorf("%q: id %q", raw, call.ID)
		}
	})
}

package openenv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

func TestRPCErrors(t *testing.T) {
	t.Parallel()
	r := start(t, goals(2), Config{})
	for in, want := range map[string]string{
		`{`: "-32700", `{}`: "-32600", `[]`: "-32600", `{"jsonrpc":"1.0","method":"tools/list"}`: "-32600", `{"jsonrpc":"2.0","method":"tools/list","extra":1}`: "-32600",
		`{"jsonrpc":"2.0","method":"tools/list","id":[1]}`:                                                                                   "-32600",
		`{"jsonrpc":"2.0","method":"tools/list","params":[]}`:                                                                                "-32602",
		`{"jsonrpc":"2.0","method":"tools/list","params":{"session_id":1}}`:                                                                  "-32602",
		`{"jsonrpc":"2.0","method":"dance"}`:                                                                                                 "-32601",
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"reset"}}`:                                                                  "-32602",
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"act"}}`:                                                                    "-32602",
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"act","arguments":{"text":"look"}}}`:                                        "-32602",
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"act","arguments":{"text":"look"},"session_id":"x"}}`:                       "-32602",
		`{"jsonrpc":"2.0","method":"openenv/session/close","params":{}}`:                                                                     "-32602",
		`{"jsonrpc":"2.0","method":"openenv/session/close","params":{"session_id":"x"}}`:                                                     "-32602",
		fmt.Sprintf(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"act","arguments":{"text":"x"},"session_id":%q}}`, r.create(t)): "-32603", // no reset yet
	} {
		status, got := r.do(t, "POST", "/mcp", in)
		e, _ := got["error"].(map[string]any)
		if status != 200 || got["jsonrpc"] != "2.0" || e == nil || fmt.Sprintf("%.0f", e["code"]) != want || e["message"] == "" {
			t.Errorf("%s: %d %v, want %s", in, status, got, want)
		}
	}
	_, got := r.do(t, "POST", "/mcp", `{"jsonrpc":"2.0","method":"tools/list","id":"seven"}`)
	if got["id"] != "seven" || got["result"] == nil {
		t.Errorf("tools: %v", got)
	}
}

// TestSharedSession plays as openenv's MCPToolClient does: a session over JSON-RPC, attached to a
// WebSocket for resets, its tool called over HTTP.
func TestSharedSession(t *testing.T) {
	t.Parallel()
	r := start(t, goals(2), Config{})
	id := r.create(t)
	c := r.dialPath(t, "/ws?session_id="+id)
	c.ask(`{"type":"reset"}`)
	other := r.dialPath(t, "/ws?session_id="+id)
	if a := other.hear(); a.Data.Code != codeSession || !strings.Contains(a.Data.Message, "already has an attached WebSocket") {
		t.Errorf("a second WebSocket: %+v", a)
	}
	if a := r.dialPath(t, "/ws?session_id=x").hear(); a.Data.Code != codeSession {
		t.Errorf("a WebSocket to no session: %+v", a)
	}
	_, got := r.do(t, "POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"act","arguments":{"text":"add one"},"session_id":%q},"id":2}`, id))
	res, _ := got["result"].(map[string]any)
	if res == nil || res["is_error"] != false || res["data"].(map[string]any)["text"] != "The counter shows 1." || strings.Contains(fmt.Sprint(res), "reward") {
		t.Errorf("the tool: %v", got)
	}
	if s := c.ask(`{"type":"state"}`).Data; s.StepCount != 1 {
		t.Errorf("the WebSocket sees %+v", s.state)
	}
	// The WebSocket goes, the session stays, and can be attached again.
	c.WriteMessage(websocket.TextMessage, []byte(`{"type":"close"}`))
	c.ends(websocket.CloseNormalClosure)
	again := r.dialPath(t, "/ws?session_id="+id)
	if s := again.ask(`{"type":"state"}`).Data; s.StepCount != 1 {
		t.Errorf("attached again: %+v", s.state)
	}
	r.do(t, "POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","method":"openenv/session/close","params":{"session_id":%q}}`, id))
	if a := again.hear(); a.Data.Code != codeSession || !strings.Contains(a.Data.Message, "was closed") {
		t.Errorf("closed from outside: %+v", a)
	}
	eventually(t, "the session is gone", func() bool { return r.Stats().Active == 0 })
}

// TestRPCOverWebSockets: /mcp speaks JSON-RPC alone, /ws carries it in envelopes.
func TestRPCOverWebSockets(t *testing.T) {
	t.Parallel()
	r := start(t, goals(2), Config{MaxSessions: 2})
	c := r.dial(t)
	c.ask(`{"type":"reset"}`)
	call := `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"act","arguments":{"text":"add one"}},"id":3}`
	if err := c.WriteMessage(websocket.TextMessage, []byte(`{"type":"mcp","data":`+call+`}`)); err != nil {
		t.Fatal(err)
	}
	if raw := string(c.raw()); !strings.HasPrefix(raw, `{"type":"mcp","data":{"jsonrpc":"2.0","id":3,"result":`) || !strings.Contains(raw, "The counter shows 1.") {
		t.Errorf("got %s", raw)
	}
	own := c.ask(`{"type":"state"}`).Data.SessionID
	if err := c.WriteMessage(websocket.TextMessage, []byte(`{"type":"mcp","data":{"jsonrpc":"2.0","method":"openenv/session/close","params":{"session_id":"`+own+`"}}}`)); err != nil {
		t.Fatal(err)
	}
	if raw := string(c.raw()); !strings.Contains(raw, "-32600") {
		t.Errorf("closing its own session: %s", raw)
	}
	m := r.dialPath(t, "/mcp")
	if err := m.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","method":"tools/list","id":1}`)); err != nil {
		t.Fatal(err)
	}
	if raw := string(m.raw()); !strings.Contains(raw, `"name":"act"`) {
		t.Errorf("got %s", raw)
	}
	if raw := string(r.dialPath(t, "/mcp").raw()); !strings.Contains(raw, "-32000") || !strings.Contains(raw, `"max_sessions":2`) {
		t.Errorf("one session more: %s", raw)
	}
}

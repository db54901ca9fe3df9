package openenv

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/hindsightrl/harness"
)

func TestPlainRoutes(t *testing.T) {
	t.Parallel()
	r := start(t, goals(1, 2, 5), Config{About: "counting", Version: "v9"})
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // JSON; "" = not compared
	}{
		{"GET", "/health", "", 200, `{"status":"healthy"}`},
		{"GET", "/metadata", "", 200, `{"name":"fake","description":"counting","version":"v9","author":null,"readme_content":null,"documentation_url":null}`},
		{"GET", "/list_environments", "", 200, `["fake"]`},
		{"GET", "/fake/splits", "", 200, `[{"name":"train","type":"train"}]`},
		{"GET", "/FAKE/splits", "", 200, ``},
		{"GET", "/shop/splits", "", 404, `{"detail":"unknown environment 'shop'"}`},
		{"POST", "/fake/num_tasks", `{"split":"train"}`, 200, `{"num_tasks":3}`},
		{"POST", "/fake/num_tasks", `{"split":"test"}`, 200, `{"num_tasks":0}`},
		{"POST", "/fake/num_tasks", `{}`, 422, ``},
		{"POST", "/fake/num_tasks", `{"split":1}`, 422, ``},
		{"POST", "/fake/num_tasks", `nonsense`, 422, ``},
		{"POST", "/fake/tasks", `{"split":"train"}`, 200, ``},
		{"POST", "/fake/task", `{"split":"train","index":2}`, 200, `{"task":{"task_id":"count-5","env":"fake","split":"train","type":"long","hash":"` + strings.Repeat("0", 63) + `5"}}`},
		{"POST", "/fake/task", `{"split":"train","index":3}`, 400, `{"detail":"Invalid task index"}`},
		{"POST", "/fake/task", `{"split":"train"}`, 422, ``},
		{"POST", "/fake/task_range", `{"split":"train","start":3,"stop":null}`, 200, `{"tasks":[]}`},
		{"POST", "/fake/task_range", `{"split":"train","start":2,"stop":1}`, 400, ``},
		{"GET", "/state", "", 200, `{"episode_id":null,"step_count":0,"total_reward":0,"score":0,"won":false,"done":false,"truncated":false}`},
		{"GET", "/state?session_id=x", "", 404, `{"detail":"Unknown session_id: x"}`},
		{"POST", "/step", `{"action":{"text":"look"}}`, 422, ``},
		{"POST", "/step", `{"action":{"text":"look"},"session_id":"x"}`, 404, ``},
		{"POST", "/reset", `{"seed":-1}`, 422, `{"detail":[{"type":"greater_than_equal","loc":["body","seed"],"msg":"Input should be greater than or equal to 0"}]}`},
		{"POST", "/reset", `{"session_id":"x"}`, 404, ``},
		{"GET", "/nowhere", "", 404, `{"detail":"Not Found"}`},
	} {
		status, got := r.do(t, c.method, c.path, c.body)
		if status != c.status {
			t.Errorf("%s %s %s: status %d, want %d: %v", c.method, c.path, c.body, status, c.status, got)
		}
		if c.want == "" {
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		have := any(got)
		if v, ok := got[""]; ok {
			have = v
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s %s %s: (-want +got)\n%s", c.method, c.path, c.body, diff)
		}
	}
	if n := r.Stats().Active; n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestSchemasDescribeWhatIsSent: every field that is sent is in the schema, and every field of the schema
// can be sent.
func TestSchemasDescribeWhatIsSent(t *testing.T) {
	t.Parallel()
	r := start(t, goals(1), Config{MaxSteps: 3})
	c := r.dial(t)
	_, schemas := r.do(t, "GET", "/schema", "")
	properties := func(name string) map[string]any {
		return schemas[name].(map[string]any)["properties"].(map[string]any)
	}
	data := func(msg string) map[string]any {
		if err := c.WriteMessage(websocket.TextMessage, []byte(msg)); err != nil {
			t.Fatal(err)
		}
		var v struct{ Data map[string]any }
		if err := json.Unmarshal(c.raw(), &v); err != nil {
			t.Fatal(err)
		}
		return v.Data
	}
	data(`{"type":"reset","data":{"seed":0}}`)
	answer := data(`{"type":"step","data":{"text":"look"}}`)
	sent := answer["observation"].(map[string]any)
	sent["reward"], sent["done"] = answer["reward"], answer["done"]
	for name, have := range map[string]map[string]any{"observation": sent, "state": data(`{"type":"state"}`), "action": {"text": 1, "metadata": 1}} {
		for k := range have {
			if properties(name)[k] == nil {
				t.Errorf("%s: %s is sent and not in the schema", name, k)
			}
		}
		for k := range properties(name) {
			if _, ok := have[k]; !ok {
				t.Errorf("%s: %s is in the schema and not sent", name, k)
			}
		}
	}
	_, doc := r.do(t, "GET", "/openapi.json", "")
	if v := doc["info"].(map[string]any)["version"]; v != "1.0.0" {
		t.Errorf("API version %v", v)
	}
	parts := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for _, name := range []string{"Action", "Observation", "State"} {
		if parts[name] == nil {
			t.Errorf("openapi.json lacks %s", name)
		}
	}
}

// TestHTTPSession plays an episode over plain HTTP.
func TestHTTPSession(t *testing.T) {
	t.Parallel()
	r := start(t, goals(1), Config{})
	status, shown := r.do(t, "POST", "/reset", `{"seed":0}`)
	if status != 200 || shown["observation"].(map[string]any)["task"] != "count to 1." || r.Stats().Active != 0 {
		t.Errorf("a reset that only shows the task: %d %v", status, shown)
	}
	id := r.create(t)
	body := func(action string) string {
		return fmt.Sprintf(`{"action":{"text":%q},"session_id":%q,"timeout_s":60,"request_id":"r1"}`, action, id)
	}
	if status, got := r.do(t, "POST", "/step", body("look")); status != 500 || !strings.Contains(fmt.Sprint(got), "reset first") {
		t.Errorf("a step before the reset: %d %v", status, got)
	}
	if status, got := r.do(t, "POST", "/reset", fmt.Sprintf(`{"session_id":%q,"episode_id":"e"}`, id)); status != 200 {
		t.Errorf("reset: %d %v", status, got)
	}
	status, got := r.do(t, "POST", "/step", body("add one"))
	if status != 200 || got["reward"] != 1.0 || got["done"] != true {
		t.Errorf("step: %d %v", status, got)
	}
	if _, st := r.do(t, "GET", "/state?session_id="+id, ""); st["episode_id"] != "e" || st["won"] != true || st["step_count"] != 1.0 {
		t.Errorf("state: %v", st)
	}
	if _, got := r.do(t, "POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","method":"openenv/session/close","params":{"session_id":%q},"id":1}`, id)); got["result"] == nil {
		t.Errorf("close: %v", got)
	}
	if r.Stats().Active != 0 {
		t.Error("the session is still there")
	}
}

// create opens a session over JSON-RPC.
func (r *rig) create(t *testing.T) string {
	t.Helper()
	_, got := r.do(t, "POST", "/mcp", `{"jsonrpc":"2.0","method":"openenv/session/create","id":1}`)
	res, ok := got["result"].(map[string]any)
	if !ok {
		t.Fatalf("create: %v", got)
	}
	return res["session_id"].(string)
}

func TestTokenAndHost(t *testing.T) {
	t.Parallel()
	open := start(t, goals(1), Config{})
	locked := start(t, goals(1), Config{Token: "secret"})
	for _, c := range []struct {
		r      *rig
		path   string
		header []string
		want   int
	}{
		{open, "/state", nil, 200},
		{open, "/state", []string{"Host", "evil.example"}, 403},
		{open, "/ws", []string{"Host", "evil.example"}, 403},
		{open, "/health", []string{"Host", "evil.example"}, 200},
		{open, "/ws", []string{"Origin", "http://evil.example", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}, 403},
		{locked, "/state", nil, 401},
		{locked, "/ws", nil, 401},
		{locked, "/mcp", nil, 401},
		{locked, "/health", nil, 200},
		{locked, "/state", []string{"Authorization", "Bearer wrong"}, 401},
		{locked, "/state", []string{"Authorization", "secret"}, 401},
		{locked, "/state", []string{"Authorization", "Bearer secret", "Host", "elsewhere.example"}, 200},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.r.url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.header); i += 2 {
			if c.header[i] == "Host" {
				req.Host = c.header[i+1]
			} else {
				req.Header.Set(c.header[i], c.header[i+1])
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("GET %s %v: %d, want %d", c.path, c.header, resp.StatusCode, c.want)
		}
	}
	ctx, cancel := seconds30()
	defer cancel()
	conn, resp, err := websocket.DefaultDialer.DialContext(ctx, dialURL(locked.url, "/ws"), http.Header{"Authorization": {"Bearer secret"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	defer conn.Close()
	if a := (&client{t, conn}).ask(`{"type":"reset"}`); a.Type != "observation" {
		t.Errorf("with the token: %+v", a)
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	suite := goals(1)
	panel := harness.Panel{Name: "p", Tasks: []harness.Task{{Env: "fake", ID: "count-1"}}}
	for want, cfg := range map[string]Config{
		"openenv: no suite to serve":  {Now: time.Now, Panel: panel},
		"openenv: no clock":           {Suite: suite, Panel: panel},
		`panel "": no tasks`:          {Suite: suite, Now: time.Now},
		"openenv: MaxSessions, MaxSt": {Suite: suite, Now: time.Now, Panel: panel, MaxSessions: -1},
	} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

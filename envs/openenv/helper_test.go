package openenv

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/envtest"
	"github.com/hindsightrl/harness/internal/testutil"
)

func TestMain(m *testing.M) { os.Exit(testutil.RunAndFindLeaks(m)) }

// clock is a clock that stands until it is moved. Deadlines of connections follow it, so it starts at the
// real time.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) move(d time.Duration) { c.ahead.Add(int64(d)) }

func (c *clock) config(cfg Config) Config {
	cfg.Now = c.now
	return cfg
}

func goals(n ...int) *envtest.FakeSuite { return envtest.NewFakeSuite(envtest.FakeConfig{}, n...) }

func seconds30() (context.Context, func()) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}

func dialURL(base, path string) string { return "ws" + strings.TrimPrefix(base, "http") + path }

// rig is a server that serves, and the suite behind it.
type rig struct {
	*Server
	url   string
	suite *envtest.FakeSuite
}

// start serves until the test ends, and then checks that every environment is closed.
func start(t testing.TB, suite *envtest.FakeSuite, cfg Config) *rig {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Suite = suite
	tasks, err := suite.Tasks(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Panel = harness.Panel{Name: "panel", Tasks: tasks}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		ts.Close()
		if suite.Opened() != suite.Closed() {
			t.Errorf("%d environments were opened, %d closed", suite.Opened(), suite.Closed())
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return &rig{s, ts.URL, suite}
}

// client is a WebSocket as a trainer has it.
type client struct {
	t *testing.T
	*websocket.Conn
}

func (r *rig) dial(t *testing.T) *client { return r.dialPath(t, "/ws") }

func (r *rig) dialPath(t *testing.T, path string) *client {
	t.Helper()
	ctx, cancel := seconds30()
	defer cancel()
	c, resp, err := websocket.DefaultDialer.DialContext(ctx, dialURL(r.url, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	t.Cleanup(func() { c.Close() })
	return &client{t, c}
}

// reply is any answer.
type reply struct {
	Type string
	Data struct {
		Observation observation `json:"observation"`
		Reward      *float64    `json:"reward"`
		Done        bool        `json:"done"` // of an observation and of a state
		Metadata    metadata    `json:"metadata"`
		state
		fault
	}
}

func (c *client) ask(format string, args ...any) reply {
	c.t.Helper()
	if err := c.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatal(err)
	}
	return c.hear()
}

func (c *client) hear() reply {
	c.t.Helper()
	var r reply
	if err := json.Unmarshal(c.raw(), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *client) raw() []byte {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		c.t.Fatal(err)
	}
	_, raw, err := c.ReadMessage()
	if err != nil {
		c.t.Fatal(err)
	}
	return raw
}

// ends expects that the server closes the connection with the code.
func (c *client) ends(code int) {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		c.t.Fatal(err)
	}
	if _, raw, err := c.ReadMessage(); !websocket.IsCloseError(err, code) {
		c.t.Errorf("got %q, %v, want the end with code %d", raw, err, code)
	}
}

// eventually waits for a condition that must come true.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// do sends a request and decodes its answer.
func (r *rig) do(t *testing.T, method, path, body string, header ...string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var v any
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		t.Fatalf("%s %s: %d: %v", method, path, resp.StatusCode, err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		m = map[string]any{"": v}
	}
	return resp.StatusCode, m
}

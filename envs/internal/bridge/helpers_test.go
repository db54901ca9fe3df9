package bridge_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/hindsightrl/harness/envs/internal/bridge"
)

// fake is a server that speaks the bridge's protocol as the test wants it to.
type fake struct {
	*httptest.Server

	open  atomic.Int64 // connections
	greet string
	// answer makes the replies to a request; "hang up" ends the connection.
	answer func(request map[string]any) []string
}

const hangUp = "hang up"

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{greet: `{"protocol":1,"environment":"fake","versions":{"the-package":"1.2"}}`}
	f.answer = func(r map[string]any) []string {
		text := "reset"
		if r["op"] == "step" {
			text = r["action"].(string)
		}
		return []string{reply(r, map[string]any{"observation": text, "admissible": []string{"a", "b"}, "score": 0.5, "won": false, "done": false})}
	}
	var up websocket.Upgrader
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer open sesame" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		f.open.Add(1)
		defer f.open.Add(-1)
		f.serve(conn)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(conn *websocket.Conn) {
	if conn.WriteMessage(websocket.TextMessage, []byte(f.greet)) != nil {
		return
	}
	for {
		var request map[string]any
		if conn.ReadJSON(&request) != nil {
			return
		}
		for _, r := range f.answer(request) {
			if r == hangUp || conn.WriteMessage(websocket.TextMessage, []byte(r)) != nil {
				return
			}
		}
	}
}

// reply is the JSON of an answer to a request.
func reply(request, answer map[string]any) string {
	answer["id"] = request["id"]
	raw, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func (f *fake) config() bridge.Config {
	return bridge.Config{Address: "ws" + strings.TrimPrefix(f.URL, "http"), Token: "open sesame", Environment: "fake"}
}

func (f *fake) bridge(t *testing.T) *bridge.Bridge {
	t.Helper()
	b, err := bridge.Open(t.Context(), f.config())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (f *fake) session(t *testing.T) *bridge.Session {
	t.Helper()
	s, err := f.bridge(t).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

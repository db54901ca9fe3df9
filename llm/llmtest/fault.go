package llmtest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// Fault answers one request instead of the server; honest writes what the server would have written.
type Fault func(s *Server, w http.ResponseWriter, r *http.Request, honest func(http.ResponseWriter))

// Status answers with a status and headers (name, value, …).
func Status(code int, headers ...string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ func(http.ResponseWriter)) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		fail(w, code, fmt.Sprintf("injected status %d", code))
	}
}

// Refuse answers 400 with a message.
func Refuse(msg string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ func(http.ResponseWriter)) {
		fail(w, http.StatusBadRequest, msg)
	}
}

// Hang answers nothing until the client gives up.
func Hang() Fault {
	return func(_ *Server, _ http.ResponseWriter, r *http.Request, _ func(http.ResponseWriter)) {
		<-r.Context().Done()
	}
}

// Reset breaks the connection before the first byte, with a TCP reset.
func Reset() Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, _ func(http.ResponseWriter)) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// record returns the honest reply.
func record(honest func(http.ResponseWriter)) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	honest(rec)
	return rec
}

// MidStream sends half of the reply and breaks the connection.
func MidStream() Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, honest func(http.ResponseWriter)) {
		body := record(honest).Body.Bytes()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body[:len(body)/2])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// Truncate sends half of the reply as if it were whole.
func Truncate() Fault {
	return rewrite(func(body string) string { return body[:len(body)/2] })
}

// Body sends another body with status 200.
func Body(text string) Fault { return rewrite(func(string) string { return text }) }

// Replace exchanges text in the reply; a reply without it is a broken test.
func Replace(from, to string, n int) Fault {
	return rewrite(func(body string) string {
		if !strings.Contains(body, from) {
			panic(fmt.Sprintf("llmtest: the reply has no %q: %s", from, body))
		}
		return strings.Replace(body, from, to, n)
	})
}

func rewrite(f func(string) string) Fault {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request, honest func(http.ResponseWriter)) {
		rec := record(honest)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(rec.Code)
		_, _ = w.Write([]byte(f(rec.Body.String())))
	}
}

// Edit changes the reply as a JSON tree.
func Edit(change func(reply map[string]any)) Fault {
	return rewrite(func(body string) string {
		var tree map[string]any
		if err := json.Unmarshal([]byte(body), &tree); err != nil {
			panic(fmt.Sprintf("llmtest: edit %q: %v", body, err))
		}
		change(tree)
		b, err := json.Marshal(tree)
		if err != nil {
			panic(err)
		}
		return string(b)
	})
}

// DropLast removes the last element of every list with that name, at any depth.
func DropLast(name string) Fault {
	return Edit(func(reply map[string]any) {
		if !walk(reply, name, func(v any) any {
			if l, ok := v.([]any); ok && len(l) > 0 {
				return l[:len(l)-1]
			}
			return v
		}) {
			panic("llmtest: the reply has no list " + name)
		}
	})
}

// Set replaces every value with that name, at any depth.
func Set(name string, value any) Fault {
	return Edit(func(reply map[string]any) {
		if !walk(reply, name, func(any) any { return value }) {
			panic("llmtest: the reply has no value " + name)
		}
	})
}

// walk applies f to every member with that name and reports whether there was one.
func walk(tree any, name string, f func(any) any) bool {
	found := false
	switch t := tree.(type) {
	case map[string]any:
		for k, v := range t {
			if k == name {
				t[k], found = f(v), true
				continue
			}
			found = walk(v, name, f) || found
		}
	case []any:
		for _, v := range t {
			found = walk(v, name, f) || found
		}
	}
	return found
}

// Slow waits before the honest reply.
func Slow(d time.Duration) Fault {
	return func(_ *Server, w http.ResponseWriter, r *http.Request, honest func(http.ResponseWriter)) {
		select {
		case <-time.After(d):
			honest(w)
		case <-r.Context().Done():
		}
	}
}

// Restart changes the server's options and breaks the connection, as a server that is replaced does.
func Restart(change func(*Options)) Fault {
	return func(s *Server, w http.ResponseWriter, r *http.Request, honest func(http.ResponseWriter)) {
		s.Update(change)
		Reset()(s, w, r, honest)
	}
}

package openenv

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// lingerFor is how long a connection that is over stays open for its client.
const lingerFor = 5 * time.Second

var upgrader = websocket.Upgrader{ReadBufferSize: 4 << 10, WriteBufferSize: 8 << 10} // refuses other origins by default

// wsConn is a client's WebSocket. out serialises what is written. ctx ends when the client is gone or
// nothing more is to be served.
type wsConn struct {
	s    *Server
	c    *websocket.Conn
	in   chan []byte // messages; nil for one that is no text
	out  sync.Mutex
	ctx  context.Context
	stop context.CancelFunc
	read chan struct{} // closed when the client says no more
	long bool          // it said too much at once; valid once read is closed
}

// speaker is what differs between the two kinds of WebSocket.
type speaker struct {
	refuse func(*wsConn, *fault)                       // says why the session ends, or why there is none
	serve  func(*wsConn, *session, []byte) (more bool) // answers one message
}

// connect takes a WebSocket, opens its session or attaches it to an open one, and serves message after
// message until the client goes, says close, or the session ends.
func (s *Server) connect(w http.ResponseWriter, r *http.Request, sp speaker) {
	if !s.enter() {
		httpError(w, http.StatusServiceUnavailable, "the server is stopping")
		return
	}
	defer s.live.Done()
	c, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	k := &wsConn{s: s, c: c, in: make(chan []byte), read: make(chan struct{})}
	k.ctx, k.stop = context.WithCancel(s.stop)
	defer k.goodbye()
	c.SetReadLimit(s.cfg.MaxMessage)
	// The end of the connection is confirmed only when the session's place is free again.
	c.SetCloseHandler(func(int, string) error { return nil })
	go k.listen()
	kick := func(why *fault) {
		sp.refuse(k, why)
		k.stop()
	}
	id := r.URL.Query().Get("session_id")
	var x *session
	if id != "" {
		x, err = s.attach(id, kick)
	} else {
		x, err = s.open(kick)
	}
	if err != nil {
		sp.refuse(k, asFault(err))
		return
	}
	k.loop(x, sp)
	if id != "" {
		s.detach(x)
		return
	}
	s.end(x, nil)
	<-x.gone
}

// enter counts a connection in, unless the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.live.Add(1)
	return true
}

// listen reads to the client's end, also while a call is under way: a client that leaves interrupts it.
// What comes when nothing more is served is dropped.
func (k *wsConn) listen() {
	defer close(k.read)
	defer k.stop()
	for {
		kind, raw, err := k.c.ReadMessage()
		if err != nil {
			k.long = errors.Is(err, websocket.ErrReadLimit)
			return
		}
		if kind != websocket.TextMessage {
			raw = nil
		}
		select {
		case k.in <- raw:
		case <-k.ctx.Done():
		}
	}
}

func (k *wsConn) loop(x *session, sp speaker) {
	for {
		select {
		case raw := <-k.in:
			if !sp.serve(k, x, raw) {
				return
			}
		case <-k.ctx.Done():
			return
		}
	}
}

// send writes a message. A client that does not read it in time is cut off.
func (k *wsConn) send(raw []byte) {
	k.out.Lock()
	defer k.out.Unlock()
	if k.c.SetWriteDeadline(k.s.cfg.Now().Add(k.s.cfg.Stall)) != nil || k.c.WriteMessage(websocket.TextMessage, raw) != nil {
		k.stop()
	}
}

// goodbye closes the connection, after the client has had time to read what was said last: closed at
// once, with a message unread, it would be reset and the reason lost.
func (k *wsConn) goodbye() {
	defer k.c.Close()
	k.stop()
	code := websocket.CloseNormalClosure
	if k.s.closing() {
		code = websocket.CloseGoingAway
	}
	deadline := k.s.cfg.Now().Add(lingerFor)
	k.out.Lock()
	err := k.c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), deadline)
	k.out.Unlock()
	if k.c.SetReadDeadline(deadline) != nil || err != nil && !errors.Is(err, websocket.ErrCloseSent) {
		k.c.Close()
	}
	<-k.read
	if k.long {
		k.s.cfg.Log.Warn("message too large", "client", k.c.RemoteAddr().String(), "limit", k.s.cfg.MaxMessage)
		io.Copy(io.Discard, k.c.NetConn()) //nolint:errcheck // the rest of it, so that the refusal arrives
	}
}

// serveWS is GET /ws: OpenEnv's own messages.
func (s *Server) serveWS(w http.ResponseWriter, r *http.Request) {
	s.connect(w, r, speaker{func(k *wsConn, f *fault) { k.send(encode(envelope{"error", f})) }, s.serveMessage})
}

// serveMessage answers one message; more is false after "close".
func (s *Server) serveMessage(k *wsConn, x *session, raw []byte) (more bool) {
	m, f := parseMessage(raw)
	if f != nil {
		k.send(encode(envelope{"error", f}))
		return true
	}
	if m.kind == kindClose {
		return false
	}
	var answer envelope
	err := s.use(x, func() (err error) {
		answer, err = s.do(k.ctx, x, m)
		return err
	})
	if err != nil {
		if k.ctx.Err() != nil {
			return false
		}
		answer = envelope{"error", asFault(err)}
	}
	k.send(encode(answer))
	return true
}

func (s *Server) do(ctx context.Context, x *session, m message) (envelope, error) {
	switch m.kind {
	case kindReset:
		res, err := x.reset(ctx, m.reset)
		return envelope{"observation", res}, err
	case kindStep:
		res, err := x.step(ctx, m.action)
		return envelope{"observation", res}, err
	case kindMCP:
		return envelope{"mcp", json.RawMessage(s.rpc(ctx, x, m.rpc))}, nil
	}
	return envelope{"state", x.state()}, nil
}

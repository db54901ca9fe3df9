package feed

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// Liveness of WebSocket connections.
const (
	pingEvery  = 20 * time.Second
	pongWithin = 60 * time.Second
	atOnce     = 8 // requests of one connection that are worked on at the same time
)

// upgrader refuses other origins by default. Connections that are not writing share their buffers.
var upgrader = websocket.Upgrader{ReadBufferSize: 4 << 10, WriteBufferSize: wsBuffers, WriteBufferPool: &sync.Pool{}}

// wsConn is one client. Its reading goroutine starts one goroutine per request; out serialises what they
// write, so that a batch's rows directly follow its header.
type wsConn struct {
	s    *Server
	c    *websocket.Conn
	out  sync.Mutex
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup
	names
	batches atomic.Int64 // that were sent whole
}

func (s *Server) serveWS(w http.ResponseWriter, r *http.Request) {
	if !s.conns.TryAcquire(1) {
		writeError(w, errTooMany)
		return
	}
	defer s.conns.Release(1)
	if !s.enter() {
		writeError(w, errStopping)
		return
	}
	defer s.live.Done()
	c, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	s.connected.Add(1)
	k := &wsConn{s: s, c: c}
	k.ctx, k.stop = context.WithCancel(s.stop)
	defer k.close()
	undo := context.AfterFunc(k.ctx, func() {
		msg := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
		c.WriteControl(websocket.CloseMessage, msg, s.cfg.Now().Add(time.Second)) //nolint:errcheck // it is closed next
		c.Close()
	})
	defer undo()
	k.read()
}

func (k *wsConn) close() {
	k.stop()
	k.c.Close()
	k.work.Wait()
	for _, consumer := range k.list() {
		k.s.cfg.Log.Info("trainer left", logClient, k.c.RemoteAddr().String(), logConsumer, consumer, logLeases, k.batches.Load())
	}
	k.leaveAll()
	k.s.connected.Add(-1)
}

// read takes requests until the client goes, falls silent, or breaks the protocol of WebSocket itself.
func (k *wsConn) read() {
	k.c.SetReadLimit(maxMessage)
	alive := func(string) error { return k.c.SetReadDeadline(k.s.cfg.Now().Add(pongWithin)) }
	k.c.SetPongHandler(alive)
	if alive("") != nil {
		return
	}
	k.work.Go(k.ping)
	slots := make(chan struct{}, atOnce)
	for {
		kind, raw, err := k.c.ReadMessage()
		if err != nil {
			if errors.Is(err, websocket.ErrReadLimit) {
				k.s.cfg.Log.Warn("message too large", "client", k.c.RemoteAddr().String())
			}
			return
		}
		if alive("") != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-k.ctx.Done():
			return
		}
		k.work.Go(func() {
			defer func() { <-slots }()
			if kind != websocket.TextMessage {
				k.reply(answer{Error: badRequest("a binary message: requests are JSON text")})
				return
			}
			k.handle(raw)
		})
	}
}

// ping keeps the connection alive while nothing happens, and finds out when the client is gone.
func (k *wsConn) ping() {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-t.C:
			if k.c.WriteControl(websocket.PingMessage, nil, k.s.cfg.Now().Add(k.s.cfg.Stall)) != nil {
				k.stop()
				return
			}
		}
	}
}

// handle answers one message.
func (k *wsConn) handle(raw []byte) {
	req, err := parseRequest(raw)
	if err == nil {
		err = req.check(&k.s.cfg)
	}
	if err == nil && req.Op != opLost { // who has lost what he held is not there because of it
		defer k.name(req.Consumer)()
	}
	if err == nil && req.Op == opLease {
		err = k.lease(&req)
	} else if err == nil {
		var a answer
		if a, err = k.s.do(k.ctx, &req, &k.names); err == nil {
			a.ID = req.ID
			k.reply(a)
		}
	}
	if err != nil && k.ctx.Err() == nil {
		k.s.logFailure(&req, err)
		k.reply(answer{ID: req.ID, Error: clientError(err)})
	}
}

// name counts the connection under a consumer's name, and logs the first use of it. done ends the request.
func (k *wsConn) name(consumer string) (done func()) {
	first, done := k.add(k.s.trainers, consumer)
	if first {
		k.s.waiting.end(consumer)
		k.s.cfg.Log.Info("trainer connected", logClient, k.c.RemoteAddr().String(), logConsumer, consumer)
	}
	return done
}

func (k *wsConn) lease(req *request) error {
	o, err := k.s.lease(k.ctx, req)
	if err != nil {
		return err
	}
	if len(o.Groups) == 0 {
		k.reply(answer{ID: req.ID, OK: true, Drained: o.drained, Held: o.held})
		return nil
	}
	b, err := k.s.open(k.ctx, o.Lease)
	if err != nil {
		return err
	}
	k.out.Lock()
	defer k.out.Unlock()
	kind := websocket.BinaryMessage
	if req.Format == FormatJSON {
		kind = websocket.TextMessage
	}
	if err := k.sendBatch(req, b, kind); err != nil {
		// A message that was begun cannot be taken back: the client must see that it is not whole.
		k.s.cfg.Log.Warn("batch not sent", "lease", o.ID, "consumer", req.Consumer, "error", err)
		k.stop()
		return nil
	}
	k.batches.Add(1)
	return nil
}

func (k *wsConn) sendBatch(req *request, b batch, kind int) error {
	if err := k.write(answer{ID: req.ID, OK: true, Batch: b.header}); err != nil {
		return err
	}
	w, err := k.c.NextWriter(kind)
	if err != nil {
		return err
	}
	if err := k.s.send(k.ctx, &pieces{w: w, deadline: k.deadline}, b, req.Format); err != nil {
		return err // without Close: the message stays unfinished
	}
	return w.Close()
}

func (k *wsConn) deadline() error { return k.c.SetWriteDeadline(k.s.cfg.Now().Add(k.s.cfg.Stall)) }

func (k *wsConn) reply(a answer) {
	k.out.Lock()
	defer k.out.Unlock()
	if k.write(a) != nil {
		k.stop()
	}
}

func (k *wsConn) write(a answer) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := k.deadline(); err != nil {
		return err
	}
	return k.c.WriteMessage(websocket.TextMessage, raw)
}

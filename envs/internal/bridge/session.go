package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gorilla/websocket"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Answer is what the original says after a reset or a step.
type Answer struct {
	Observation string   `json:"observation"`
	Task        string   `json:"task"` // where the original states it apart
	Admissible  []string `json:"admissible"`
	Won         bool     `json:"won"`
	Score       float64  `json:"score"`
	Done        bool     `json:"done"`
}

// kindRequest is the server's word for a message that makes no sense; it is this program's fault.
const kindRequest = "request"

// reply is any message of the server.
type reply struct {
	ID *int `json:"id"`
	Answer

	Error string `json:"error"`
	Kind  string `json:"kind"`

	// The greeting's.
	Protocol    int               `json:"protocol"`
	Environment string            `json:"environment"`
	Versions    map[string]string `json:"versions"`
}

// maxMessage bounds what the server may send in one message.
const maxMessage = 64 << 20

// closeGrace bounds the goodbye.
const closeGrace = 5 * time.Second

// Session is one episode's connection. One goroutine uses it at a time.
type Session struct {
	bridge *Bridge
	conn   *websocket.Conn
	in     chan reply // closed when nothing is read any more
	err    error      // why; may be read once in is closed
	quit   chan struct{}
	last   int
	begun  bool // a reset was answered, and all since then too
	closed bool
}

func newSession(b *Bridge, conn *websocket.Conn) *Session {
	conn.SetReadLimit(maxMessage)
	s := &Session{bridge: b, conn: conn, in: make(chan reply, 1), quit: make(chan struct{})}
	go s.read()
	return s
}

// read receives as long as the connection lives, so that the server's pings are answered while the agent
// thinks.
func (s *Session) read() {
	defer close(s.in)
	for {
		_, raw, err := s.conn.ReadMessage()
		if err != nil {
			s.err = err
			return
		}
		var r reply
		if err := json.Unmarshal(raw, &r); err != nil {
			s.err = fmt.Errorf("the bridge sent what is no answer: %w", err)
			return
		}
		select {
		case s.in <- r:
		case <-s.quit:
			s.err = errors.New("the session was closed")
			return
		}
	}
}

// greeting reads who the server is.
func (s *Session) greeting(ctx context.Context) (versions map[string]string, err error) {
	r, err := s.receive(ctx, nil)
	want := s.bridge.config.Environment
	switch {
	case err != nil:
		return nil, err
	case r.Protocol != protocol:
		return nil, errext.WithHint(fmt.Errorf("the bridge speaks protocol %d, this program %d", r.Protocol, protocol), "build the image from the files of this version")
	case r.Environment != want:
		return nil, errext.WithHint(fmt.Errorf("the bridge serves %q, not %q", r.Environment, want), "name another image or address")
	}
	return r.Versions, nil
}

// receive waits for the answer to a request; nil is for the greeting. Answers to requests that were
// given up come before it and are dropped.
func (s *Session) receive(ctx context.Context, id *int) (reply, error) {
	for {
		select {
		case r, ok := <-s.in:
			switch {
			case !ok:
				return reply{}, s.err
			case r.Error != "" && r.ID == nil:
				return reply{}, &refused{r.Kind, r.Error}
			case id == nil && r.ID == nil, id != nil && r.ID != nil && *r.ID == *id:
				return r, nil
			}
		case <-ctx.Done():
			return reply{}, ctx.Err()
		}
	}
}

// refused is an error that the server answered with.
type refused struct{ kind, text string }

func (r *refused) Error() string { return r.text }

// Reset starts an episode. The request is what the environment's adapter wants to know.
func (s *Session) Reset(ctx context.Context, request map[string]any) (Answer, error) {
	s.begun = false
	message := map[string]any{"op": "reset"}
	for k, v := range request {
		message[k] = v
	}
	a, err := s.call(ctx, "reset", message)
	s.begun = err == nil
	return a, err
}

// errNotBegun is what a step gives where the state is not known.
var errNotBegun = errors.New("no episode is under way: reset first")

// Step takes an action. After an error the state is not known, and a Reset must come first.
func (s *Session) Step(ctx context.Context, action string) (Answer, error) {
	if !s.begun {
		return Answer{}, errNotBegun
	}
	a, err := s.call(ctx, "step", map[string]any{"op": "step", "action": action})
	s.begun = err == nil
	return a, err
}

func (s *Session) call(ctx context.Context, op string, message map[string]any) (Answer, error) {
	if s.closed {
		return Answer{}, errors.New("the session is closed")
	}
	call, cancel := context.WithTimeout(ctx, s.bridge.config.CallLimit)
	defer cancel()
	s.last++
	id := s.last
	message["id"] = id
	deadline, _ := call.Deadline()
	err := s.conn.SetWriteDeadline(deadline)
	if err == nil {
		err = s.conn.WriteJSON(message)
	}
	if err != nil {
		return Answer{}, s.bridge.failure(ctx, op, err)
	}
	r, err := s.receive(call, &id)
	if err == nil && r.Error != "" {
		err = &refused{r.Kind, r.Error}
	}
	if no := (*refused)(nil); errors.As(err, &no) && no.kind == kindRequest {
		return Answer{}, harness.FailFinal(harness.FailEnv, op, fmt.Errorf("the original: %w", err))
	} else if no != nil {
		return Answer{}, harness.Fail(harness.FailEnv, op, fmt.Errorf("the original: %w", err))
	}
	if err != nil {
		return Answer{}, s.bridge.failure(ctx, op, err)
	}
	return r.Answer, nil
}

// Usable reports whether a reset may be tried: the connection has not ended.
func (s *Session) Usable() bool {
	if s.closed {
		return false
	}
	select {
	case _, ok := <-s.in: // an answer that nobody waits for any more
		return ok
	default:
		return true
	}
}

// Close ends the session, also at the server. A second time is no error.
func (s *Session) Close() error {
	if s.closed {
		return nil
	}
	s.closed, s.begun = true, false
	grace, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	deadline, _ := grace.Deadline()
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = s.conn.WriteControl(websocket.CloseMessage, bye, deadline) // the server also notices without
	err := s.conn.Close()
	close(s.quit)
	for range s.in { // ends when the reader has
	}
	return err
}

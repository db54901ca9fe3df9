package feed

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// ContentArrow is the media type of Arrow IPC streams.
const ContentArrow = "application/vnd.apache.arrow.stream"

// Handler serves the protocol of docs/feed.md:
//
//	GET  /v1/ws       WebSocket: every operation
//	POST /v1/lease    one batch: the rows, or 204
//	POST /v1/ack, /v1/return, /v1/extend, /v1/lost, /v1/version
//	GET  /v1/status
//	GET  /healthz     needs no token
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /v1/ws", s.guard(s.serveWS))
	mux.HandleFunc("GET /v1/status", s.guard(func(w http.ResponseWriter, r *http.Request) {
		s.serveOp(w, r, &request{Op: opStatus})
	}))
	for _, op := range []string{opLease, opAck, opReturn, opExtend, opLost, opVersion} {
		mux.HandleFunc("POST /v1/"+op, s.guard(func(w http.ResponseWriter, r *http.Request) { s.servePost(w, r, op) }))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &Error{codeMethod, "no " + r.Method + " " + r.URL.Path, "the addresses are in docs/feed.md", http.StatusNotFound})
	})
	return mux
}

// Guard is h behind the server's token, or for this machine alone where it has none: for what is served
// beside the feed.
func (s *Server) Guard(h http.Handler) http.Handler { return s.guard(h.ServeHTTP) }

// guard lets requests in that show the token. Without a token it lets in those that were sent to this
// machine by its loopback name: a web page in a browser here cannot send one under another name.
func (s *Server) guard(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Token == "" {
			if !loopback(r.Host) {
				writeError(w, &Error{codeAuth, "this server takes requests to localhost only", "start it with a token to serve other machines", http.StatusForbidden})
				return
			}
		} else if !sameToken(r.Header.Get("Authorization"), s.cfg.Token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, &Error{codeAuth, "the token is missing or wrong", "send the header Authorization: Bearer TOKEN", http.StatusUnauthorized})
			return
		}
		next(w, r)
	}
}

func loopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// sameToken compares in a time that does not depend on where they differ.
func sameToken(header, token string) bool {
	got, ok := strings.CutPrefix(header, "Bearer ")
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// bodyWithin is how long a client may take to send a message.
const bodyWithin = 10 * time.Second

func (s *Server) servePost(w http.ResponseWriter, r *http.Request, op string) {
	// A form can be posted from any web page without asking; JSON cannot.
	if ct, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || ct != "application/json" {
		writeError(w, &Error{codeBad, "the content type must be application/json", "", http.StatusUnsupportedMediaType})
		return
	}
	ctl := http.NewResponseController(w)
	if err := ctl.SetReadDeadline(s.cfg.Now().Add(bodyWithin)); err != nil {
		writeError(w, clientError(err))
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		writeError(w, &Error{codeTooLarge, "the message is too large", "", http.StatusRequestEntityTooLarge})
		return
	} else if err != nil {
		writeError(w, badRequest("read the message: %v", err))
		return
	}
	if err := ctl.SetReadDeadline(time.Time{}); err != nil { // a lease may wait for longer than a message may take
		writeError(w, clientError(err))
		return
	}
	req, err := parseRequest(raw)
	if err == nil && req.Op != "" && req.Op != op {
		err = badRequest("op %q was posted to /v1/%s", req.Op, op)
	}
	if err != nil {
		writeError(w, clientError(err))
		return
	}
	req.Op = op
	s.serveOp(w, r, &req)
}

func (s *Server) serveOp(w http.ResponseWriter, r *http.Request, req *request) {
	err := req.check(&s.cfg)
	if err == nil && req.Op == opLease {
		err = s.serveLease(w, r, req)
	} else if err == nil {
		var a answer
		if a, err = s.do(r.Context(), req, nil); err == nil {
			writeJSON(w, http.StatusOK, a)
		}
	}
	if err != nil {
		s.logFailure(req, err)
		writeError(w, clientError(err))
	}
}

// logFailure keeps what a client is not told.
func (s *Server) logFailure(req *request, err error) {
	if clientError(err).Code == codeInternal && !errors.Is(err, context.Canceled) {
		s.cfg.Log.Error("request failed", "op", req.Op, "lease", req.Lease, "error", err)
	}
}

func (s *Server) serveLease(w http.ResponseWriter, r *http.Request, req *request) error {
	if !s.conns.TryAcquire(1) {
		return errTooMany
	}
	defer s.conns.Release(1)
	defer s.trainers.enter(req.Consumer)()
	o, err := s.lease(r.Context(), req)
	if err != nil {
		return err
	}
	if len(o.Groups) == 0 {
		if o.drained {
			w.Header().Set("Hindsight-Drained", "true")
		}
		if len(o.held) > 0 {
			w.Header().Set("Hindsight-Held", heldText(o.held))
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	b, err := s.open(r.Context(), o.Lease)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", ContentArrow)
	if req.Format == FormatJSON {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Hindsight-Lease", o.ID)
	ctl := http.NewResponseController(w)
	out := &pieces{w: w, deadline: func() error { return ctl.SetWriteDeadline(s.cfg.Now().Add(s.cfg.Stall)) }}
	if err := s.send(r.Context(), out, b, req.Format); err != nil && out.sent == 0 {
		return err
	} else if err != nil {
		s.cfg.Log.Warn("batch not sent", "lease", o.ID, "consumer", req.Consumer, "error", err)
		panic(http.ErrAbortHandler) // the status is out: only a cut connection tells the client that this is not all
	}
	return nil
}

var errTooMany = &Error{codeMany, "too many connections", "close some, or start the server with a higher --max-conns", http.StatusServiceUnavailable}

func writeError(w http.ResponseWriter, e *Error) { writeJSON(w, e.status, answer{Error: e}) }

func writeJSON(w http.ResponseWriter, status int, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(a) //nolint:errcheck // a client that is gone needs no answer
}

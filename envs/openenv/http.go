package openenv

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"time"
)

// handler serves, with names and forms of the original (openenv/core/env_server/http_server.py):
//
//	GET  /ws                                     a session: reset, step, state, mcp, close
//	GET  /mcp (WebSocket), POST /mcp             JSON-RPC: tools, sessions
//	POST /reset, /step, GET /state               for a session that JSON-RPC opened
//	GET  /schema, /metadata, /openapi.json
//	GET  /health                                 needs no token
//	GET  /list_environments, /{env}/splits, POST /{env}/tasks, /num_tasks, /task, /task_range
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "healthy"})
	})
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /ws": s.serveWS, "GET /mcp": s.serveMCPWS, "POST /mcp": s.serveMCP,
		"POST /reset": s.serveReset, "POST /step": s.serveStep, "GET /state": s.serveState,
		"GET /schema": s.serveSchema, "GET /metadata": s.serveMetadata, "GET /openapi.json": s.serveOpenAPI,
		"GET /list_environments": s.listEnvironments, "GET /{env}/splits": s.listSplits, "POST /{env}/tasks": s.listTasks,
		"POST /{env}/num_tasks": s.numTasks, "POST /{env}/task": s.getTask, "POST /{env}/task_range": s.getTaskRange,
	} {
		mux.HandleFunc(pattern, s.guard(h))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { httpError(w, http.StatusNotFound, "Not Found") })
	return mux
}

// guard lets requests in that show the token. Without a token it lets in those that were sent to this
// machine by its loopback name: a web page in a browser here cannot send one under another name.
func (s *Server) guard(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Token == "" {
			if !loopback(r.Host) {
				httpError(w, http.StatusForbidden, "this server takes requests to localhost only: start it with a token to serve other machines")
				return
			}
		} else if !sameToken(r.Header.Get("Authorization"), s.cfg.Token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			httpError(w, http.StatusUnauthorized, "the token is missing or wrong: send the header Authorization: Bearer TOKEN")
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

// serveReset is POST /reset. Without a session's id the episode ends with the answer, as the original's
// does: it shows what a task begins with.
func (s *Server) serveReset(w http.ResponseWriter, r *http.Request) {
	raw, ok := s.body(w, r)
	if !ok {
		return
	}
	d, f := parseReset(raw, true, "body")
	if f != nil {
		httpFault(w, f)
		return
	}
	x, err := s.borrow(d.SessionID)
	if err != nil {
		httpFault(w, asFault(err))
		return
	}
	if d.SessionID == "" {
		defer s.end(x, nil)
	}
	var res result
	err = s.use(x, func() (err error) {
		res, err = x.reset(r.Context(), d)
		return err
	})
	s.answer(w, res, err)
}

// serveStep is POST /step. The original steps an environment that nobody has reset; a step here belongs
// to a session.
func (s *Server) serveStep(w http.ResponseWriter, r *http.Request) {
	raw, ok := s.body(w, r)
	if !ok {
		return
	}
	req, f := parseStep(raw)
	if f != nil {
		httpFault(w, f)
		return
	}
	x, err := s.sessionByID(req.session)
	if err != nil {
		httpFault(w, asFault(err))
		return
	}
	ctx := r.Context()
	if req.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, req.timeout)
		defer cancel()
	}
	if req.id != "" {
		w.Header().Set("X-Request-Id", req.id)
	}
	var res result
	err = s.use(x, func() (err error) {
		res, err = x.step(ctx, req.action)
		return err
	})
	s.answer(w, res, err)
}

// serveState is GET /state; without a session's id it is that of a session before its first reset.
func (s *Server) serveState(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("session_id")
	if id == "" {
		writeJSON(w, http.StatusOK, state{})
		return
	}
	x, err := s.sessionByID(id)
	if err != nil {
		httpFault(w, asFault(err))
		return
	}
	writeJSON(w, http.StatusOK, x.state())
}

// borrow finds a session, or opens one for a single call where no id is given.
func (s *Server) borrow(id string) (*session, error) {
	if id == "" {
		return s.open(nil)
	}
	return s.sessionByID(id)
}

// stepRequest is the body of POST /step.
type stepRequest struct {
	action  string
	session string
	id      string
	timeout time.Duration
}

func parseStep(raw []byte) (req stepRequest, f *fault) {
	fields, f := objectAt(raw, []string{"body"})
	if f != nil {
		return req, f
	}
	for _, k := range sortedKeys(fields) {
		v, at := fields[k], []string{"body", k}
		switch k {
		case "action":
			req.action, f = parseAction(v, at...)
		case "session_id":
			req.session, f = text(v, maxID, at)
		case "request_id":
			if !isNull(v) {
				req.id, f = text(v, maxID, at)
			}
		case "timeout_s":
			req.timeout, f = seconds(v, at)
		default:
			f = invalid("extra_forbidden", "Extra inputs are not permitted: a step takes action, session_id, timeout_s, request_id", at...)
		}
		if f != nil {
			return req, f
		}
	}
	if _, ok := fields["action"]; !ok {
		return req, invalid("missing", "Field required", "body", "action")
	}
	if req.session == "" {
		return req, invalid("missing", "Field required: a step over HTTP belongs to a session (POST /mcp, method openenv/session/create); over /ws it needs none", "body", "session_id")
	}
	if strings.ContainsAny(req.id, "\r\n") {
		return req, invalid("value_error", "a request id is one line", "body", "request_id")
	}
	return req, nil
}

// seconds reads a time that is longer than nothing; null is none.
func seconds(raw json.RawMessage, at []string) (time.Duration, *fault) {
	if isNull(raw) {
		return 0, nil
	}
	var x float64
	if json.Unmarshal(raw, &x) != nil {
		return 0, invalid("float_type", "Input should be a valid number", at...)
	}
	if x <= 0 {
		return 0, invalid("greater_than", "Input should be greater than 0", at...)
	}
	return time.Duration(math.Min(x*float64(time.Second), math.MaxInt64/2)), nil
}

// rawBody reads a request's body within the limit; ok is false where it has answered already.
func (s *Server) rawBody(w http.ResponseWriter, r *http.Request) (raw []byte, ok bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.MaxMessage))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		httpError(w, http.StatusRequestEntityTooLarge, "the body is larger than this server takes")
		return nil, false
	}
	return raw, err == nil // else the client is gone
}

// body is rawBody for what must be JSON, or nothing at all.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (raw []byte, ok bool) {
	raw, ok = s.rawBody(w, r)
	if !ok {
		return nil, false
	}
	if len(raw) > 0 && !json.Valid(raw) {
		httpFault(w, invalid("json_invalid", "JSON decode error", "body"))
		return nil, false
	}
	return raw, true
}

func (s *Server) answer(w http.ResponseWriter, res result, err error) {
	if err != nil {
		httpFault(w, asFault(err))
		return
	}
	writeJSON(w, http.StatusOK, res)
}

// httpFault writes an error as FastAPI does: {"detail": …}.
func httpFault(w http.ResponseWriter, f *fault) {
	switch f.Code {
	case codeValidation:
		writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"detail": f.Errors})
	case codeCapacity:
		httpError(w, http.StatusServiceUnavailable, f.Message)
	case codeSession:
		httpError(w, http.StatusNotFound, f.Message)
	default:
		httpError(w, http.StatusInternalServerError, f.Message)
	}
}

func httpError(w http.ResponseWriter, status int, detail string) {
	writeJSON(w, status, map[string]string{"detail": detail})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	raw := encode(v)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(raw) //nolint:errcheck // the client is gone
}

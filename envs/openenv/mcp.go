package openenv

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// JSON-RPC 2.0 error codes.
const (
	rpcParse    = -32700
	rpcRequest  = -32600
	rpcMethod   = -32601
	rpcParams   = -32602
	rpcInternal = -32603
	rpcServer   = -32000
)

// Methods, and the one tool.
const (
	toolName          = "act"
	toolDescription   = "Take one action in the environment and see what it answers."
	methodListTools   = "tools/list"
	methodCallTool    = "tools/call"
	methodOpenSession = "openenv/session/create"
	methodEndSession  = "openenv/session/close"
)

// rpcCall is a JSON-RPC request.
type rpcCall struct {
	Version string          `json:"jsonrpc"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	ID      json.RawMessage `json:"id"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

// rpcArgs are the parameters of all methods; each reads its own.
type rpcArgs struct {
	SessionID string          `json:"session_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// rpc answers a JSON-RPC request. x is the WebSocket's session; nil over plain HTTP.
func (s *Server) rpc(ctx context.Context, x *session, raw []byte) []byte {
	call, args, e := parseRPC(raw)
	id := call.ID
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	var res any
	if e == nil {
		res, e = s.rpcDo(ctx, x, *call.Method, args)
	}
	if e != nil {
		return bytes.TrimSpace(encode(struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   *rpcError       `json:"error"`
		}{"2.0", id, e}))
	}
	return bytes.TrimSpace(encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, res}))
}

// parseRPC reads a request. The call's id is valid whatever is wrong with the rest.
func parseRPC(raw []byte) (call rpcCall, args rpcArgs, e *rpcError) {
	if !json.Valid(raw) {
		return call, args, &rpcError{rpcParse, "Parse error", nil}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&call); err != nil {
		call.ID = nil
		return call, args, &rpcError{rpcRequest, "Invalid request: " + err.Error(), nil}
	}
	if id := bytes.TrimSpace(call.ID); len(id) > 0 && (id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f') {
		call.ID = nil
		return call, args, &rpcError{rpcRequest, "Invalid request: an id is a string or a number", nil}
	}
	if call.Version != "2.0" || call.Method == nil {
		return call, args, &rpcError{rpcRequest, `Invalid request: jsonrpc must be "2.0", and a method named`, nil}
	}
	if len(call.Params) == 0 {
		return call, args, nil
	}
	if !isObject(call.Params) {
		return call, args, &rpcError{rpcParams, "Params must be an object", nil}
	}
	if err := json.Unmarshal(call.Params, &args); err != nil {
		return call, args, &rpcError{rpcParams, "Invalid params: " + err.Error(), nil}
	}
	return call, args, nil
}

func (s *Server) rpcDo(ctx context.Context, x *session, method string, args rpcArgs) (any, *rpcError) {
	switch method {
	case methodOpenSession:
		if x == nil {
			var err error
			if x, err = s.open(nil); err != nil {
				return nil, rpcFault(err)
			}
		}
		return map[string]string{"session_id": x.id}, nil
	case methodEndSession:
		return s.rpcEnd(x, args.SessionID)
	case methodListTools:
		return map[string]any{"tools": []any{map[string]any{
			"name": toolName, "description": toolDescription, "inputSchema": toolSchema,
		}}}, nil
	case methodCallTool:
		return s.rpcAct(ctx, x, args)
	}
	return nil, &rpcError{rpcMethod, "Method not found: " + clip(method), nil}
}

// rpcEnd ends a session that JSON-RPC opened.
func (s *Server) rpcEnd(x *session, id string) (any, *rpcError) {
	switch {
	case id == "":
		return nil, &rpcError{rpcParams, "Invalid params - 'session_id' is required", nil}
	case x != nil && x.id == id:
		return nil, &rpcError{rpcRequest, "Cannot close active WebSocket-managed session via MCP method", nil}
	}
	y, err := s.sessionByID(id)
	if err != nil {
		return nil, rpcFault(err)
	}
	s.end(y, &fault{Message: "Session " + id + " was closed", Code: codeSession})
	return map[string]any{"session_id": id, "closed": true}, nil
}

// rpcAct takes an action. Agents see what the environment says and nothing of rewards.
func (s *Server) rpcAct(ctx context.Context, x *session, args rpcArgs) (any, *rpcError) {
	if args.Name != toolName {
		return nil, &rpcError{rpcParams, "Tool not found: " + clip(args.Name), nil}
	}
	action, f := parseAction(args.Arguments, "arguments")
	if f != nil {
		return nil, &rpcError{rpcParams, f.Error(), f.Errors}
	}
	if x == nil {
		var err error
		if args.SessionID == "" {
			return nil, &rpcError{rpcParams, "Invalid params - 'session_id' is required: " + methodOpenSession + " gives one", nil}
		}
		if x, err = s.sessionByID(args.SessionID); err != nil {
			return nil, rpcFault(err)
		}
	}
	var res result
	if err := s.use(x, func() (err error) {
		res, err = x.step(ctx, action)
		return err
	}); err != nil {
		return nil, rpcFault(err)
	}
	data := map[string]any{"text": res.Observation.Text, "admissible": res.Observation.Admissible, "done": res.Done}
	return map[string]any{
		"content":            []any{map[string]string{"type": "text", "text": res.Observation.Text}},
		"structured_content": data, "data": data, "is_error": false,
	}, nil
}

func rpcFault(err error) *rpcError {
	f := asFault(err)
	switch f.Code {
	case codeCapacity:
		return &rpcError{rpcServer, f.Message, map[string]int{"active_sessions": *f.Active, "max_sessions": *f.Max}}
	case codeSession:
		return &rpcError{rpcParams, f.Message, nil}
	case codeExecution:
		return &rpcError{rpcInternal, f.Message, nil}
	}
	return &rpcError{rpcServer, f.Message, nil}
}

// serveMCP is POST /mcp; errors of JSON-RPC are answers with status 200.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	raw, ok := s.rawBody(w, r)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(s.rpc(r.Context(), nil, raw)) //nolint:errcheck // the client is gone
}

// serveMCPWS is the WebSocket /mcp: JSON-RPC alone, over a session of its own.
func (s *Server) serveMCPWS(w http.ResponseWriter, r *http.Request) {
	s.connect(w, r, speaker{
		refuse: func(k *wsConn, f *fault) {
			k.send(encode(map[string]any{"jsonrpc": "2.0", "id": nil, "error": rpcFault(f)}))
		},
		serve: func(k *wsConn, x *session, raw []byte) bool {
			k.send(s.rpc(k.ctx, x, raw))
			return true
		},
	})
}

package openenv

import (
	"errors"
	"fmt"
	"strings"
)

// Codes of error messages on a WebSocket (WSErrorCode in openenv/core/env_server/types.py).
const (
	codeInvalidJSON = "INVALID_JSON"
	codeUnknownType = "UNKNOWN_TYPE"
	codeValidation  = "VALIDATION_ERROR"
	codeExecution   = "EXECUTION_ERROR"
	codeCapacity    = "CAPACITY_REACHED"
	codeFactory     = "FACTORY_ERROR"
	codeSession     = "SESSION_ERROR"
)

// fault is an error as a client gets it.
type fault struct {
	Message string       `json:"message"`
	Code    string       `json:"code"`
	Errors  []fieldError `json:"errors,omitempty"`          // with codeValidation
	Active  *int         `json:"active_sessions,omitempty"` // with codeCapacity
	Max     *int         `json:"max_sessions,omitempty"`    // with codeCapacity
	Factory string       `json:"factory_name,omitempty"`    // with codeFactory
}

// Error prints the message.
func (f *fault) Error() string { return f.Message }

// fieldError says what is wrong with one field, in pydantic's form.
type fieldError struct {
	Type string   `json:"type"`
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
}

// invalid is a message whose field at loc is wrong. The original's message is "Invalid message" alone, and
// its clients show nothing but the message: what is wrong follows.
func invalid(kind, msg string, loc ...string) *fault {
	text := "Invalid message: " + msg
	if len(loc) > 0 {
		text = "Invalid message: " + strings.Join(loc, ".") + ": " + msg
	}
	return &fault{Message: text, Code: codeValidation, Errors: []fieldError{{kind, loc, msg}}}
}

func invalidf(kind string, loc []string, format string, args ...any) *fault {
	return invalid(kind, fmt.Sprintf(format, args...), loc...)
}

// full is the answer to a session more than there may be, in the original's words.
func full(active, most int) *fault {
	return &fault{
		Message: fmt.Sprintf("Server at capacity: %d/%d sessions active. Cannot accept new connections.", active, most),
		Code:    codeCapacity, Active: &active, Max: &most,
	}
}

// asFault is err as a client gets it: what has no code of its own happened while the environment worked.
func asFault(err error) *fault {
	if f := (*fault)(nil); errors.As(err, &f) {
		return f
	}
	return &fault{Message: err.Error(), Code: codeExecution}
}

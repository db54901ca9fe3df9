package serve

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/hindsightrl/harness/llm"
)

// apiError is an error in the shape of OpenAI's and vLLM's error replies.
type apiError struct {
	status  int
	kind    string
	message string
	param   string // the request's field at fault, "" where none is
}

func (e *apiError) Error() string { return e.message }

// body is {"error":{"message","type","param","code"}}; code repeats the status, as vLLM's does.
func (e *apiError) body() any {
	var param *string
	if e.param != "" {
		param = &e.param
	}
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	}
	return struct {
		Error inner `json:"error"`
	}{inner{e.message, e.kind, param, e.status}}
}

// bad is a request that cannot be answered as it is.
func bad(param, format string, args ...any) error {
	return &apiError{status: http.StatusBadRequest, kind: "BadRequestError", param: param, message: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &apiError{status: http.StatusNotFound, kind: "NotFoundError", message: fmt.Sprintf(format, args...)}
}

// asAPIError finds the reply for any error.
func asAPIError(err error) *apiError {
	var e *apiError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &tooLarge):
		return &apiError{
			status: http.StatusRequestEntityTooLarge, kind: "BadRequestError",
			message: fmt.Sprintf("the request is larger than %d bytes", tooLarge.Limit),
		}
	case errors.Is(err, errAborted):
		return &apiError{status: http.StatusServiceUnavailable, kind: "ServiceUnavailableError", message: err.Error()}
	case errors.Is(err, llm.ErrContextLength):
		return &apiError{
			status: http.StatusBadRequest, kind: "BadRequestError",
			message: "the request is longer than the model's maximum context length: " + err.Error(),
		}
	}
	return &apiError{status: http.StatusInternalServerError, kind: "InternalServerError", message: err.Error()}
}

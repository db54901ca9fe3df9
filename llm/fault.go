package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// Conditions that callers branch on beside ErrContextLength. They are found with errors.Is inside the typed
// failure.
var (
	// ErrModelSwapped: the server no longer runs the model that the client started with. No call
	// succeeds afterwards.
	ErrModelSwapped = errors.New("the server's model changed under the run")
	// ErrUnsupported: the server has no such ability.
	ErrUnsupported = errors.New("the server cannot do this")
	// ErrBadReply: the server answered with something that is not the reply it promises.
	ErrBadReply = errors.New("bad reply")
	// ErrAborted: the server ended the generation early (it was paused or aborted); what it had
	// sampled is no response.
	ErrAborted = errors.New("the server aborted the generation")
	// ErrScoreBudget: scoring would take more requests than Config.MaxScoreCalls.
	ErrScoreBudget = errors.New("scoring takes too many requests")
)

// StatusError is an answer with a status other than 200.
type StatusError struct {
	Method, URL string
	Code        int
	Body        string        // its beginning, keys redacted
	RetryAfter  time.Duration // what the server asked for; 0 = nothing
}

// Error prints the request, the status and the beginning of the body.
func (e *StatusError) Error() string {
	body := e.Body
	if body == "" {
		body = "(empty body)"
	}
	return fmt.Sprintf("%s %s: status %d %s: %s", e.Method, e.URL, e.Code, http.StatusText(e.Code), body)
}

// Is lets a status stand for the condition behind it: an endpoint that is not there for
// ErrUnsupported, a refusal that names the context length for ErrContextLength.
func (e *StatusError) Is(target error) bool {
	switch target {
	case ErrUnsupported:
		return e.Code == http.StatusNotFound || e.Code == http.StatusMethodNotAllowed || e.Code == http.StatusNotImplemented
	case ErrContextLength:
		return (e.Code == http.StatusBadRequest || e.Code == http.StatusRequestEntityTooLarge || e.Code == http.StatusUnprocessableEntity) && saysContext(e.Body)
	}
	return false
}

// saysContext recognises the wordings of vLLM ("maximum context length"), OpenAI
// ("context_length_exceeded"), llama.cpp ("exceed_context_size_error") and SGLang ("longer than the
// model's context length").
func saysContext(body string) bool {
	low := strings.ToLower(body)
	for _, words := range []string{"context length", "context_length", "context size", "context_size", "max_model_len"} {
		if strings.Contains(low, words) {
			return true
		}
	}
	return false
}

// retryable reports whether the same request can succeed later.
func (e *StatusError) retryable() bool {
	switch e.Code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout, 529: // 529 is "overloaded" at several providers
		return true
	}
	return false
}

// finalError marks an error that another attempt cannot mend.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// badReply says what is wrong with a reply; another attempt may bring a whole one.
func badReply(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBadReply, fmt.Errorf(format, args...))
}

// failServer types the error of a call. What another attempt cannot mend is final; the rest stays
// retryable for the episode's own policy. Hints name the remedy that the status points at.
func failServer(op string, err error) error {
	if err == nil {
		return nil
	}
	if f := (*harness.Failure)(nil); errors.As(err, &f) {
		return err
	}
	err = hintFor(err)
	var final finalError
	var status *StatusError
	if errors.As(err, &final) || errors.Is(err, ErrUnsupported) || (errors.As(err, &status) && !status.retryable()) {
		return harness.FailFinal(harness.FailServer, op, err)
	}
	return harness.Fail(harness.FailServer, op, err)
}

func hintFor(err error) error {
	var status *StatusError
	switch {
	case errors.Is(err, ErrModelSwapped):
		return errext.WithHint(err, "start a new run, or put the former model back and resume")
	case errors.Is(err, ErrContextLength):
		return errext.WithHint(err, "shorten the prompt (history, observation) or serve the model with a longer context")
	case errors.As(err, &status):
		switch status.Code {
		case http.StatusUnauthorized, http.StatusForbidden:
			return errext.WithHint(err, "give the server's key")
		case http.StatusNotFound, http.StatusMethodNotAllowed:
			return errext.WithHint(err, "check the address and the model name; `harness doctor --server URL` says what the server can do")
		}
	}
	return err
}

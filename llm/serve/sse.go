package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// events is a stream of server-sent events. Its header is written with the first event, so that an
// error before it still gets a status of its own.
type events struct {
	s       *Server
	w       http.ResponseWriter
	started bool
}

// send writes one event and flushes it. An error means that the client is gone.
func (e *events) send(v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	return e.raw(string(b))
}

func (e *events) raw(data string) error {
	if !e.started {
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		e.w.WriteHeader(http.StatusOK)
		e.started = true
	}
	if _, err := fmt.Fprintf(e.w, "data: %s\n\n", data); err != nil {
		return err
	}
	return http.NewResponseController(e.w).Flush()
}

// end closes the stream. An error after the first event becomes an event, as the status is sent.
func (e *events) end(err error) error {
	if err != nil && !e.started {
		return err
	}
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			e.s.cfg.Log.Warn("stream ended early", "error", err)
		}
		if err := e.send(asAPIError(err).body()); err != nil {
			return nil // nobody is there to be told
		}
	}
	_ = e.raw("[DONE]") // as above
	return nil
}

// streamOptions are OpenAI's and vLLM's.
type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
	Continuous   bool `json:"continuous_usage_stats"`
}

// usage counts a reply's tokens.
type usage struct {
	PromptTokens     int  `json:"prompt_tokens"`
	TotalTokens      int  `json:"total_tokens"`
	CompletionTokens int  `json:"completion_tokens"`
	Details          *int `json:"prompt_tokens_details"` // null: the server counts no cached tokens
}

func usageOf(prompt, completion int) *usage {
	return &usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}
}

// usageNow is the usage in a chunk: only where it is asked for in each.
func (o streamOptions) usageNow(prompt, completion int) *usage {
	if !o.Continuous {
		return nil
	}
	return usageOf(prompt, completion)
}

func completionTokens(choices []*choice) int {
	n := 0
	for _, c := range choices {
		n += len(c.ids)
	}
	return n
}

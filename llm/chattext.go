package llm

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/hindsightrl/harness"
)

// openAIRequest holds the fields that every OpenAI-compatible server knows; the others are sent only
// where the caller asks for them, because strict servers refuse fields that they do not know.
type openAIRequest struct {
	Model               string            `json:"model"`
	Messages            []harness.Message `json:"messages,omitempty"`
	Prompt              []int32           `json:"prompt,omitempty"`
	Temperature         float64           `json:"temperature"`
	TopP                float64           `json:"top_p"`
	TopK                int               `json:"top_k,omitempty"`
	MinP                float64           `json:"min_p,omitempty"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	Stop                []string          `json:"stop,omitempty"`
	Seed                *int64            `json:"seed,omitempty"`
}

// chatText asks for text and nothing else. The Generation has no Tokens: re-tokenised text is not
// what was sampled.
func (s *session) chatText(ctx context.Context, req Request, id Identity) (Generation, error) {
	p := req.Sampling
	body := openAIRequest{Model: id.Model, Messages: req.Messages, Prompt: req.TokenIDs, Temperature: p.Temperature,
		TopP: or(p.TopP, 1), TopK: p.TopK, MinP: p.MinP, MaxTokens: p.MaxTokens, Stop: p.Stop, Seed: p.Seed}
	if s.newLimit.Load() {
		body.MaxTokens, body.MaxCompletionTokens = 0, p.MaxTokens
	}
	smp, out, err := s.sampleText(ctx, body)
	// Newer OpenAI models refuse max_tokens and name the field that replaces it.
	var status *StatusError
	if errors.As(err, &status) && status.Code == http.StatusBadRequest && strings.Contains(status.Body, "max_completion_tokens") && body.MaxTokens > 0 {
		s.newLimit.Store(true)
		body.MaxTokens, body.MaxCompletionTokens = 0, p.MaxTokens
		smp, out, err = s.sampleText(ctx, body)
	}
	if err != nil {
		return Generation{}, err
	}
	if smp.reasoning {
		s.warnOnce("the server's reasoning parser takes thoughts out of the response; they are not recorded")
	}
	s.meter.tokens(smp.usage.PromptTokens, smp.usage.CompletionTokens, 0)
	return Generation{Text: smp.text, Finish: smp.finish, Usage: smp.usage, Latency: out.latency}, nil
}

func (s *session) sampleText(ctx context.Context, body openAIRequest) (sample, outcome, error) {
	path, parse := "/v1/chat/completions", parseChat
	if len(body.Messages) == 0 {
		path, parse = "/v1/completions", parseCompletion
	}
	var smp sample
	out, err := s.call(ctx, request{op: "generate", method: http.MethodPost, path: path, body: body, decode: func(b []byte) error {
		smp = newSample()
		switch err := parse(b, &smp); {
		case err != nil:
			return err
		case !smp.answered:
			return badReply("no choice with text in the reply")
		case smp.finish == "abort":
			return ErrAborted
		}
		return nil
	}})
	return smp, out, err
}

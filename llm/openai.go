package llm

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/hindsightrl/harness"
)

// OpenAI is a client of any server with an OpenAI-compatible chat endpoint. It gives text and never
// token columns: the format carries no token ids, and ids made from text need not be the sampled ones.
type OpenAI struct{ *session }

var _ Client = (*OpenAI)(nil)

// NewOpenAI returns a text-only client of the server at baseURL (with or without /v1). It sends
// nothing yet.
func NewOpenAI(baseURL string, cfg Config) (*OpenAI, error) {
	s, err := newSession("openai", baseURL, cfg)
	if err != nil {
		return nil, err
	}
	s.fetch = func(ctx context.Context) (Identity, error) { return fetchOpenAI(ctx, s) }
	return &OpenAI{s}, nil
}

// fetchOpenAI takes the configured model's word where the server lists none.
func fetchOpenAI(ctx context.Context, s *session) (Identity, error) {
	id := Identity{Engine: "openai"}
	err := s.listed(ctx, &id)
	if errors.Is(err, ErrUnsupported) && s.cfg.Model != "" {
		return Identity{Engine: "openai", Model: s.cfg.Model}, nil
	}
	// Large providers rename what they serve between calls ("gpt-x" answers as "gpt-x-2025-01-01"), so
	// only the listed name counts here.
	return Identity{Engine: id.Engine, Model: id.Model, ContextLength: id.ContextLength}, err
}

// Generate samples one response as text. TopLogprobs is refused: there is nothing to give.
func (c *OpenAI) Generate(ctx context.Context, req Request) (Generation, error) {
	if err := checkRequest(req); err != nil {
		return Generation{}, err
	}
	if req.TopLogprobs > 0 {
		return Generation{}, harness.FailFinal(harness.FailAgent, "generate", errTextOnly)
	}
	c.warnSampler(req.Sampling)
	id, err := c.identity(ctx)
	if err != nil {
		return Generation{}, err
	}
	return c.chatText(ctx, req, id)
}

var errTextOnly = errors.New("this client gives text only: no alternatives, ids or log-probabilities")

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
	body := openAIRequest{
		Model: id.Model, Messages: req.Messages, Prompt: req.TokenIDs, Temperature: p.Temperature,
		TopP: or(p.TopP, 1), TopK: p.TopK, MinP: p.MinP, MaxTokens: p.MaxTokens, Stop: p.Stop, Seed: p.Seed,
	}
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
	s.meter.cached(smp.usage.CachedTokens)
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

package llm

import (
	"context"
	"errors"

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

package llm

import (
	"context"
	"errors"
	"net/http"

	"github.com/hindsightrl/harness"
)

// LlamaCpp is a client of llama.cpp's server. It has all token columns for generation; prompt
// log-probabilities it has not, so Score forces the continuation token by token (llamacpp_score.go).
type LlamaCpp struct{ *session }

var (
	_ Client    = (*LlamaCpp)(nil)
	_ Scorer    = (*LlamaCpp)(nil)
	_ Renderer  = (*LlamaCpp)(nil)
	_ Tokenizer = (*LlamaCpp)(nil)
)

// NewLlamaCpp returns a client of the server at baseURL. It sends nothing yet. Log-probabilities are
// always raw: the client never asks for post-sampling probabilities.
func NewLlamaCpp(baseURL string, cfg Config) (*LlamaCpp, error) {
	cfg.LogprobMode = ModeRaw
	s, err := newSession("llama.cpp", baseURL, cfg)
	if err != nil {
		return nil, err
	}
	s.fetch = func(ctx context.Context) (Identity, error) { return fetchLlamaCpp(ctx, s) }
	return &LlamaCpp{s}, nil
}

// llamaProps is the part of /props that identifies a server.
type llamaProps struct {
	Defaults *struct {
		Context int `json:"n_ctx"`
	} `json:"default_generation_settings"`
	ModelPath string `json:"model_path"`
	Build     string `json:"build_info"`
}

func fetchLlamaCpp(ctx context.Context, s *session) (Identity, error) {
	id := Identity{Engine: "llama.cpp"}
	var props llamaProps
	if err := s.get(ctx, "read properties", "/props", &props); err != nil {
		return Identity{}, err
	}
	err := s.listed(ctx, &id)
	if err != nil && !errors.Is(err, ErrUnsupported) {
		return Identity{}, err
	}
	id.Version, id.Root, id.Model = props.Build, props.ModelPath, or(id.Model, props.ModelPath)
	if props.Defaults != nil {
		id.ContextLength = props.Defaults.Context
	}
	return id, nil
}

// llamaRequest is a request to /completion. The samplers that are on by default (top_k 40, top_p
// 0.95, min_p 0.05) are all set, because left alone they change the policy.
type llamaRequest struct {
	Prompt        []int32  `json:"prompt"`
	NPredict      int      `json:"n_predict"`
	NProbs        int      `json:"n_probs"`
	ReturnTokens  bool     `json:"return_tokens"`
	CachePrompt   bool     `json:"cache_prompt"`
	Temperature   float64  `json:"temperature"`
	TopK          int      `json:"top_k"`
	TopP          float64  `json:"top_p"`
	MinP          float64  `json:"min_p"`
	TypicalP      float64  `json:"typical_p"`
	RepeatPenalty float64  `json:"repeat_penalty"`
	Stop          []string `json:"stop,omitempty"`
	Seed          *int64   `json:"seed,omitempty"`
}

func llamaRequestOf(prompt []int32, p Sampling) llamaRequest {
	n := p.MaxTokens
	if n == 0 {
		n = -1 // the server's own default: until the end of the text or of the context
	}
	return llamaRequest{
		Prompt: prompt, NPredict: n, ReturnTokens: true, Temperature: p.Temperature,
		TopK: max(p.TopK, 0), TopP: or(p.TopP, 1), MinP: p.MinP, TypicalP: 1, RepeatPenalty: 1, Stop: p.Stop, Seed: p.Seed,
	}
}

// Generate samples one response; messages are rendered by the server first. Where a stop string ends
// the response, llama.cpp gives no log-probabilities for the tokens that spell it: those tokens are
// left out of the columns, as the string is left out of the text.
func (c *LlamaCpp) Generate(ctx context.Context, req Request) (Generation, error) {
	if err := checkRequest(req); err != nil {
		return Generation{}, err
	}
	c.warnSampler(req.Sampling)
	id, err := c.identity(ctx)
	if err != nil {
		return Generation{}, err
	}
	if len(req.Messages) > 0 {
		if req.TokenIDs, err = c.Render(ctx, req.Messages); err != nil {
			return Generation{}, err
		}
	}
	body := llamaRequestOf(req.TokenIDs, req.Sampling)
	body.NProbs, body.CachePrompt = max(req.TopLogprobs, 1), true
	var smp sample
	out, err := c.call(ctx, request{op: "generate", method: http.MethodPost, path: "/completion", body: body, decode: func(b []byte) error {
		smp = newSample()
		if err := parseLlama(b, &smp); err != nil {
			return err
		}
		smp.promptIDs = req.TokenIDs
		return smp.check()
	}})
	if err != nil {
		return Generation{}, err
	}
	return c.generation(&smp, req, id, out)
}

// parseLlama reads a reply of /completion. Source: tools/server/README.md.
func parseLlama(b []byte, s *sample) error {
	stopType := ""
	err := parseReply(b, func(r *jsonReader, key string) {
		switch key {
		case "content":
			s.text = r.text()
		case "tokens":
			s.ids = r.tokenIDs()
		case "completion_probabilities", "probs":
			s.llamaProbs(r)
		case "stop_type":
			stopType = r.text()
		case "tokens_evaluated":
			s.usage.PromptTokens = r.int()
		case "tokens_predicted":
			s.usage.CompletionTokens = r.int()
		case "truncated":
			s.truncated = r.literal("true")
		}
	})
	switch stopType {
	case "eos", "word":
		s.finish = "stop"
	case "limit":
		s.finish = "length"
	}
	if stopType == "word" && len(s.logprobs) < len(s.ids) {
		s.ids = s.ids[:len(s.logprobs)]
	}
	if err != nil {
		return err
	}
	return s.sameIDs()
}

// llamaProbs reads [{id, logprob, top_logprobs:[{id, logprob}]}].
func (s *sample) llamaProbs(r *jsonReader) {
	entry := func(t *TokenLogprob, key []byte) {
		switch string(key) {
		case "id":
			t.ID = r.tokenID()
		case "logprob":
			t.Logprob = r.float32()
		}
	}
	s.logprobs, s.top = make([]float32, 0, 256), make([][]TokenLogprob, 0, 256)
	r.array(func(int) {
		own := TokenLogprob{ID: -1}
		var alternatives []TokenLogprob
		r.object(func(key []byte) {
			if string(key) == "top_logprobs" {
				r.array(func(int) {
					alt := TokenLogprob{ID: -1}
					r.object(func(key []byte) { entry(&alt, key) })
					alternatives = append(alternatives, alt)
				})
				return
			}
			entry(&own, key)
		})
		s.chosen = append(s.chosen, own.ID)
		s.logprobs = append(s.logprobs, own.Logprob)
		s.top = append(s.top, alternatives)
	})
}

// Render asks the server for the prompt's text and then for its ids, with BOS and control tokens as
// the server's own chat endpoint does.
func (c *LlamaCpp) Render(ctx context.Context, messages []harness.Message) ([]int32, error) {
	if c.cfg.Render != nil {
		return c.cfg.Render(ctx, messages)
	}
	var reply struct {
		Prompt string `json:"prompt"`
	}
	if err := c.post(ctx, "render", "/apply-template", map[string]any{"messages": messages}, &reply); err != nil {
		return nil, err
	}
	return c.Tokenize(ctx, reply.Prompt, true)
}

// Tokenize returns the ids of text; special adds BOS and parses control tokens.
func (c *LlamaCpp) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	return c.postIDs(ctx, "tokenize", "/tokenize", map[string]any{"content": text, "add_special": special, "parse_special": special}, "tokens")
}

// Detokenize returns the text of ids.
func (c *LlamaCpp) Detokenize(ctx context.Context, ids []int32) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	var reply struct {
		Content string `json:"content"`
	}
	err := c.post(ctx, "detokenize", "/detokenize", map[string]any{"tokens": ids}, &reply)
	return reply.Content, err
}

package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// VLLM is a client of a vLLM server (or of another one that speaks its token dialect). It asks for
// ids and log-probabilities everywhere, looks values up by token id, and scores with prompt
// log-probabilities under a fresh cache salt.
type VLLM struct{ *session }

var (
	_ Client    = (*VLLM)(nil)
	_ Scorer    = (*VLLM)(nil)
	_ Renderer  = (*VLLM)(nil)
	_ Tokenizer = (*VLLM)(nil)
	_ Versioner = (*VLLM)(nil)
	_ Pauser    = (*VLLM)(nil)
)

// NewVLLM returns a client of the server at baseURL (its root, with or without /v1). It sends nothing yet.
func NewVLLM(baseURL string, cfg Config) (*VLLM, error) {
	s, err := newSession("vllm", baseURL, cfg)
	if err != nil {
		return nil, err
	}
	s.fetch = func(ctx context.Context) (Identity, error) { return fetchVLLM(ctx, s) }
	return &VLLM{s}, nil
}

// modelList is the reply of /v1/models; meta is llama.cpp's.
type modelList struct {
	Data []struct {
		ID          string `json:"id"`
		OwnedBy     string `json:"owned_by"`
		Root        string `json:"root"`
		MaxModelLen int    `json:"max_model_len"`
		Meta        struct {
			VocabSize int `json:"n_vocab"`
		} `json:"meta"`
	} `json:"data"`
}

// listed fills an identity from /v1/models: the configured model, else the one that the client started
// with (servers may list adapters and others before it later), else the first.
func (s *session) listed(ctx context.Context, id *Identity) error {
	var list modelList
	if err := s.get(ctx, "list models", "/v1/models", &list); err != nil {
		return err
	}
	names := make([]string, len(list.Data))
	for i, m := range list.Data {
		names[i] = m.ID
	}
	want := s.cfg.Model
	if p := s.pinned.Load(); want == "" && p != nil && slices.Contains(names, p.Model) {
		want = p.Model
	}
	at := 0
	if want != "" {
		at = slices.Index(names, want)
	}
	if at >= 0 && at < len(names) {
		m := list.Data[at]
		id.Model, id.Root, id.ContextLength, id.VocabSize = m.ID, m.Root, m.MaxModelLen, m.Meta.VocabSize
		id.Engine = or(id.Engine, m.OwnedBy)
	}
	if id.Model == "" {
		return harness.FailFinal(harness.FailServer, "list models",
			errext.WithHint(fmt.Errorf("model %q is not served; the server lists %q", s.cfg.Model, names), "name one of the listed models"))
	}
	return nil
}

func fetchVLLM(ctx context.Context, s *session) (Identity, error) {
	id := Identity{}
	if err := s.listed(ctx, &id); err != nil {
		return Identity{}, err
	}
	var v struct {
		Version string `json:"version"`
	}
	if err := s.get(ctx, "read engine version", "/version", &v); err != nil && !errors.Is(err, ErrUnsupported) {
		return Identity{}, err
	}
	id.Engine, id.Version = or(id.Engine, "vllm"), v.Version
	return id, nil
}

// vllmParams are the sampling fields. All are sent, because vLLM fills absent ones from the model's
// generation_config.json (Qwen's asks for top_k 20 and top_p 0.8).
type vllmParams struct {
	Temperature       float64  `json:"temperature"`
	TopP              float64  `json:"top_p"`
	TopK              int      `json:"top_k"`
	MinP              float64  `json:"min_p"`
	RepetitionPenalty float64  `json:"repetition_penalty"`
	PresencePenalty   float64  `json:"presence_penalty"`
	FrequencyPenalty  float64  `json:"frequency_penalty"`
	MaxTokens         int      `json:"max_tokens,omitempty"`
	Stop              []string `json:"stop,omitempty"`
	Seed              *int64   `json:"seed,omitempty"`
}

func paramsOf(p Sampling) vllmParams {
	k := p.TopK
	if k <= 0 {
		k = -1
	}
	return vllmParams{
		Temperature: p.Temperature, TopP: or(p.TopP, 1), TopK: k, MinP: p.MinP, RepetitionPenalty: 1,
		MaxTokens: p.MaxTokens, Stop: p.Stop, Seed: p.Seed,
	}
}

// vllmOpenAI is a request to /v1/chat/completions (Messages) or /v1/completions (Prompt).
type vllmOpenAI struct {
	Model    string            `json:"model"`
	Messages []harness.Message `json:"messages,omitempty"`
	Prompt   []int32           `json:"prompt,omitempty"`
	vllmParams
	Logprobs          any    `json:"logprobs,omitempty"` // chat: true; completions: number of alternatives
	TopLogprobs       *int   `json:"top_logprobs,omitempty"`
	PromptLogprobs    *int   `json:"prompt_logprobs,omitempty"`
	ReturnTokenIDs    bool   `json:"return_token_ids"`
	TokensAsIDs       bool   `json:"return_tokens_as_token_ids"`
	AddSpecialTokens  *bool  `json:"add_special_tokens,omitempty"`
	CacheSalt         string `json:"cache_salt,omitempty"`
	SkipSpecialTokens bool   `json:"skip_special_tokens"`
}

// vllmTokens is a request to /inference/v1/generate.
type vllmTokens struct {
	Model     string           `json:"model"`
	TokenIDs  []int32          `json:"token_ids"`
	Params    vllmTokensParams `json:"sampling_params"`
	CacheSalt string           `json:"cache_salt,omitempty"`
}

type vllmTokensParams struct {
	vllmParams
	Logprobs       *int `json:"logprobs,omitempty"`
	PromptLogprobs *int `json:"prompt_logprobs,omitempty"`
}

// Generate samples one response along the configured route.
func (c *VLLM) Generate(ctx context.Context, req Request) (Generation, error) {
	if err := checkRequest(req); err != nil {
		return Generation{}, err
	}
	c.warnSampler(req.Sampling)
	id, err := c.identity(ctx)
	if err != nil {
		return Generation{}, err
	}
	if len(req.Messages) > 0 && c.cfg.Route != RouteChat {
		ids, err := c.Render(ctx, req.Messages)
		if err != nil {
			return Generation{}, err
		}
		req.Messages, req.TokenIDs = nil, ids
	}
	before, err := c.trackedVersion(ctx)
	if err != nil {
		return Generation{}, err
	}
	smp, out, err := c.sampleOnce(ctx, req, id)
	if err != nil {
		return Generation{}, err
	}
	if smp.spans == nil && before != "" {
		after, err := c.trackedVersion(ctx)
		if err != nil {
			return Generation{}, err
		}
		if before == after { // else nobody knows which token came from which weights
			smp.label = before
		}
	}
	return c.generation(smp, req, id, out)
}

// trackedVersion asks for the weights' label where the configuration wants it.
func (c *VLLM) trackedVersion(ctx context.Context) (string, error) {
	if !c.cfg.TrackVersions || c.cfg.Route == RouteTokens {
		return "", nil
	}
	return c.WeightVersion(ctx)
}

// sampleOnce sends a request to the endpoint that fits it and returns the checked sample.
func (c *VLLM) sampleOnce(ctx context.Context, req Request, id Identity) (*sample, outcome, error) {
	var smp sample
	call := request{op: "generate", method: http.MethodPost}
	var parse func(b []byte, s *sample) error
	top := req.TopLogprobs
	openAI := vllmOpenAI{Model: id.Model, vllmParams: paramsOf(req.Sampling), ReturnTokenIDs: true, TokensAsIDs: true, SkipSpecialTokens: true}
	switch {
	case len(req.Messages) > 0:
		call.path, parse = "/v1/chat/completions", parseChat
		openAI.Messages, openAI.Logprobs, openAI.TopLogprobs = req.Messages, true, &top
		call.body = openAI
	case c.cfg.Route == RouteTokens:
		call.path, parse = "/inference/v1/generate", parseTokens
		call.body = vllmTokens{Model: id.Model, TokenIDs: req.TokenIDs, Params: vllmTokensParams{vllmParams: paramsOf(req.Sampling), Logprobs: &top}}
	default:
		call.path, parse = "/v1/completions", parseCompletion
		openAI.Prompt, openAI.Logprobs = req.TokenIDs, &top
		call.body = openAI
	}
	call.decode = func(b []byte) error {
		smp = newSample()
		if err := parse(b, &smp); err != nil {
			return err
		}
		if err := c.sameModel(id.Model, smp.model); err != nil {
			return err
		}
		if len(req.TokenIDs) > 0 {
			smp.promptIDs = req.TokenIDs
		}
		return smp.check()
	}
	out, err := c.call(ctx, call)
	if err != nil {
		return nil, out, hintTokenIDs(err)
	}
	if call.path == "/inference/v1/generate" || smp.reasoning {
		smp.text, err = c.textOf(ctx, &smp, req.Sampling.Stop)
	}
	return &smp, out, err
}

// hintTokenIDs names the remedy for servers that give text only.
func hintTokenIDs(err error) error {
	if errors.Is(err, ErrBadReply) && strings.Contains(err.Error(), "no token ids") {
		return errext.WithHint(err, "this server does not return token ids (vLLM does from 0.10.2 on); use openai:URL for text only")
	}
	return err
}

// textOf spells a response out through the server's detokenizer, for replies without (all of) their
// text: up to the first stop string, else without the end-of-sequence token that ended it.
func (c *VLLM) textOf(ctx context.Context, smp *sample, stop []string) (string, error) {
	ids := smp.ids
	if smp.finish != "stop" || len(ids) == 0 {
		return c.Detokenize(ctx, ids)
	}
	if len(stop) > 0 {
		text, err := c.Detokenize(ctx, ids)
		if err != nil {
			return "", err
		}
		cut := -1
		for _, s := range stop {
			if at := strings.Index(text, s); at >= 0 && (cut < 0 || at < cut) {
				cut = at
			}
		}
		if cut >= 0 {
			return text[:cut], nil
		}
	}
	if len(ids) == 1 {
		return "", nil
	}
	return c.Detokenize(ctx, ids[:len(ids)-1])
}

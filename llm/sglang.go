package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// SGLang is a client of an SGLang server's native /generate endpoint: ids in, ids and
// log-probabilities out. SGLang renders no messages to ids; see Config.Render and Generate.
type SGLang struct{ *session }

var (
	_ Client    = (*SGLang)(nil)
	_ Scorer    = (*SGLang)(nil)
	_ Renderer  = (*SGLang)(nil)
	_ Tokenizer = (*SGLang)(nil)
	_ Versioner = (*SGLang)(nil)
	_ Pauser    = (*SGLang)(nil)
)

// NewSGLang returns a client of the server at baseURL. It sends nothing yet.
func NewSGLang(baseURL string, cfg Config) (*SGLang, error) {
	s, err := newSession("sglang", baseURL, cfg)
	if err != nil {
		return nil, err
	}
	s.fetch = func(ctx context.Context) (Identity, error) { return fetchSGLang(ctx, s) }
	return &SGLang{s}, nil
}

// either reads the first path that the server has: SGLang renames endpoints and keeps the old name
// for a while.
func (s *session) either(ctx context.Context, op string, v any, paths ...string) error {
	var err error
	for _, p := range paths {
		if err = s.get(ctx, op, p, v); !errors.Is(err, ErrUnsupported) {
			return err
		}
	}
	return err
}

// fetchSGLang leaves out the weight version: it changes with every policy update, and that is no swap.
func fetchSGLang(ctx context.Context, s *session) (Identity, error) {
	var model struct {
		Path  string `json:"model_path"`
		Vocab int    `json:"vocab_size"`
	}
	if err := s.either(ctx, "read model info", &model, "/model_info", "/get_model_info"); err != nil {
		return Identity{}, err
	}
	var server struct {
		Version string `json:"version"`
		Name    string `json:"served_model_name"`
		Context int    `json:"context_length"`
	}
	if err := s.either(ctx, "read server info", &server, "/server_info", "/get_server_info"); err != nil && !errors.Is(err, ErrUnsupported) {
		return Identity{}, err
	}
	id := Identity{
		Engine: "sglang", Version: server.Version, Model: or(server.Name, model.Path), Root: model.Path,
		ContextLength: server.Context, VocabSize: model.Vocab,
	}
	if s.cfg.Model != "" && s.cfg.Model != id.Model && s.cfg.Model != id.Root {
		return Identity{}, harness.FailFinal(harness.FailServer, "read model info",
			errext.WithHint(fmt.Errorf("model %q is not served; the server runs %q", s.cfg.Model, id.Model), "name the served model, or none"))
	}
	return id, nil
}

type sglangParams struct {
	MaxNewTokens      int      `json:"max_new_tokens"`
	Temperature       float64  `json:"temperature"`
	TopP              float64  `json:"top_p"`
	TopK              int      `json:"top_k"`
	MinP              float64  `json:"min_p"`
	RepetitionPenalty float64  `json:"repetition_penalty"`
	PresencePenalty   float64  `json:"presence_penalty"`
	FrequencyPenalty  float64  `json:"frequency_penalty"`
	Stop              []string `json:"stop,omitempty"`
	Seed              *int64   `json:"sampling_seed,omitempty"`
}

// sglangDefaultTokens is SGLang's own default for max_new_tokens, sent where the request names none.
const sglangDefaultTokens = 128

func sglangParamsOf(p Sampling) sglangParams {
	v := paramsOf(p)
	return sglangParams{
		MaxNewTokens: or(p.MaxTokens, sglangDefaultTokens), Temperature: v.Temperature, TopP: v.TopP, TopK: v.TopK, MinP: v.MinP,
		RepetitionPenalty: 1, Stop: p.Stop, Seed: p.Seed,
	}
}

type sglangRequest struct {
	InputIDs        []int32      `json:"input_ids"`
	Params          sglangParams `json:"sampling_params"`
	ReturnLogprob   bool         `json:"return_logprob"`
	LogprobStartLen int          `json:"logprob_start_len"`
	TopLogprobsNum  int          `json:"top_logprobs_num"`
}

// Generate samples one response. Messages go through Config.Render where that is set; else through
// the server's chat endpoint, which gives text and no ids: such a Generation has no Tokens, and a
// warning says so once.
func (c *SGLang) Generate(ctx context.Context, req Request) (Generation, error) {
	if err := checkRequest(req); err != nil {
		return Generation{}, err
	}
	c.warnSampler(req.Sampling)
	id, err := c.identity(ctx)
	if err != nil {
		return Generation{}, err
	}
	if len(req.Messages) > 0 {
		if c.cfg.Render == nil {
			c.warnOnce("no renderer: messages go to the chat endpoint, which gives text without token ids")
			return c.chatText(ctx, req, id)
		}
		if req.TokenIDs, err = c.cfg.Render(ctx, req.Messages); err != nil {
			return Generation{}, err
		}
	}
	if c.noSeed.Load() {
		req.Sampling.Seed = nil
	}
	gen, err := c.sampleOnce(ctx, req, id)
	// SGLang refuses sampling fields that its version does not know; the seed is the youngest of them.
	if status := (*StatusError)(nil); req.Sampling.Seed != nil && errors.As(err, &status) && strings.Contains(status.Body, "sampling_seed") {
		c.noSeed.Store(true)
		c.warnOnce("this server takes no seeds: its responses cannot be repeated")
		req.Sampling.Seed = nil
		return c.sampleOnce(ctx, req, id)
	}
	return gen, err
}

// sampleOnce samples a response to token ids.
func (c *SGLang) sampleOnce(ctx context.Context, req Request, id Identity) (Generation, error) {
	var smp sample
	out, err := c.call(ctx, request{
		op: "generate", method: http.MethodPost, path: "/generate",
		body: sglangRequest{InputIDs: req.TokenIDs, Params: sglangParamsOf(req.Sampling), ReturnLogprob: true, LogprobStartLen: -1, TopLogprobsNum: req.TopLogprobs},
		decode: func(b []byte) error {
			smp = newSample()
			if err := parseSGLang(b, &smp); err != nil {
				return err
			}
			smp.promptIDs = req.TokenIDs
			return smp.check()
		},
	})
	if err != nil {
		return Generation{}, err
	}
	return c.generation(&smp, req, id, out)
}

// Score asks for the log-probabilities from the last prefix token on: SGLang leaves the first
// position that it returns empty, so the continuation's first token needs logprob_start_len = N−1.
// Starting there also lets the radix cache serve the rest of the prefix.
func (c *SGLang) Score(ctx context.Context, req ScoreRequest) (Score, error) {
	if err := checkScore(req); err != nil {
		return Score{}, err
	}
	if _, err := c.identity(ctx); err != nil {
		return Score{}, err
	}
	ids := make([]int32, 0, len(req.Prefix)+len(req.Continuation))
	ids = append(append(ids, req.Prefix...), req.Continuation...)
	body := sglangRequest{
		InputIDs: ids, Params: sglangParamsOf(Sampling{Temperature: 1, TopP: 1}), ReturnLogprob: true,
		LogprobStartLen: len(req.Prefix) - 1, TopLogprobsNum: req.TopLogprobs,
	}
	body.Params.MaxNewTokens = 0
	var sc Score
	out, err := c.call(ctx, request{op: "score", method: http.MethodPost, path: "/generate", body: body, decode: func(b []byte) (err error) {
		sc, err = parseSGLangScore(b, req)
		return err
	}})
	if err != nil {
		return Score{}, err
	}
	sc.Calls, sc.Latency = 1, out.latency
	c.meter.tokens(len(ids), 0, len(req.Continuation))
	return sc, nil
}

// Render applies the chat template through Config.Render.
func (c *SGLang) Render(ctx context.Context, messages []harness.Message) ([]int32, error) {
	if c.cfg.Render == nil {
		return nil, harness.FailFinal(harness.FailServer, "render",
			errext.WithHint(fmt.Errorf("%w: SGLang has no endpoint that renders messages to ids", ErrUnsupported), "give the client a renderer, or serve the model with vLLM"))
	}
	return c.cfg.Render(ctx, messages)
}

// Tokenize returns the ids of text.
func (c *SGLang) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	return c.postIDs(ctx, "tokenize", "/tokenize", map[string]any{"prompt": text, "add_special_tokens": special}, "tokens")
}

// Detokenize returns the text of ids, control tokens spelled out.
func (c *SGLang) Detokenize(ctx context.Context, ids []int32) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	var reply struct {
		Text string `json:"text"`
	}
	err := c.post(ctx, "detokenize", "/detokenize", map[string]any{"tokens": ids, "skip_special_tokens": false}, &reply)
	return reply.Text, err
}

// WeightVersion reads the label of the loaded weights: from the model info, else from the endpoint
// that older servers have for it.
func (c *SGLang) WeightVersion(ctx context.Context) (string, error) {
	label, err := c.weightVersion(ctx, "/model_info")
	if errors.Is(err, ErrUnsupported) {
		return c.weightVersion(ctx, "/get_weight_version")
	}
	return label, err
}

// CanPause asks with a method that the endpoint does not take: "not allowed" (405) means that it is
// there, "not found" that it is not. Nothing is paused.
func (c *SGLang) CanPause(ctx context.Context) (bool, error) {
	err := c.get(ctx, "ask for the pause endpoint", "/pause_generation", nil)
	var status *StatusError
	if errors.As(err, &status) && errors.Is(err, ErrUnsupported) {
		return status.Code == http.StatusMethodNotAllowed, nil
	}
	return err == nil, err
}

// Pause stops generation. SGLang's word for keeping requests frozen is in_place.
func (c *SGLang) Pause(ctx context.Context, mode PauseMode) error {
	word := string(mode)
	if mode == PauseKeep {
		word = "in_place"
	}
	return c.post(ctx, "pause", "/pause_generation", map[string]string{"mode": word}, nil)
}

// Resume lets generation go on.
func (c *SGLang) Resume(ctx context.Context) error {
	return c.post(ctx, "resume", "/continue_generation", map[string]string{}, nil)
}

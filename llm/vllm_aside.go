package llm

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/hindsightrl/harness"
)

// Render asks the server to apply its chat template and to tokenize: through the render endpoint,
// else through /tokenize, which older servers have.
func (c *VLLM) Render(ctx context.Context, messages []harness.Message) ([]int32, error) {
	if c.cfg.Render != nil {
		return c.cfg.Render(ctx, messages)
	}
	id, err := c.identity(ctx)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"model": id.Model, "messages": messages, "add_generation_prompt": true}
	ids, err := c.postIDs(ctx, "render", "/v1/chat/completions/render", body, "token_ids")
	if errors.Is(err, ErrUnsupported) {
		return c.postIDs(ctx, "render", "/tokenize", body, "tokens")
	}
	return ids, err
}

// Tokenize returns the ids of text.
func (c *VLLM) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	id, err := c.identity(ctx)
	if err != nil {
		return nil, err
	}
	return c.postIDs(ctx, "tokenize", "/tokenize", map[string]any{"model": id.Model, "prompt": text, "add_special_tokens": special}, "tokens")
}

// Detokenize returns the text of ids.
func (c *VLLM) Detokenize(ctx context.Context, ids []int32) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	id, err := c.identity(ctx)
	if err != nil {
		return "", err
	}
	var reply struct {
		Prompt string `json:"prompt"`
	}
	err = c.post(ctx, "detokenize", "/detokenize", map[string]any{"model": id.Model, "tokens": ids}, &reply)
	return reply.Prompt, err
}

// WeightVersion reads the label of the loaded weights (servers in development mode only).
func (c *VLLM) WeightVersion(ctx context.Context) (string, error) {
	return c.weightVersion(ctx, "/weight_info")
}

// weightVersion reads the member weight_version of a document.
func (s *session) weightVersion(ctx context.Context, path string) (string, error) {
	var label string
	_, err := s.watched(ctx, request{op: "read weight version", method: http.MethodGet, path: path, aside: true, decode: func(b []byte) error {
		label = ""
		return parseReply(b, func(r *jsonReader, key string) {
			if key == "weight_version" {
				label = r.label()
			}
		})
	}})
	if err == nil && label == "" {
		err = harness.FailFinal(harness.FailServer, "read weight version", ErrUnsupported)
	}
	return label, err
}

// CanPause asks for the pause state, which servers in development mode have.
func (c *VLLM) CanPause(ctx context.Context) (bool, error) {
	err := c.get(ctx, "ask pause state", "/is_paused", nil)
	if errors.Is(err, ErrUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// Pause stops generation.
func (c *VLLM) Pause(ctx context.Context, mode PauseMode) error {
	return c.post(ctx, "pause", "/pause?mode="+url.QueryEscape(string(mode)), nil, nil)
}

// Resume lets generation go on.
func (c *VLLM) Resume(ctx context.Context) error { return c.post(ctx, "resume", "/resume", nil, nil) }

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

// openers are the back ends by the word before the address.
var openers = map[string]func(string, Config) (Client, error){
	"vllm":     func(u string, c Config) (Client, error) { return nilOnError(NewVLLM(u, c)) },
	"sglang":   func(u string, c Config) (Client, error) { return nilOnError(NewSGLang(u, c)) },
	"llamacpp": func(u string, c Config) (Client, error) { return nilOnError(NewLlamaCpp(u, c)) },
	"openai":   func(u string, c Config) (Client, error) { return nilOnError(NewOpenAI(u, c)) },
}

// nilOnError keeps a nil pointer from becoming a non-nil interface.
func nilOnError[T Client](c T, err error) (Client, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// SplitSpec splits "vllm:http://host:8000" into back end and address. "http://…" alone means auto.
func SplitSpec(spec string) (backend, address string, err error) {
	spec = strings.TrimSpace(spec)
	if strings.HasPrefix(spec, "http://") || strings.HasPrefix(spec, "https://") {
		return "auto", spec, nil
	}
	backend, address, ok := strings.Cut(spec, ":")
	if _, known := openers[backend]; !ok || (!known && backend != "auto") {
		return "", "", errext.WithHint(fmt.Errorf("open server: no back end named in %q", clip([]byte(spec), 60)),
			"write vllm:URL, sglang:URL, llamacpp:URL, openai:URL, or auto:URL to find out")
	}
	return backend, address, nil
}

// Open connects to the server that spec names: "vllm:URL", "sglang:URL", "llamacpp:URL", "openai:URL",
// or "auto:URL" (or the URL alone), which asks the server what it can do. Open asks for the server's
// identity, so a wrong address or model is found before a run starts.
func Open(ctx context.Context, spec string, cfg Config) (Client, error) {
	backend, address, err := SplitSpec(spec)
	if err != nil {
		return nil, err
	}
	if backend == "auto" {
		if backend, err = Detect(ctx, address, cfg); err != nil {
			return nil, err
		}
	}
	c, err := openers[backend](address, cfg)
	if err != nil {
		return nil, err
	}
	if _, err := c.Identity(ctx); err != nil {
		return nil, fmt.Errorf("open %s server: %w", backend, err)
	}
	return c, nil
}

// Backends lists the words that may stand before an address.
func Backends() []string {
	names := []string{"auto"}
	for name := range openers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Detect finds the back end for a server by what it answers, never by what it calls itself. The
// question that tells them apart is the one that matters: how does it give token ids?
//   - sglang: /model_info describes a model, and /generate takes input_ids.
//   - llamacpp: /props has default generation settings.
//   - vllm: /v1/completions takes token ids and returns token ids and prompt log-probabilities.
//   - openai: /v1/models lists models, and none of the above.
func Detect(ctx context.Context, address string, cfg Config) (string, error) {
	s, err := newSession("auto", address, cfg)
	if err != nil {
		return "", err
	}
	var firstErr error
	for _, try := range []struct {
		backend string
		ask     func(context.Context, *session) (bool, error)
	}{
		{"sglang", asksSGLang}, {"llamacpp", asksLlamaCpp}, {"vllm", asksVLLM}, {"openai", asksOpenAI},
	} {
		ok, err := try.ask(ctx, s)
		if ok {
			return try.backend, nil
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("detect server: %w", context.Cause(ctx))
		}
		var status *StatusError
		if err != nil && !errors.As(err, &status) && !errors.Is(err, ErrBadReply) {
			return "", err // not reachable: the other questions would fail alike
		}
		if firstErr == nil || status != nil && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden) {
			firstErr = err
		}
	}
	return "", harness.FailFinal(harness.FailServer, "detect server", errext.WithHint(
		fmt.Errorf("%s answers, but like none of the known servers: %w", s.base.Redacted(), or(firstErr, ErrUnsupported)),
		"check that the address is the server's root"))
}

func asksSGLang(ctx context.Context, s *session) (bool, error) {
	var model struct {
		Path string `json:"model_path"`
	}
	if err := s.either(ctx, "detect sglang", &model, "/model_info", "/get_model_info"); err != nil || model.Path == "" {
		return false, err
	}
	// Other servers describe their model under the same name; only /generate with ids counts.
	var reply struct {
		Meta map[string]any `json:"meta_info"`
	}
	body := sglangRequest{InputIDs: []int32{1, 2}, Params: sglangParamsOf(Sampling{MaxTokens: 1, Temperature: 1}), LogprobStartLen: -1}
	err := s.post(ctx, "detect sglang", "/generate", body, &reply)
	return err == nil && reply.Meta != nil, err
}

func asksLlamaCpp(ctx context.Context, s *session) (bool, error) {
	var props llamaProps
	err := s.get(ctx, "detect llama.cpp", "/props", &props)
	return err == nil && props.Defaults != nil, err
}

func asksVLLM(ctx context.Context, s *session) (bool, error) {
	var id Identity
	if err := s.listed(ctx, &id); err != nil {
		return false, err
	}
	zero := 0
	found := false
	_, err := s.do(ctx, request{
		op: "detect vllm", method: http.MethodPost, path: "/v1/completions",
		body: vllmOpenAI{
			Model: id.Model, Prompt: []int32{1, 2}, vllmParams: paramsOf(Sampling{MaxTokens: 1, Temperature: 1}),
			Logprobs: &zero, PromptLogprobs: &zero, ReturnTokenIDs: true, TokensAsIDs: true, SkipSpecialTokens: true,
		},
		decode: func(b []byte) error {
			smp := newSample()
			if err := parseCompletion(b, &smp); err != nil {
				return err
			}
			found = smp.ids != nil && smp.logprobs != nil
			return nil
		},
	})
	return err == nil && found, err
}

func asksOpenAI(ctx context.Context, s *session) (bool, error) {
	var list modelList
	err := s.get(ctx, "detect models", "/v1/models", &list)
	return err == nil && len(list.Data) > 0, err
}

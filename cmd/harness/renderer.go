package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// renderFunc turns messages into the ids of a prompt.
type renderFunc func(ctx context.Context, messages []harness.Message) ([]int32, error)

// rendererFlag says who renders prompts for a server that takes ids and renders none (SGLang): another
// server or file with the same chat template and tokenizer.
type rendererFlag struct{ spec string }

func (r *rendererFlag) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.spec, "renderer", "", "who turns messages into token ids where the server cannot (SGLang): gguf:FILE or vllm:URL of the same model")
}

// open returns the renderer, nil where none is asked for.
func (r *rendererFlag) open(ctx context.Context, g *globals, local *localFlags, keyEnv string) (render renderFunc, closeRenderer func() error, err error) {
	nothing := func() error { return nil }
	switch {
	case r.spec == "":
		return nil, nothing, nil
	case isLocal(r.spec):
		m, closeModel, err := local.open(ctx, r.spec)
		if err != nil {
			return nil, nil, fmt.Errorf("renderer: %w", err)
		}
		return func(_ context.Context, messages []harness.Message) ([]int32, error) { return m.Render(messages) }, closeModel, nil
	}
	client, err := llm.Open(ctx, r.spec, llm.Config{APIKey: llm.Secret(g.env(keyEnv)), Now: g.now, Log: g.log})
	if err != nil {
		return nil, nil, serverHint(fmt.Errorf("renderer: %w", err), keyEnv, "see whether the server answers")
	}
	renderer, ok := client.(llm.Renderer)
	if !ok {
		return nil, nil, errext.WithHint(errors.New("renderer: this server does not render either"), "name a vllm: or llamacpp: server, or gguf:FILE")
	}
	return renderer.Render, nothing, nil
}

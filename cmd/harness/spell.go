package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// spellFlags say who turns token ids into text.
type spellFlags struct {
	spec   string
	model  string
	keyEnv string
	local  localFlags
}

func (s *spellFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.spec, "tokenizer", "", "what spells token ids: refmodel, gguf:FILE or a server as for --policy (default: the run's own model, where it runs in this process)")
	f.StringVar(&s.model, "model", "", "model name, for tokenizers behind a server")
	f.StringVar(&s.keyEnv, "api-key-env", "HARNESS_API_KEY", "environment variable that holds the server's key")
	f.StringVar(&s.local.library, "library", "", "folder with libllama.so (default: where `harness model install` puts it)")
}

// open returns a speller for a run of the given policy: what --tokenizer names, else the lengths that
// were recorded with the tokens, else the run's own model where it runs in this process, else the ids.
func (s *spellFlags) open(ctx context.Context, g *globals, policy string) (spell stepTexts, closeModel func() error, err error) {
	other, closeModel, err := s.openModel(ctx, g, policy)
	if s.spec != "" {
		return other, closeModel, err
	}
	if err != nil { // it matters only where it is needed
		missing := err
		other = func(context.Context, *harness.Step) ([]string, error) { return nil, missing }
		closeModel = func() error { return nil }
	}
	return func(ctx context.Context, st *harness.Step) ([]string, error) {
		if st.Tokens == nil || st.Tokens.Lengths == nil {
			return other(ctx, st)
		}
		out, rest := make([]string, len(st.Tokens.Lengths)), st.Response
		for i, n := range st.Tokens.Lengths {
			if n < 0 || int(n) > len(rest) {
				return nil, fmt.Errorf("token %d printed %d bytes, the response has %d left", i, n, len(rest))
			}
			out[i], rest = rest[:n], rest[n:]
		}
		return out, nil
	}, closeModel, nil
}

func (s *spellFlags) openModel(ctx context.Context, g *globals, policy string) (spell stepTexts, closeModel func() error, err error) {
	spec := s.spec
	if spec == "" && isLocal(policy) {
		spec = policy
	}
	switch {
	case spec == "":
		return idTexts, func() error { return nil }, nil
	case isLocal(spec):
		model, closeModel, err := s.local.open(ctx, spec)
		if err != nil {
			return nil, nil, err
		}
		return modelTexts(model), closeModel, nil
	}
	client, err := llm.Open(ctx, spec, llm.Config{Model: s.model, APIKey: llm.Secret(g.env(s.keyEnv)), Now: g.now, Log: g.log})
	if err != nil {
		return nil, nil, err
	}
	tok, ok := client.(llm.Tokenizer)
	if !ok {
		return nil, nil, errext.WithHint(fmt.Errorf("%s does not turn token ids into text", spec), "name a vllm:, sglang: or llamacpp: server with --tokenizer")
	}
	speller := llm.NewSpeller(tok)
	return func(ctx context.Context, st *harness.Step) ([]string, error) {
		if st.Tokens == nil {
			return nil, nil
		}
		pieces, err := speller.Split(ctx, st.Response, st.Tokens.IDs)
		if err != nil {
			return nil, err
		}
		out := make([]string, len(pieces))
		for i, p := range pieces {
			out[i] = string(p)
		}
		return out, nil
	}, func() error { return nil }, nil
}

func idTexts(_ context.Context, s *harness.Step) ([]string, error) {
	if s.Tokens == nil {
		return nil, nil
	}
	out := make([]string, len(s.Tokens.IDs))
	for i, id := range s.Tokens.IDs {
		out[i] = fmt.Sprintf("#%d", id)
	}
	return out, nil
}

func modelTexts(m llm.Model) stepTexts {
	return func(_ context.Context, s *harness.Step) ([]string, error) {
		if s.Tokens == nil {
			return nil, nil
		}
		out := make([]string, len(s.Tokens.IDs))
		for i, id := range s.Tokens.IDs {
			if id < 0 || int(id) >= m.Info().VocabSize {
				return nil, errext.WithHint(fmt.Errorf("token %d is %d, the vocabulary of %s has %d", i, id, m.Info().Name, m.Info().VocabSize),
					"name the model that made the tokens with --tokenizer")
			}
			out[i] = string(m.TokenBytes(id))
		}
		return out, nil
	}
}

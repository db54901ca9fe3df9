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

// open returns a speller for a run of the given policy. Without a tokenizer, tokens are spelled by
// their ids.
func (s *spellFlags) open(ctx context.Context, g *globals, policy string) (spell stepTexts, closeModel func() error, err error) {
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

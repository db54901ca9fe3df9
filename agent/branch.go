package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// Prefix is the beginning of a response that is given: a policy goes on from there, in token space.
type Prefix struct {
	Response string          // the bytes that its tokens printed
	Tokens   *harness.Tokens // prompt ids, and the columns of the given tokens alone
}

// CutPrefix is the first k tokens of a step's response. It fails where nothing says which bytes those
// printed, where the prompt's ids are unknown, and inside a character, which no text can end in.
func CutPrefix(s *harness.Step, k int) (*Prefix, error) {
	t := s.Tokens
	switch {
	case t == nil || k < 0 || k > len(t.IDs):
		return nil, fmt.Errorf("cut the response of step %d after %d tokens: it does not have so many", s.Index, k)
	case t.PromptIDs == nil:
		return nil, fmt.Errorf("cut the response of step %d: its prompt has no token ids", s.Index)
	case t.Lengths == nil:
		return nil, fmt.Errorf("cut the response of step %d: nothing says which bytes its tokens printed", s.Index)
	}
	n := 0
	for _, l := range t.Lengths[:k] {
		n += int(l)
	}
	if n > len(s.Response) || n < len(s.Response) && !utf8.RuneStart(s.Response[n]) {
		return nil, fmt.Errorf("cut the response of step %d after %d tokens: that is inside a character", s.Index, k)
	}
	cut := *t
	cut.IDs, cut.Lengths, cut.Versions = t.IDs[:k:k], t.Lengths[:k:k], head(t.Versions, k)
	cut.Logprobs, cut.Entropies = head(t.Logprobs, k), head(t.Entropies, k)
	cut.EntropyLow, cut.EntropyHigh = head(t.EntropyLow, k), head(t.EntropyHigh, k)
	return &Prefix{Response: s.Response[:n], Tokens: &cut}, nil
}

func head[T any](column []T, k int) []T {
	if column == nil {
		return nil
	}
	return column[:k:k]
}

// Brancher is a Policy that trees can be grown with: it gives token entropies, and goes on from a Prefix.
type Brancher interface {
	Policy
	// CanBranch says what the policy lacks for that, by asking it: entropies of its tokens and, with tokens,
	// generation from token ids. It returns nil where it lacks nothing.
	CanBranch(ctx context.Context, tokens bool) error
}

var _ Brancher = model{}

// CanBranch generates a token or two.
func (m model) CanBranch(ctx context.Context, tokens bool) error {
	seed := int64(1)
	req := llm.Request{Messages: []harness.Message{{Role: "user", Content: "hi"}}, Sampling: m.sampling, TopLogprobs: m.topLogprobs}
	req.Sampling.MaxTokens, req.Sampling.Seed = 2, &seed
	g, err := m.generator.Generate(ctx, req)
	switch {
	case err != nil:
		return fmt.Errorf("ask the policy for a token: %w", err)
	case g.Tokens == nil || len(g.Tokens.IDs) == 0:
		return errext.WithHint(errors.New("the server gives no token ids"), "serve the model with vLLM or SGLang, or use refmodel or gguf:FILE")
	case g.Tokens.Entropies == nil:
		return errext.WithHint(errors.New("the server gives no token entropies: nothing says where the policy is uncertain"),
			"ask for alternatives with --top-logprobs 20, where the server has them")
	case !tokens:
		return nil
	case g.Tokens.PromptIDs == nil:
		return errext.WithHint(errors.New("the server does not say the prompt's token ids, so no response can be continued in token space"), "fork where responses begin: --fork-at response")
	}
	req.Messages, req.TokenIDs = nil, slices.Concat(g.Tokens.PromptIDs, g.Tokens.IDs[:1])
	if _, err := m.generator.Generate(ctx, req); err != nil {
		return errext.WithHint(fmt.Errorf("the server takes no token ids for a prompt: %w", err), "fork where responses begin: --fork-at response")
	}
	return nil
}

// goOn samples what follows a prefix and joins the two. The prefix is sent as the end of the prompt, so no
// token of it is generated again.
func (m model) goOn(ctx context.Context, req llm.Request, p *Prefix) (llm.Generation, error) {
	req.Messages, req.TokenIDs = nil, slices.Concat(p.Tokens.PromptIDs, p.Tokens.IDs)
	if req.Sampling.MaxTokens > 0 {
		req.Sampling.MaxTokens -= len(p.Tokens.IDs)
		if req.Sampling.MaxTokens <= 0 {
			return llm.Generation{}, harness.FailFinal(harness.FailAgent, "continue a response", fmt.Errorf("the first %d tokens are given, and no more are allowed", len(p.Tokens.IDs)))
		}
	}
	g, err := m.generator.Generate(ctx, req)
	if err != nil {
		return g, err
	}
	if g.Tokens == nil {
		return g, harness.FailFinal(harness.FailAgent, "continue a response", errors.New("the server gave no tokens for what follows"))
	}
	if g.Tokens.Lengths == nil && m.speller != nil {
		if err := m.spellOn(ctx, &g, p); err != nil {
			return g, err
		}
	}
	return joinPrefix(p, g)
}

// spellOn finds how many bytes each new token printed. A server that drops the space before a first token
// has dropped it in the middle of the response: it is put back.
func (m model) spellOn(ctx context.Context, g *llm.Generation, p *Prefix) error {
	ids, k := slices.Concat(p.Tokens.IDs, g.Tokens.IDs), len(p.Tokens.IDs)
	var first error
	for _, text := range []string{g.Text, " " + g.Text} {
		lengths, err := m.speller.Lengths(ctx, p.Response+text, ids)
		if f := (*harness.Failure)(nil); ctx.Err() != nil || errors.As(err, &f) && f.Retryable {
			return err
		}
		if err == nil && slices.Equal(lengths[:k], p.Tokens.Lengths) {
			g.Text, g.Tokens.Lengths = text, lengths[k:]
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return harness.FailFinal(harness.FailServer, "continue a response", fmt.Errorf("the server's text does not continue the given tokens: %w", errors.Join(first, errors.New("lengths differ"))))
}

// joinPrefix puts a prefix before what was sampled after it.
func joinPrefix(p *Prefix, g llm.Generation) (llm.Generation, error) {
	a, b := p.Tokens, g.Tokens
	out := *b
	out.PromptIDs = a.PromptIDs
	out.IDs = slices.Concat(a.IDs, b.IDs)
	out.Lengths, out.Versions = join(a.Lengths, b.Lengths), join(a.Versions, b.Versions)
	out.Logprobs, out.Entropies = join(a.Logprobs, b.Logprobs), join(a.Entropies, b.Entropies)
	out.EntropyLow, out.EntropyHigh = join(a.EntropyLow, b.EntropyLow), join(a.EntropyHigh, b.EntropyHigh)
	for _, c := range []struct {
		name string
		same bool
	}{
		{"byte lengths", (a.Lengths == nil) == (b.Lengths == nil)},
		{"policy versions", (a.Versions == nil) == (b.Versions == nil)},
		{"log-probabilities", (a.Logprobs == nil) == (b.Logprobs == nil)},
		{"entropies", (a.Entropies == nil) == (b.Entropies == nil)},
		{"entropy bounds", (a.EntropyLow == nil) == (b.EntropyLow == nil) && (a.EntropyHigh == nil) == (b.EntropyHigh == nil)},
	} {
		if !c.same {
			return g, harness.FailFinal(harness.FailServer, "continue a response", fmt.Errorf("the given tokens and those that follow do not both have %s", c.name))
		}
	}
	g.Text, g.Tokens = p.Response+g.Text, &out
	return g, nil
}

func join[T any](a, b []T) []T {
	if a == nil || b == nil {
		return nil
	}
	return slices.Concat(a, b)
}

package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// errNoExpert is returned where a task is to be solved by an expert that the environment lacks.
var errNoExpert = errors.New("this environment has no scripted expert")

// Expert returns a policy that takes the environment's scripted expert's action, and with probability
// explore in [0, 1], decided anew in each step, a random admissible one in its place. Where the expert
// knows no way on, it takes a random admissible action too, and its thought says so; where there is
// none either, it declares the episode finished.
func Expert(explore float64) (Policy, error) {
	if !(explore >= 0 && explore <= 1) {
		return nil, fmt.Errorf("expert policy: share of random actions %v is outside [0, 1]", explore)
	}
	return expert{explore}, nil
}

type expert struct{ explore float64 }

func (e expert) Act(ctx context.Context, t Turn) (Answer, error) {
	if t.Advisor == nil {
		err := harness.FailFinal(harness.FailAgent, "ask the expert", fmt.Errorf("task %s: %w", t.Episode.Task.Key(), errNoExpert))
		return Answer{}, errext.WithHint(err, `use the policy "random" or "model"`)
	}
	// The draw comes first, so that the stream of a step does not depend on the expert's answer.
	if t.Rand.Float64() < e.explore && len(t.Observation.Admissible) > 0 {
		return explore(t, "I try something else than the expert's way, to see where it leads.")
	}
	action, err := t.Advisor.Advise(ctx)
	if ctx.Err() != nil {
		return Answer{}, ctx.Err()
	}
	if f := (*harness.Failure)(nil); errors.As(err, &f) {
		return Answer{}, err
	}
	if err != nil {
		return explore(t, "The expert knows no way on from here, so I try any action that is open.")
	}
	return Answer{Response: t.Respond("The expert's next action from here leads towards the goal.", action)}, nil
}

// Random returns a policy that takes each admissible action with the same probability. It declares an
// episode finished in which none is listed.
func Random() Policy {
	return PolicyFunc(func(ctx context.Context, t Turn) (Answer, error) {
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
		return explore(t, "Any of the open actions will do.")
	})
}

func explore(t Turn, thought string) (Answer, error) {
	n := len(t.Observation.Admissible)
	if n == 0 {
		return Answer{Finished: true}, nil
	}
	action := t.Concrete(t.Observation.Admissible[t.Rand.IntN(n)])
	return Answer{Response: t.Respond(thought, action)}, nil
}

// Model returns a policy that samples from a model. Each call carries the turn's seed unless sampling
// has one of its own. topLogprobs is the number of alternatives per token to ask for; 0 = none.
func Model(g llm.Generator, sampling llm.Sampling, topLogprobs int) (Policy, error) {
	if g == nil {
		return nil, errors.New("model policy: no generator")
	}
	m := model{generator: g, sampling: sampling, topLogprobs: topLogprobs}
	if tok, ok := g.(llm.Tokenizer); ok {
		m.speller = llm.NewSpeller(tok)
	}
	m.continuer = newContinuer(g, m.speller)
	return m, nil
}

type model struct {
	generator   llm.Generator
	sampling    llm.Sampling
	topLogprobs int
	speller     *llm.Speller // nil: the generator does not spell token ids
	continuer   *continuer   // nil: conversations go as messages
}

func (m model) Act(ctx context.Context, t Turn) (Answer, error) {
	req := llm.Request{Messages: t.Prompt, Sampling: m.sampling, TopLogprobs: m.topLogprobs}
	if req.Sampling.Seed == nil {
		req.Sampling.Seed = &t.CallSeed
	}
	var drift llm.Drift
	if m.continuer != nil && t.Prefix == nil && t.Earlier != nil && t.Earlier.PromptIDs != nil {
		var err error
		if req.TokenIDs, drift, err = m.continuer.next(ctx, t); err != nil {
			return Answer{}, err
		}
		req.Messages = nil
	}
	generate := m.generator.Generate
	if t.Prefix != nil {
		generate = func(ctx context.Context, req llm.Request) (llm.Generation, error) { return m.goOn(ctx, req, t.Prefix) }
	}
	g, err := generate(ctx, req)
	if err != nil {
		return Answer{}, err
	}
	if drift != "" && g.Tokens != nil {
		meta := harness.TokenMeta{}
		if g.Tokens.Meta != nil {
			meta = *g.Tokens.Meta
		}
		meta.Drift = string(drift)
		g.Tokens.Meta = &meta
	}
	if err := m.measure(ctx, &g); err != nil {
		return Answer{}, err
	}
	if err := g.Tokens.Validate(); err != nil {
		return Answer{}, harness.Fail(harness.FailServer, "read the model's tokens", err)
	}
	return Answer{Response: g.Text, Tokens: g.Tokens, Usage: g.Usage, Latency: g.Latency}, nil
}

// measure finds how many bytes of the response each token printed, where the generation does not say.
// What a server cannot spell stays unknown; a call that another try can mend is an error.
func (m model) measure(ctx context.Context, g *llm.Generation) error {
	if g.Tokens == nil || g.Tokens.Lengths != nil || m.speller == nil {
		return nil
	}
	lengths, err := m.speller.Lengths(ctx, g.Text, g.Tokens.IDs)
	if f := (*harness.Failure)(nil); ctx.Err() != nil || errors.As(err, &f) && f.Retryable {
		return err
	}
	if err == nil {
		g.Tokens.Lengths = lengths
	}
	return nil
}

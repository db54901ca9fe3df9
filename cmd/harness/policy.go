package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// defaultPolicy is who acts in runs that name nobody: it needs no server and no weights, gives every
// token column, and wins some episodes and loses others.
const defaultPolicy = "refmodel"

// policyFlags are the flags that say who acts.
type policyFlags struct {
	spec        string
	model       string
	keyEnv      string
	temperature float64
	topP        float64
	topK        int
	minP        float64
	maxTokens   int
	concurrent  int
	timeout     time.Duration
	local       localFlags
}

func (p *policyFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.spec, "policy", defaultPolicy,
		"who acts: expert, expert:E (a share E of random actions), random, refmodel, gguf:FILE, or a server: openai:URL, vllm:URL, sglang:URL, llamacpp:URL, auto:URL")
	f.StringVar(&p.model, "model", "", "model name, for policies behind a server (default: the first that it lists)")
	f.StringVar(&p.keyEnv, "api-key-env", "HARNESS_API_KEY", "environment variable that holds the server's key")
	f.Float64Var(&p.temperature, "temperature", 1, "sampling temperature")
	f.Float64Var(&p.topP, "top-p", 1, "nucleus sampling; 1 = off")
	f.IntVar(&p.topK, "top-k", 0, "sample from the k most likely tokens; 0 = off")
	f.Float64Var(&p.minP, "min-p", 0, "cut tokens below this share of the most likely one; 0 = off")
	f.IntVar(&p.maxTokens, "max-tokens", 512, "tokens per response")
	f.IntVar(&p.concurrent, "max-concurrent", 64, "calls in flight at the server")
	p.local.flags(cmd)
	f.DurationVar(&p.timeout, "call-timeout", 5*time.Minute, "how long one call may take")
}

// openPolicy is a policy with the name that the run records.
type openPolicy struct {
	agent.Policy
	name  string
	info  map[string]any // what the run records about it
	close func() error
}

func (p *policyFlags) open(ctx context.Context, g *globals) (openPolicy, error) {
	if isLocal(p.spec) {
		return p.inProcess(ctx, g)
	}
	kind, address, _ := strings.Cut(p.spec, ":")
	if slices.Contains(llm.Backends(), kind) && address != "" {
		return p.server(ctx, g)
	}
	policy, err := agent.ParsePolicy(p.spec, agent.ModelPolicy{})
	if err != nil {
		return openPolicy{}, errext.WithCode(err, exitUsage)
	}
	return openPolicy{Policy: policy, name: p.spec, close: func() error { return nil }}, nil
}

// inProcess is a policy of a model in this process.
func (p *policyFlags) inProcess(ctx context.Context, g *globals) (openPolicy, error) {
	model, closeModel, err := p.local.open(ctx, p.spec)
	if err != nil {
		return openPolicy{}, err
	}
	local := llm.NewLocal(model, llm.Config{MaxConcurrent: p.concurrent, Now: g.now, Log: g.log})
	policy, err := agent.Model(local, p.sampling(), 0)
	if err != nil {
		return openPolicy{}, errors.Join(errext.WithCode(err, exitUsage), closeModel())
	}
	info := model.Info()
	return openPolicy{
		Policy: policy, name: p.spec, close: closeModel,
		info: map[string]any{"model": info, "sampling": p.sampling(), "neutral_sampler": p.sampling().Neutral()},
	}, nil
}

// server is a policy behind an inference server.
func (p *policyFlags) server(ctx context.Context, g *globals) (openPolicy, error) {
	client, err := llm.Open(ctx, p.spec, llm.Config{
		Model: p.model, APIKey: llm.Secret(g.env(p.keyEnv)), Timeout: p.timeout, MaxConcurrent: p.concurrent,
		Now: g.now, Log: g.log,
	})
	if err != nil {
		_, address, _ := strings.Cut(p.spec, ":")
		return openPolicy{}, errext.WithHint(err, hintOr(err, "see whether the server answers: curl "+address+"/v1/models"))
	}
	who, err := client.Identity(ctx)
	if err != nil {
		return openPolicy{}, err
	}
	policy, err := agent.Model(client, p.sampling(), 0)
	if err != nil {
		return openPolicy{}, errext.WithCode(err, exitUsage)
	}
	return openPolicy{
		Policy: policy, name: fmt.Sprintf("%s %s", p.spec, who.Model), close: func() error { return nil },
		info: map[string]any{"server": who, "sampling": p.sampling(), "neutral_sampler": p.sampling().Neutral()},
	}, nil
}

func (p *policyFlags) sampling() llm.Sampling {
	return llm.Sampling{Temperature: p.temperature, TopP: p.topP, TopK: p.topK, MinP: p.minP, MaxTokens: p.maxTokens}
}

func hintUsage(err error, hint string) error {
	return errext.WithCode(errext.WithHint(err, hint), exitUsage)
}

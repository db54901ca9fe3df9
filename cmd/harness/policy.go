package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hindsightrl/harness"
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
	topLogprobs int
	route       string
	mode        string
	versions    bool
	concurrent  int
	timeout     time.Duration
	local       localFlags
	renderer    rendererFlag
}

// Alternatives per token. autoTop asks servers that give token log-probabilities for defaultTop, which
// is what vLLM grants without being told, and the others for none.
const (
	autoTop    = -1
	defaultTop = 20
)

func (p *policyFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.spec, "policy", defaultPolicy,
		"who acts: expert, expert:E (a share E of random actions), random, refmodel, gguf:FILE, or a server: openai:URL, vllm:URL, sglang:URL, llamacpp:URL, or the URL alone")
	f.StringVar(&p.model, "model", "", "model name, for policies behind a server (default: the first that it lists)")
	f.StringVar(&p.keyEnv, "api-key-env", "HARNESS_API_KEY", "environment variable that holds the server's key")
	f.Float64Var(&p.temperature, "temperature", 1, "sampling temperature")
	f.Float64Var(&p.topP, "top-p", 1, "nucleus sampling; 1 = off")
	f.IntVar(&p.topK, "top-k", 0, "sample from the k most likely tokens; 0 = off")
	f.Float64Var(&p.minP, "min-p", 0, "cut tokens below this share of the most likely one; 0 = off")
	f.IntVar(&p.maxTokens, "max-tokens", 512, "tokens per response")
	f.IntVar(&p.topLogprobs, "top-logprobs", autoTop,
		"alternatives per token that a server is asked for, to bound the entropies; -1 = 20 where it gives token log-probabilities, 0 = none (models of this process give exact entropies)")
	f.StringVar(&p.route, "route", "", "vLLM: chat, completions or tokens (the one that names each token's weights); default chat")
	f.StringVar(&p.mode, "logprob-mode", "", "what the server's log-probabilities are, as `harness doctor` measures: raw or processed; recorded with the tokens")
	f.BoolVar(&p.versions, "track-versions", false, "vLLM: ask for the weights' version around each call whose reply does not name it")
	f.IntVar(&p.concurrent, "max-concurrent", 64, "calls in flight at the server")
	p.local.flags(cmd)
	p.renderer.flags(cmd)
	f.DurationVar(&p.timeout, "call-timeout", 5*time.Minute, "how long one call may take")
}

// openPolicy is a policy with the name that the run records.
type openPolicy struct {
	agent.Policy
	name   string
	info   map[string]any   // what the run records about it
	stats  func() llm.Stats // nil: no model
	client llm.Client       // nil: no server
	calls  *retryLog        // nil: no server
	close  func() error
}

func (p *policyFlags) open(ctx context.Context, g *globals) (openPolicy, error) {
	if isLocal(p.spec) {
		return p.inProcess(ctx, g)
	}
	if _, address, err := llm.SplitSpec(p.spec); err == nil && address != "" {
		return p.server(ctx, g)
	}
	policy, err := agent.ParsePolicy(p.spec, agent.ModelPolicy{})
	if err != nil {
		if strings.HasPrefix(errext.Hint(err), "did you mean") {
			return openPolicy{}, errext.WithCode(err, exitUsage)
		}
		return openPolicy{}, hintUsage(err, "policies are refmodel, expert, expert:E, random, gguf:FILE, or a server: vllm:URL, sglang:URL, llamacpp:URL, openai:URL")
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
	policy, err := agent.Model(local, p.sampling(), 0) // the entropies are exact without alternatives
	if err != nil {
		return openPolicy{}, errors.Join(errext.WithCode(err, exitUsage), closeModel())
	}
	if !p.sampling().Neutral() {
		g.log.Warn("the sampler is not neutral: tokens are not drawn from the model's own distribution, which is what log-probabilities and entropies are recorded of")
	}
	info := model.Info()
	return openPolicy{
		Policy: policy, name: p.spec, stats: local.Stats, close: closeModel,
		info: map[string]any{"model": info, "sampling": p.sampling(), "neutral_sampler": p.sampling().Neutral()},
	}, nil
}

// server is a policy behind an inference server.
func (p *policyFlags) server(ctx context.Context, g *globals) (openPolicy, error) {
	calls := newRetryLog(g.now)
	cfg := llm.Config{
		Model: p.model, APIKey: llm.Secret(g.env(p.keyEnv)), Timeout: p.timeout, MaxConcurrent: p.concurrent,
		Route: llm.Route(p.route), LogprobMode: p.mode, TrackVersions: p.versions, Now: g.now, Log: g.log,
		OnRetry: calls.note,
	}
	if err := cfg.Validate(); err != nil {
		return openPolicy{}, errext.WithCode(fmt.Errorf("policy %q: %w", p.spec, err), exitUsage)
	}
	render, closeRenderer, err := p.renderer.open(ctx, g, &p.local, p.keyEnv)
	if err != nil {
		return openPolicy{}, err
	}
	cfg.Render = render
	policy, err := p.connect(ctx, cfg)
	if err != nil {
		return openPolicy{}, errors.Join(err, closeRenderer())
	}
	policy.calls, policy.close = calls, closeRenderer
	return policy, nil
}

// connect opens the server's client and finds out what it grants.
func (p *policyFlags) connect(ctx context.Context, cfg llm.Config) (openPolicy, error) {
	client, err := llm.Open(ctx, p.spec, cfg)
	if err != nil {
		_, address, _ := llm.SplitSpec(p.spec)
		return openPolicy{}, serverHint(err, p.keyEnv, "see whether the server answers: curl "+address+"/v1/models")
	}
	who, err := client.Identity(ctx)
	if err != nil {
		return openPolicy{}, err
	}
	top, err := p.top(ctx, client)
	if err != nil {
		return openPolicy{}, serverHint(err, p.keyEnv, "harness doctor --server "+p.spec)
	}
	policy, err := agent.Model(client, p.sampling(), top)
	if err != nil {
		return openPolicy{}, errext.WithCode(err, exitUsage)
	}
	return openPolicy{
		Policy: policy, name: fmt.Sprintf("%s %s", p.spec, who.Model), stats: client.Stats, client: client,
		info: map[string]any{"server": who, "sampling": p.sampling(), "neutral_sampler": p.sampling().Neutral(), "top_logprobs": top},
	}, nil
}

// top is how many alternatives per token to ask for. A server that refuses that many would fail every
// episode, so it is asked for one token first.
func (p *policyFlags) top(ctx context.Context, client llm.Client) (int, error) {
	top := p.topLogprobs
	if top == autoTop {
		if _, textOnly := client.(*llm.OpenAI); textOnly {
			return 0, nil
		}
		top = defaultTop
	}
	if top <= 0 {
		return 0, nil
	}
	req := llm.Request{
		Messages: []harness.Message{{Role: "user", Content: "hi"}}, TopLogprobs: top,
		Sampling: llm.Sampling{Temperature: p.temperature, TopP: p.topP, TopK: p.topK, MinP: p.minP, MaxTokens: 1},
	}
	_, err := client.Generate(ctx, req)
	if err == nil {
		return top, nil
	}
	req.TopLogprobs = 0
	if _, without := client.Generate(ctx, req); without != nil {
		return 0, err
	}
	return 0, errext.WithHint(fmt.Errorf("the server answers, but not with %d alternatives per token: %w", top, err),
		"ask for fewer with --top-logprobs N, or 0 for none; vLLM grants what it was started with (--max-logprobs)")
}

// serverHint adds the remedy to an error of a server: the key where that is what it wants.
func serverHint(err error, keyEnv, otherwise string) error {
	if status := (*llm.StatusError)(nil); errors.As(err, &status) && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden) {
		return errext.WithHint(err, "export "+keyEnv+"=… with the server's key")
	}
	return errext.WithHint(err, hintOr(err, otherwise))
}

func (p *policyFlags) sampling() llm.Sampling {
	return llm.Sampling{Temperature: p.temperature, TopP: p.topP, TopK: p.topK, MinP: p.minP, MaxTokens: p.maxTokens}
}

func hintUsage(err error, hint string) error {
	return errext.WithCode(errext.WithHint(err, hint), exitUsage)
}

// validate refuses settings that no sampler can mean. Negated comparisons also catch NaN.
func (p *policyFlags) validate() error {
	switch {
	case !(p.temperature >= 0 && p.temperature <= 100):
		return fmt.Errorf("--temperature %g: want 0 (greedy) or more", p.temperature)
	case !(p.topP >= 0 && p.topP <= 1):
		return fmt.Errorf("--top-p %g: want a share between 0 and 1 (off)", p.topP)
	case !(p.minP >= 0 && p.minP <= 1):
		return fmt.Errorf("--min-p %g: want a share between 0 (off) and 1", p.minP)
	case p.topK < 0:
		return fmt.Errorf("--top-k %d: want 0 (off) or more", p.topK)
	case p.maxTokens < 0:
		return fmt.Errorf("--max-tokens %d: want 0 (the server's default) or more", p.maxTokens)
	case p.concurrent < 1:
		return fmt.Errorf("--max-concurrent %d: want at least 1", p.concurrent)
	case p.timeout <= 0:
		return fmt.Errorf("--call-timeout %v: want more than 0", p.timeout)
	}
	return nil
}

// forServers refuses --model and --route where no server is asked: whoever gives them believes that one is.
func (p *policyFlags) forServers(flags *pflag.FlagSet) error {
	if onServer(p.spec) {
		return nil
	}
	for _, name := range []string{"model", "route"} {
		if f := flags.Lookup(name); f != nil && f.Changed && f.Value.String() != "" && originOf(f) == originFlag {
			return errext.WithHint(fmt.Errorf("--%s is for policies behind a server, and the policy is %s", name, p.spec),
				"name the server too: --policy vllm:http://127.0.0.1:8000")
		}
	}
	return nil
}

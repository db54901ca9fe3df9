package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hindsightrl/harness"
)

// Capabilities is what a server was seen to give. Nothing here is concluded from a name.
type Capabilities struct {
	Identity
	Text          bool   `json:"text"`            // a response to messages
	TokenIDs      bool   `json:"token_ids"`       // ids of prompt and response
	Logprobs      bool   `json:"logprobs"`        // of sampled tokens
	TopLogprobs   int    `json:"top_logprobs"`    // alternatives per sampled token that were given, of ProbeConfig.Top
	TokenInput    bool   `json:"token_input"`     // generation from ids
	Render        bool   `json:"render"`          // messages to ids
	Spelling      bool   `json:"spelling"`        // ids to text, so that each token's bytes of the response are known
	Scoring       bool   `json:"scoring"`         // log-probabilities of given tokens
	ScoringTop    int    `json:"scoring_top"`     // alternatives per scored token that were given
	CallsPerScore int    `json:"calls_per_score"` // requests that scoring the sample took
	ForcedScoring bool   `json:"forced_scoring"`  // one request per token, not one per text
	Seeds         bool   `json:"seeds"`           // the same seed gave the same response
	VersionLabel  string `json:"version_label"`   // label of the loaded weights; "" = not told
	TokenVersions bool   `json:"token_versions"`  // replies say which weights sampled which token
	Pause         bool   `json:"pause"`           // generation can be paused for a weight update
	LogprobMode   string `json:"logprob_mode"`    // measured at another temperature: "raw", "processed", "" unclear
}

// Difference sums up how far two lists of log-probabilities are apart, in nats.
type Difference struct {
	Tokens int     `json:"tokens"` // 0 = not measured
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// compareLogprobs measures the absolute differences of two equally long lists.
func compareLogprobs(a, b []float32) Difference {
	n := min(len(a), len(b))
	if n == 0 {
		return Difference{}
	}
	d := make([]float64, n)
	for i := range d {
		d[i] = math.Abs(float64(a[i]) - float64(b[i]))
	}
	slices.Sort(d)
	mid := d[n/2]
	if n%2 == 0 {
		mid = (d[n/2-1] + d[n/2]) / 2
	}
	return Difference{Tokens: n, Median: mid, Max: d[n-1]}
}

// ProbeConfig tunes a probe. Zero fields mean the default beside them.
type ProbeConfig struct {
	Messages  []harness.Message // what to ask; nil = a short neutral question
	MaxTokens int               // length of the sample; 0 = 32
	Top       int               // alternatives to ask for; 0 = 20
	Seed      int64             // of the sample; 0 = 1
}

func (c ProbeConfig) withDefaults() ProbeConfig {
	if len(c.Messages) == 0 {
		c.Messages = []harness.Message{{Role: "user", Content: "Name three things that are found in a kitchen, and say where."}}
	}
	c.MaxTokens, c.Top, c.Seed = or(c.MaxTokens, 32), or(c.Top, 20), or(c.Seed, 1)
	return c
}

// fewAlternatives is what OpenAI's completions and servers with a low bound grant.
const fewAlternatives = 5

// prober carries one probe through its steps.
type prober struct {
	c   Client
	cfg ProbeConfig
	rep *Report
}

// Probe measures what a server gives and how well its numbers agree. It generates a few dozen tokens
// and scores them three times; it pauses nothing and changes nothing. What the server cannot do is a
// finding in the report. An error means that the server could not be asked at all.
func Probe(ctx context.Context, c Client, cfg ProbeConfig) (*Report, error) {
	p := &prober{c: c, cfg: cfg.withDefaults(), rep: &Report{}}
	id, err := c.Identity(ctx)
	if err != nil {
		return nil, fmt.Errorf("probe server: %w", err)
	}
	p.rep.Identity = id
	gen, err := p.generation(ctx)
	if err != nil {
		return nil, fmt.Errorf("probe server: %w", err)
	}
	if gen == nil {
		p.rep.Stats = c.Stats()
		p.rep.conclude()
		return p.rep, nil
	}
	for _, step := range []func(context.Context, *Generation) error{p.seeds, p.render, p.spelling, p.tokenInput, p.scoring, p.mode, p.control} {
		if err := step(ctx, gen); err != nil {
			return nil, fmt.Errorf("probe server: %w", err)
		}
	}
	p.rep.Stats = c.Stats()
	p.rep.conclude()
	return p.rep, nil
}

// cannot files err as a finding, unless the caller gave up or the server went away.
func (p *prober) cannot(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrModelSwapped) {
		return err
	}
	p.rep.find(LevelWarn, "%s: %v", what, err)
	return nil
}

func (p *prober) request(temperature float64) Request {
	seed := p.cfg.Seed
	return Request{
		Messages: p.cfg.Messages, TopLogprobs: p.cfg.Top,
		Sampling: Sampling{Temperature: temperature, TopP: 1, MaxTokens: p.cfg.MaxTokens, Seed: &seed},
	}
}

// generation samples the response that the other steps rest on; nil = the server gives none.
func (p *prober) generation(ctx context.Context) (*Generation, error) {
	gen, err := p.c.Generate(ctx, p.request(1))
	refused, asked := err, p.cfg.Top
	for _, fewer := range []int{fewAlternatives, 0} { // perhaps only so many alternatives are refused
		if err != nil && p.cfg.Top > fewer {
			p.cfg.Top = fewer
			gen, err = p.c.Generate(ctx, p.request(1))
		}
	}
	if err != nil {
		return nil, p.cannot(ctx, "generation fails", err)
	}
	if refused != nil && !errors.Is(refused, errTextOnly) {
		p.rep.find(LevelWarn, "%d alternatives per token are refused: %v", asked, refused)
	}
	r := p.rep
	r.Text = true
	if gen.Tokens == nil {
		return &gen, nil
	}
	r.TokenIDs = len(gen.Tokens.IDs) > 0 && len(gen.Tokens.PromptIDs) > 0
	r.Logprobs = len(gen.Tokens.Logprobs) > 0
	r.TokenVersions = gen.Tokens.Versions != nil
	for i, top := range gen.Top {
		if i == 0 || len(top) < r.TopLogprobs {
			r.TopLogprobs = len(top)
		}
	}
	return &gen, nil
}

// seeds repeats the generation: the same seed should give the same response.
func (p *prober) seeds(ctx context.Context, gen *Generation) error {
	req := p.request(1)
	req.TopLogprobs = 0
	again, err := p.c.Generate(ctx, req)
	if err != nil {
		return p.cannot(ctx, "a second generation fails", err)
	}
	p.rep.Seeds = again.Text == gen.Text
	if gen.Tokens != nil && again.Tokens != nil {
		p.rep.Seeds = equalIDs(again.Tokens.IDs, gen.Tokens.IDs)
	}
	return nil
}

// render asks for the prompt's ids and compares them with those of the generation.
func (p *prober) render(ctx context.Context, gen *Generation) error {
	r, ok := p.c.(Renderer)
	if !ok {
		return nil
	}
	ids, err := r.Render(ctx, p.cfg.Messages)
	if err != nil {
		return p.cannot(ctx, "rendering messages to ids", err)
	}
	p.rep.Render = true
	if gen.Tokens != nil && gen.Tokens.PromptIDs != nil && !equalIDs(ids, gen.Tokens.PromptIDs) {
		p.rep.find(LevelFail, "rendering gives %d prompt ids, generation used %d others: scores would belong to another prompt", len(ids), len(gen.Tokens.PromptIDs))
	}
	return nil
}

// spelling finds the bytes of the response that each token printed.
func (p *prober) spelling(ctx context.Context, gen *Generation) error {
	tok, ok := p.c.(Tokenizer)
	if !ok || gen.Tokens == nil || len(gen.Tokens.IDs) == 0 {
		return nil
	}
	if gen.Tokens.Lengths == nil {
		if _, err := NewSpeller(tok).Lengths(ctx, gen.Text, gen.Tokens.IDs); err != nil {
			return p.cannot(ctx, "spelling tokens", err)
		}
	}
	p.rep.Spelling = true
	return nil
}

// tokenInput generates from the prompt's ids; with working seeds the response must be the same.
func (p *prober) tokenInput(ctx context.Context, gen *Generation) error {
	if gen.Tokens == nil || len(gen.Tokens.PromptIDs) == 0 {
		return nil
	}
	req := p.request(1)
	req.Messages, req.TokenIDs, req.TopLogprobs = nil, gen.Tokens.PromptIDs, 0
	again, err := p.c.Generate(ctx, req)
	if err != nil {
		return p.cannot(ctx, "generation from token ids", err)
	}
	p.rep.TokenInput = again.Tokens != nil
	if p.rep.Seeds && again.Tokens != nil && !equalIDs(again.Tokens.IDs, gen.Tokens.IDs) {
		p.rep.find(LevelWarn, "the same prompt gives another response as ids than as messages, with the same seed")
	}
	return nil
}

// scoring re-scores the sample, repeats the call, and looks at what changed.
func (p *prober) scoring(ctx context.Context, gen *Generation) error {
	s, ok := p.c.(Scorer)
	if !ok || gen.Tokens == nil || len(gen.Tokens.PromptIDs) == 0 || len(gen.Tokens.IDs) == 0 {
		return nil
	}
	req := ScoreRequest{Prefix: gen.Tokens.PromptIDs, Continuation: gen.Tokens.IDs, TopLogprobs: p.cfg.Top}
	first, err := s.Score(ctx, req)
	if err != nil {
		req.TopLogprobs = 0
		if first, err = s.Score(ctx, req); err != nil {
			return p.cannot(ctx, "scoring", err)
		}
	}
	r := p.rep
	r.Scoring, r.CallsPerScore = true, first.Calls
	r.ForcedScoring = first.Calls >= len(req.Continuation) && len(req.Continuation) > 1
	if len(first.Top) > 0 {
		r.ScoringTop = len(first.Top[0])
	}
	r.Consistency = compareLogprobs(gen.Tokens.Logprobs, first.Logprobs)
	// Twice more: a stale cache shows only from the second call with the same tokens on.
	for range 2 {
		again, err := s.Score(ctx, req)
		if err != nil {
			return p.cannot(ctx, "repeated scoring", err)
		}
		if d := compareLogprobs(first.Logprobs, again.Logprobs); d.Max >= r.Repeat.Max {
			r.Repeat = d
		}
	}
	return nil
}

const (
	modeTemperature = 0.5  // far enough from 1 to tell raw from processed log-probabilities
	certain         = -0.2 // nats; tokens above it change too little with the temperature
	minUncertain    = 3    // tokens below it that a conclusion needs
)

// mode samples at another temperature and compares with the scores, which are the model's own
// distribution. Processed values are those of the scaled distribution and differ.
func (p *prober) mode(ctx context.Context, gen *Generation) error {
	s, ok := p.c.(Scorer)
	if !ok || !p.rep.Scoring || p.rep.Consistency.Tokens == 0 {
		return nil
	}
	req := p.request(modeTemperature)
	req.TopLogprobs = 0
	cold, err := p.c.Generate(ctx, req)
	if err != nil || cold.Tokens == nil || len(cold.Tokens.IDs) == 0 {
		return p.cannot(ctx, "generation at another temperature", or(err, errTextOnly))
	}
	score, err := s.Score(ctx, ScoreRequest{Prefix: cold.Tokens.PromptIDs, Continuation: cold.Tokens.IDs})
	if err != nil {
		return p.cannot(ctx, "scoring at another temperature", err)
	}
	// Where the model is certain both kinds are near 0 and tell nothing.
	var sampled, own []float32
	for i, lp := range score.Logprobs {
		if lp < certain {
			sampled, own = append(sampled, cold.Tokens.Logprobs[i]), append(own, lp)
		}
	}
	d := compareLogprobs(sampled, own)
	if d.Tokens < minUncertain {
		return nil
	}
	switch noise := max(p.rep.Consistency.Median, p.rep.Repeat.Median, 2.5e-4); {
	case d.Median <= 4*noise:
		p.rep.LogprobMode = ModeRaw
	case d.Median > 10*noise:
		p.rep.LogprobMode = ModeProcessed
	}
	return nil
}

// control asks for the weights' version and for the pause endpoints.
func (p *prober) control(ctx context.Context, _ *Generation) error {
	if v, ok := p.c.(Versioner); ok {
		label, err := v.WeightVersion(ctx)
		if err != nil && !errors.Is(err, ErrUnsupported) {
			return p.cannot(ctx, "weight version", err)
		}
		p.rep.VersionLabel = label
	}
	if v, ok := p.c.(Pauser); ok {
		can, err := v.CanPause(ctx)
		if err != nil {
			return p.cannot(ctx, "pause", err)
		}
		p.rep.Pause = can
	}
	return nil
}

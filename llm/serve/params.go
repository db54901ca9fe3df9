package serve

import (
	"math"
	"slices"
	"strconv"

	"github.com/hindsightrl/harness/llm"
)

// params are vLLM's sampling fields. A nil pointer is a field that was not sent.
type params struct {
	N                 *int               `json:"n"`
	BestOf            *int               `json:"best_of"`
	Temperature       *float64           `json:"temperature"`
	TopP              *float64           `json:"top_p"`
	TopK              *int               `json:"top_k"`
	MinP              *float64           `json:"min_p"`
	MaxTokens         *int               `json:"max_tokens"`
	MinTokens         int                `json:"min_tokens"`
	Seed              *int64             `json:"seed"`
	Stop              stringList         `json:"stop"`
	StopTokenIDs      []int32            `json:"stop_token_ids"`
	IncludeStop       bool               `json:"include_stop_str_in_output"`
	IgnoreEOS         bool               `json:"ignore_eos"`
	SkipSpecial       *bool              `json:"skip_special_tokens"`
	PromptLogprobs    *int               `json:"prompt_logprobs"`
	PresencePenalty   float64            `json:"presence_penalty"`
	FrequencyPenalty  float64            `json:"frequency_penalty"`
	RepetitionPenalty *float64           `json:"repetition_penalty"`
	LogitBias         map[string]float64 `json:"logit_bias"`
	AllowedTokenIDs   []int32            `json:"allowed_token_ids"`
	LogprobTokenIDs   []int32            `json:"logprob_token_ids"`
	BadWords          []string           `json:"bad_words"`
	BeamSearch        bool               `json:"use_beam_search"`
	TruncatePrompt    *int               `json:"truncate_prompt_tokens"`
	GuidedJSON        any                `json:"guided_json"`
	GuidedRegex       any                `json:"guided_regex"`
	GuidedChoice      any                `json:"guided_choice"`
	GuidedGrammar     any                `json:"guided_grammar"`
	Structured        any                `json:"structured_outputs"`
	ResponseFormat    *struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

// order is what params come down to: everything about sampling but the prompt.
type order struct {
	sampling       llm.Sampling // Stop is empty: stop strings are found here, with what they do to the text
	n              int
	top            int // alternatives per sampled token that are shown, -1 = none
	promptTop      int // alternatives per prompt token, -1 = no prompt log-probabilities
	stop           []string
	stopIDs        []int32
	keepStop       bool
	skipSpecial    bool
	minTokens      int
	adjust         func(prompt, sampled []int32, logits []float32) // nil = none
	returnIDs      bool
	idNames        bool // tokens are called "token_id:N"
	requestID      string
	needsEndTokens bool // adjust bans the tokens that end a response
}

// unsupported refuses what would otherwise be ignored.
func (p *params) unsupported() error {
	format := p.ResponseFormat != nil && p.ResponseFormat.Type != "" && p.ResponseFormat.Type != "text"
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"use_beam_search", p.BeamSearch},
		{"best_of", p.BestOf != nil && *p.BestOf > max(1, orInt(p.N, 1))},
		{"logprob_token_ids", len(p.LogprobTokenIDs) > 0},
		{"bad_words", len(p.BadWords) > 0},
		{"truncate_prompt_tokens", p.TruncatePrompt != nil},
		{"response_format", format},
		{"structured_outputs", p.Structured != nil},
		{"guided_json", p.GuidedJSON != nil},
		{"guided_regex", p.GuidedRegex != nil},
		{"guided_choice", p.GuidedChoice != nil},
		{"guided_grammar", p.GuidedGrammar != nil},
	} {
		if f.set {
			return bad(f.name, "%s is not supported by this server", f.name)
		}
	}
	return nil
}

// inRange checks what has a range in vLLM.
func (p *params) inRange() error {
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	for _, f := range []struct {
		name string
		ok   bool
		want string
	}{
		{"n", orInt(p.N, 1) >= 1, "at least 1"},
		{"temperature", p.Temperature == nil || *p.Temperature >= 0 && finite(*p.Temperature), "non-negative"},
		{"top_p", p.TopP == nil || *p.TopP > 0 && *p.TopP <= 1, "in (0, 1]"},
		{"top_k", orInt(p.TopK, 0) >= -1, "-1 (all), 0 (all) or at least 1"},
		{"min_p", p.MinP == nil || *p.MinP >= 0 && *p.MinP <= 1, "in [0, 1]"},
		{"max_tokens", orInt(p.MaxTokens, 1) >= 0, "non-negative"},
		{"min_tokens", p.MinTokens >= 0 && p.MinTokens <= orInt(p.MaxTokens, math.MaxInt), "between 0 and max_tokens"},
		{"presence_penalty", math.Abs(p.PresencePenalty) <= 2, "in [-2, 2]"},
		{"frequency_penalty", math.Abs(p.FrequencyPenalty) <= 2, "in [-2, 2]"},
		{"repetition_penalty", p.RepetitionPenalty == nil || *p.RepetitionPenalty > 0 && finite(*p.RepetitionPenalty), "greater than 0"},
		{"stop", !slices.Contains(p.Stop, ""), "without empty strings"},
	} {
		if !f.ok {
			return bad(f.name, "%s must be %s", f.name, f.want)
		}
	}
	return nil
}

// order checks the fields and fills in vLLM's defaults. max_tokens is settled with the prompt.
func (p *params) order(vocab, maxLogprobs int) (order, error) {
	if err := p.unsupported(); err != nil {
		return order{}, err
	}
	if err := p.inRange(); err != nil {
		return order{}, err
	}
	o := order{
		sampling: llm.Sampling{Temperature: 1, TopP: 1, TopK: max(0, orInt(p.TopK, 0)), Seed: p.Seed},
		n:        orInt(p.N, 1), top: -1, promptTop: -1, stop: p.Stop, stopIDs: p.StopTokenIDs,
		keepStop: p.IncludeStop, skipSpecial: p.SkipSpecial == nil || *p.SkipSpecial, minTokens: p.MinTokens,
	}
	if p.Temperature != nil {
		o.sampling.Temperature = *p.Temperature
	}
	if p.TopP != nil {
		o.sampling.TopP = *p.TopP
	}
	if p.MinP != nil {
		o.sampling.MinP = *p.MinP
	}
	if p.PromptLogprobs != nil {
		var err error
		if o.promptTop, err = alternatives("prompt_logprobs", *p.PromptLogprobs, vocab, maxLogprobs); err != nil {
			return order{}, err
		}
	}
	var err error
	o.adjust, err = p.adjust(vocab)
	o.needsEndTokens = p.IgnoreEOS || p.MinTokens > 0
	return o, err
}

// alternatives checks a number of alternatives; -1 is the whole vocabulary.
func alternatives(field string, n, vocab, most int) (int, error) {
	if n < -1 {
		return 0, bad(field, "%s must be -1 or non-negative", field)
	}
	asked := n
	if n == -1 {
		asked = vocab
	}
	if most >= 0 && asked > most {
		return 0, bad(field, "Requested %s of %d, which is greater than max allowed: %d", field, asked, most)
	}
	return min(asked, vocab), nil
}

// parseBias reads {"token id": bias}.
func parseBias(m map[string]float64, vocab int) (map[int32]float32, error) {
	out := make(map[int32]float32, len(m))
	for k, v := range m {
		id, err := strconv.ParseInt(k, 10, 32)
		if err != nil || id < 0 || int(id) >= vocab {
			return nil, bad("logit_bias", "logit_bias: %q is no token id", k)
		}
		if v < -100 || v > 100 {
			return nil, bad("logit_bias", "logit_bias must be in [-100, 100]")
		}
		out[int32(id)] = float32(v)
	}
	return out, nil
}

func orInt(p *int, otherwise int) int {
	if p == nil {
		return otherwise
	}
	return *p
}

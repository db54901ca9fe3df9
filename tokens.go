package harness

import "fmt"

// Tokens are a step's exact tokens: P prompt ids and T response ids, with one value per response
// token in each filled column. A nil column was not given by the policy; it is never made up.
type Tokens struct {
	PromptIDs   []int32    `json:"prompt_ids,omitempty"`   // length P
	IDs         []int32    `json:"ids"`                    // length T, as sampled
	Logprobs    []float32  `json:"logprobs,omitempty"`     // nats, of the sampled token under the behaviour policy
	Entropies   []float32  `json:"entropies,omitempty"`    // nats, exact or estimate
	EntropyLow  []float32  `json:"entropy_low,omitempty"`  // nats, lower bound; nil where Entropies are exact
	EntropyHigh []float32  `json:"entropy_high,omitempty"` // nats, upper bound; nil where Entropies are exact
	Versions    []int32    `json:"versions,omitempty"`     // policy version that produced each token
	Lengths     []int32    `json:"lengths,omitempty"`      // bytes of the response that each token printed, 0 for an end token; they sum to len(Response)
	TopK        int        `json:"top_k,omitempty"`        // alternatives that the entropy estimate rests on; 0 = all logits
	Meta        *TokenMeta `json:"meta,omitempty"`
}

// TokenMeta says how the numbers beside the tokens came about.
type TokenMeta struct {
	Engine      string  `json:"engine"`       // server software
	Version     string  `json:"version"`      // its version, "" where it does not say
	Model       string  `json:"model"`        // model name
	Mode        string  `json:"mode"`         // log-probabilities of the "raw" or the "processed" distribution; "" unknown
	Temperature float64 `json:"temperature"`  // sampler
	TopP        float64 `json:"top_p"`        // sampler
	TopK        int     `json:"sampler_topk"` // sampler; 0 = off
	MinP        float64 `json:"min_p"`        // sampler
	Finish      string  `json:"finish"`       // "stop", "length", …
	// Drift says how the prompt relates to the tokens of the turns before it, in a conversation that
	// is continued in token space: "clean", "realigned", "forked" (llm.Drift); "" elsewhere.
	Drift string `json:"drift,omitempty"`
}

// MaskSpans marks the tokens that overlap a span by at least one byte. offsets holds one byte range per
// token, spans the byte ranges to mark, both in order; the mask has len(offsets) values. A token that prints
// nothing is never marked. A character split over tokens marks all of its tokens.
func MaskSpans(offsets, spans []Span) []bool {
	mask := make([]bool, len(offsets))
	next := 0
	for i, t := range offsets {
		for next < len(spans) && (spans[next].End <= t.Start || spans[next].End <= spans[next].Start) {
			next++
		}
		if next == len(spans) {
			break
		}
		s := spans[next]
		mask[i] = t.Start < t.End && t.Start < s.End && s.Start < t.End
	}
	return mask
}

// Validate reports a column whose length differs from the ids', with both lengths.
func (t *Tokens) Validate() error {
	if t == nil {
		return nil
	}
	n := len(t.IDs)
	for _, c := range []struct {
		name string
		got  int
	}{
		{"logprobs", len(t.Logprobs)},
		{"entropies", len(t.Entropies)},
		{"entropy_low", len(t.EntropyLow)},
		{"entropy_high", len(t.EntropyHigh)},
		{"versions", len(t.Versions)},
		{"lengths", len(t.Lengths)},
	} {
		if c.got != 0 && c.got != n {
			return fmt.Errorf("tokens: %s has %d values for %d ids", c.name, c.got, n)
		}
	}
	return nil
}

// Spans returns the bytes of the response that each token printed, from Lengths; nil where those were
// not given. Lengths that do not add up to the response are an error: a mask that is shifted by one
// token is worse than none.
func (t *Tokens) Spans(response string) ([]Span, error) {
	if t == nil || t.Lengths == nil {
		return nil, nil
	}
	spans, at := make([]Span, len(t.Lengths)), 0
	for i, n := range t.Lengths {
		if n < 0 {
			return nil, fmt.Errorf("tokens: token %d printed %d bytes", i, n)
		}
		spans[i] = Span{at, at + int(n)}
		at += int(n)
	}
	if at != len(response) {
		return nil, fmt.Errorf("tokens: %d of them printed %d bytes, the response has %d", len(spans), at, len(response))
	}
	return spans, nil
}

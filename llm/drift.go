package llm

import (
	"bytes"
	"fmt"
	"math"

	"github.com/hindsightrl/harness"
)

// Drift says how a prompt relates to the tokens of the turns before it.
type Drift string

// The kinds of drift.
const (
	// DriftClean: the new prompt begins with exactly the earlier tokens.
	DriftClean Drift = "clean"
	// DriftRealigned: the text is the same, the tokens are not (text was tokenised anew, and split
	// otherwise than it was sampled).
	DriftRealigned Drift = "realigned"
	// DriftForked: the text differs (history was cut, thoughts were dropped, a template changed).
	DriftForked Drift = "forked"
)

// DriftCounts counts turns by their drift, and the response tokens that lost their log-probability.
type DriftCounts struct {
	Clean     int `json:"clean"`
	Realigned int `json:"realigned"`
	Forked    int `json:"forked"`
	Lost      int `json:"lost_tokens"`
}

// Thread is a conversation continued in token space: all of its tokens so far, with the
// log-probability under which the policy sampled each. The zero value is an empty conversation.
//
// A log-probability belongs to a token and to everything before it. So where a new prompt departs
// from the thread, all tokens from there on lose theirs, even those whose ids come back later: they
// now stand behind another prefix, and only a new scoring call can give them a value.
type Thread struct {
	IDs      []int32
	Logprobs []float32 // NaN: a prompt token, or one whose prefix changed
	Versions []int32   // policy version of each token; −1: none
	Counts   DriftCounts
}

// Continue replaces the thread by a new prompt's ids, keeps what was known of the common beginning
// and says how the prompt relates to the thread. spell gives a token's bytes; it is called only where
// the ids differ. The first prompt of a conversation is clean and not counted.
func (t *Thread) Continue(prompt []int32, spell func(id int32) ([]byte, error)) (Drift, error) {
	if len(t.IDs) == 0 {
		t.extend(prompt, nil, nil)
		return DriftClean, nil
	}
	common := 0
	for common < len(t.IDs) && common < len(prompt) && t.IDs[common] == prompt[common] {
		common++
	}
	drift := DriftClean
	if common < len(t.IDs) {
		same, err := spellsPrefix(t.IDs[common:], prompt[common:], spell)
		if err != nil {
			return "", fmt.Errorf("compare turn with its history: %w", err)
		}
		drift = DriftForked
		if same {
			drift = DriftRealigned
		}
	}
	switch drift {
	case DriftClean:
		t.Counts.Clean++
	case DriftRealigned:
		t.Counts.Realigned++
	case DriftForked:
		t.Counts.Forked++
	}
	for _, lp := range t.Logprobs[common:] {
		if !math.IsNaN(float64(lp)) {
			t.Counts.Lost++
		}
	}
	t.IDs, t.Logprobs, t.Versions = t.IDs[:common:common], t.Logprobs[:common:common], t.Versions[:common:common]
	t.extend(prompt[common:], nil, nil)
	return drift, nil
}

// spellsPrefix reports whether the text of old is a prefix of the text of new.
func spellsPrefix(old, new []int32, spell func(int32) ([]byte, error)) (bool, error) {
	var a, b []byte // what is spelled but not yet matched; one of them is always empty
	for {
		n := min(len(a), len(b))
		if !bytes.Equal(a[:n], b[:n]) {
			return false, nil
		}
		a, b = a[n:], b[n:]
		var err error
		switch {
		case len(a) == 0 && len(old) == 0:
			return true, nil
		case len(a) == 0:
			a, err = spell(old[0])
			old = old[1:]
		case len(new) == 0:
			return false, nil
		default:
			b, err = spell(new[0])
			new = new[1:]
		}
		if err != nil {
			return false, err
		}
	}
}

// Respond appends a response to the thread. The response must have been sampled behind the thread's
// own tokens: another prompt is an error, because its log-probabilities would belong to other prefixes.
func (t *Thread) Respond(tok *harness.Tokens) error {
	if err := tok.Validate(); err != nil {
		return fmt.Errorf("append response: %w", err)
	}
	if tok.PromptIDs != nil && !equalIDs(tok.PromptIDs, t.IDs) {
		return fmt.Errorf("append response: it was sampled after %d prompt tokens that are not the thread's %d", len(tok.PromptIDs), len(t.IDs))
	}
	t.extend(tok.IDs, tok.Logprobs, tok.Versions)
	return nil
}

func (t *Thread) extend(ids []int32, logprobs []float32, versions []int32) {
	t.IDs = append(t.IDs, ids...)
	if len(logprobs) == len(ids) {
		t.Logprobs = append(t.Logprobs, logprobs...)
	}
	for len(t.Logprobs) < len(t.IDs) {
		t.Logprobs = append(t.Logprobs, float32(math.NaN()))
	}
	if len(versions) == len(ids) {
		t.Versions = append(t.Versions, versions...)
	}
	for len(t.Versions) < len(t.IDs) {
		t.Versions = append(t.Versions, -1)
	}
}

// Add sums two counts.
func (c DriftCounts) Add(o DriftCounts) DriftCounts {
	return DriftCounts{c.Clean + o.Clean, c.Realigned + o.Realigned, c.Forked + o.Forked, c.Lost + o.Lost}
}

package agent

import (
	"fmt"

	"github.com/hindsightrl/harness"
)

// TokenOffsets returns the bytes of response that each token spells. tokens holds the bytes of each
// response token as the server decodes it alone, empty for those that print nothing (an end-of-text
// token); a character may be split over tokens. Together they must spell the response: what does not
// fit is an error, for a mask that is shifted by one token is worse than none.
func TokenOffsets(response string, tokens [][]byte) ([]harness.Span, error) {
	out := make([]harness.Span, len(tokens))
	at := 0
	for i, t := range tokens {
		if at+len(t) > len(response) || response[at:at+len(t)] != string(t) {
			return nil, fmt.Errorf("align tokens: token %d of %d is %q, which the response does not have at byte %d of %d",
				i, len(tokens), t, at, len(response))
		}
		out[i] = harness.Span{Start: at, End: at + len(t)}
		at += len(t)
	}
	if at != len(response) {
		return nil, fmt.Errorf("align tokens: %d tokens spell %d bytes, the response has %d", len(tokens), at, len(response))
	}
	return out, nil
}

// MaskFromSpans is harness.MaskSpans.
func MaskFromSpans(offsets, spans []harness.Span) []bool { return harness.MaskSpans(offsets, spans) }

package llm

import (
	"bytes"
	"context"
	"fmt"
	"unicode/utf8"
)

// Lengths returns how many bytes of text each token printed (harness.Tokens.Lengths). pieces are the
// exact bytes of each token, empty for one that prints nothing. text is what they spell, perhaps cut
// short at a stop string, with U+FFFD in place of each run of bytes that are no characters: its three
// bytes are dealt out over the run from the left, and the last byte of the run gets what is left.
func Lengths(text string, pieces [][]byte) ([]int32, error) {
	raw := bytes.Join(pieces, nil)
	printed := printedBy(raw)
	out := make([]int32, len(pieces))
	at, rest := 0, len(text)
	spelt := bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if len(spelt) < len(text) || string(spelt[:len(text)]) != text {
		return nil, fmt.Errorf("align tokens: %d of them spell %q, the response is %q", len(pieces), clip(spelt, 40), clip([]byte(text), 40))
	}
	for i, p := range pieces {
		for range p {
			n := min(printed[at], rest)
			out[i] += int32(n)
			rest -= n
			at++
		}
	}
	return out, nil
}

// printedBy says how many bytes of valid UTF-8 each raw byte becomes.
func printedBy(raw []byte) []int {
	out := make([]int, len(raw))
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if r != utf8.RuneError || size != 1 {
			for j := range size {
				out[i+j] = 1
			}
			i += size
			continue
		}
		end := i
		for end < len(raw) {
			if r, size := utf8.DecodeRune(raw[end:]); r != utf8.RuneError || size != 1 {
				break
			}
			end++
		}
		left := utf8.RuneLen(utf8.RuneError)
		for j := i; j < end-1 && left > 1; j++ {
			out[j] = 1
			left--
		}
		out[end-1] += left
		i = end
	}
	return out
}

// Lengths is Split as the ledger keeps it.
func (s *Speller) Lengths(ctx context.Context, text string, ids []int32) ([]int32, error) {
	pieces, err := s.Split(ctx, text, ids)
	if err != nil {
		return nil, err
	}
	out := make([]int32, len(pieces))
	for i, p := range pieces {
		out[i] = int32(len(p))
	}
	return out, nil
}

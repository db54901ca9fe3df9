package llm_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/llm"
)

func bytesOf(pieces ...string) [][]byte {
	out := make([][]byte, len(pieces))
	for i, p := range pieces {
		out[i] = []byte(p)
	}
	return out
}

func TestLengths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		pieces     [][]byte
		want       []int32
	}{
		{"words and an end token", "go to desk 1", bytesOf("go", " to", " desk", " 1", ""), []int32{2, 3, 5, 2, 0}},
		{"no tokens", "", nil, []int32{}},
		{"cut at a stop string inside a token", "look", bytesOf("lo", "ok</a", "ction>"), []int32{2, 2, 0}},
		{"a character over two tokens", "aéb", bytesOf("a\xc3", "\xa9b"), []int32{2, 2}},
		{"a character that never ends", "a\uFFFD", bytesOf("a", "\xe2", "\x82"), []int32{1, 1, 2}},
		{"one lost byte", "a\uFFFDb", bytesOf("a", "\xff", "b"), []int32{1, 3, 1}},
		{"a long run of lost bytes", "\uFFFD", bytesOf("\xff", "\xff", "\xff", "\xff"), []int32{1, 1, 0, 1}},
	} {
		got, err := llm.Lengths(c.text, c.pieces)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	for _, text := range []string{"go west", "go", "gone far"} {
		if got, err := llm.Lengths(text, bytesOf("gone")); text != "go" && (err == nil || !strings.Contains(err.Error(), "align tokens: 1 of them spell")) {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

// However random bytes are cut into tokens, the lengths add up to the text, and tokens that hold whole
// characters print their own bytes.
func TestLengthsAddUp(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	alphabet := []string{"a", "é", "漢", "🙂", "\xff", "\xe2", "\x82", " "}
	for range 2000 {
		var raw strings.Builder
		for range r.IntN(12) {
			raw.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		var pieces [][]byte
		for rest := raw.String(); rest != ""; {
			n := r.IntN(len(rest) + 1)
			pieces, rest = append(pieces, []byte(rest[:n])), rest[n:]
		}
		text := strings.ToValidUTF8(raw.String(), "\uFFFD")
		got, err := llm.Lengths(text, pieces)
		if err != nil {
			t.Fatalf("seed %d: %q: %v", seed, pieces, err)
		}
		sum := 0
		for i, n := range got {
			sum += int(n)
			if text == raw.String() && int(n) != len(pieces[i]) {
				t.Fatalf("seed %d: %q: token %d printed %d bytes", seed, pieces, i, n)
			}
		}
		if sum != len(text) || len(got) != len(pieces) {
			t.Fatalf("seed %d: %q: %d tokens, %d bytes of %d", seed, pieces, len(got), sum, len(text))
		}
	}
}

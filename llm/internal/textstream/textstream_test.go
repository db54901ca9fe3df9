package textstream

import (
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStopStringsAcrossTokens(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		stops  []string
		keep   bool
		pieces []string
		want   string
		stop   string
	}{
		{"no stops", nil, false, []string{"ab", "cd"}, "abcd", ""},
		{"inside a token", []string{"c"}, false, []string{"ab", "cd"}, "ab", "c"},
		{"across tokens", []string{"bc"}, false, []string{"ab", "cd"}, "a", "bc"},
		{"kept", []string{"bc"}, true, []string{"ab", "cd"}, "abc", "bc"},
		{"the first in the text wins", []string{"d", "bc"}, false, []string{"abcd"}, "a", "bc"},
		{"a beginning that does not complete", []string{"bcx"}, false, []string{"ab", "c", "d"}, "abcd", ""},
		{"empty stops are ignored", []string{""}, false, []string{"ab"}, "ab", ""},
		{"after the stop nothing counts", []string{"b"}, false, []string{"ab", "zz"}, "a", "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			x := New(tc.stops, tc.keep)
			var shown strings.Builder
			for _, p := range tc.pieces {
				x.Write([]byte(p))
				shown.WriteString(x.Next())
			}
			shown.WriteString(x.Rest())
			if shown.String() != tc.want || x.All() != tc.want || x.Stop() != tc.stop {
				t.Errorf("shown %q, all %q, stop %q; want %q, %q", shown.String(), x.All(), x.Stop(), tc.want, tc.stop)
			}
		})
	}
}

func TestHalfCharactersAreHeldBack(t *testing.T) {
	t.Parallel()
	x := New(nil, false)
	for i, c := range []byte("é€😀") {
		x.Write([]byte{c})
		s := x.Next()
		if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
			t.Fatalf("byte %d released %q", i, s)
		}
	}
	if x.All() != "é€😀" {
		t.Errorf("all = %q", x.All())
	}
	x.Write([]byte{0xE2, 0x82})
	if got := x.Next(); got != "" {
		t.Errorf("half a character released %q", got)
	}
	if got := x.Rest(); got != "\uFFFD" {
		t.Errorf("rest = %q, want one replacement character", got)
	}
	x = New(nil, false)
	x.Write([]byte{0xFF, 'a'})
	if got := x.Next(); got != "\uFFFDa" {
		t.Errorf("a byte that begins no character: %q", got)
	}
}

// Whatever the split into tokens and the stop strings, what Next released never has to be taken back.
func TestReleasedTextIsAPrefixOfTheWhole(t *testing.T) {
	t.Parallel()
	const seed = 20260101
	r := rand.New(rand.NewSource(seed))
	for range 2000 {
		alphabet := []rune("aabé€")
		pick := func(n int) string {
			var b strings.Builder
			for range n {
				b.WriteRune(alphabet[r.Intn(len(alphabet))])
			}
			return b.String()
		}
		text, stops := []byte(pick(12)), []string{pick(1 + r.Intn(3)), pick(1 + r.Intn(4))}
		x := New(stops, false)
		var shown strings.Builder
		for len(text) > 0 {
			n := 1 + r.Intn(min(3, len(text)))
			done := x.Write(text[:n])
			text = text[n:]
			shown.WriteString(x.Next())
			if done {
				break
			}
		}
		shown.WriteString(x.Rest())
		if shown.String() != x.All() {
			t.Fatalf("seed %d: released %q, whole text %q, stops %q", seed, shown.String(), x.All(), stops)
		}
		for _, s := range stops {
			if strings.Contains(x.All(), s) {
				t.Fatalf("seed %d: text %q holds stop %q", seed, x.All(), s)
			}
		}
	}
}

package agent

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

func tokens(parts ...string) [][]byte {
	out := make([][]byte, len(parts))
	for i, p := range parts {
		out[i] = []byte(p)
	}
	return out
}

func TestMaskFromSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		tokens []string
		spans  []harness.Span
		want   string // 1 per marked token
	}{
		{"whole tokens", []string{"<act", "ion>", "go", " to", "</action>"}, []harness.Span{{Start: 8, End: 13}}, "00110"},
		{"straddling", []string{"<action>g", "o</action>"}, []harness.Span{{Start: 8, End: 10}}, "11"},
		{"touching", []string{"ab", "cd", "ef"}, []harness.Span{{Start: 2, End: 4}}, "010"},
		{"split character", []string{"a", "\xf0\x9f", "\x99", "\x82", "b"}, []harness.Span{{Start: 1, End: 5}}, "01110"},
		{"span in a split character's token", []string{"a\xc3", "\xa9b"}, []harness.Span{{Start: 3, End: 4}}, "01"},
		{"silent tokens", []string{"", "ab", "", ""}, []harness.Span{{Start: 0, End: 2}}, "0100"},
		{"two spans in one token", []string{"abcdef", "g"}, []harness.Span{{Start: 1, End: 2}, {Start: 3, End: 4}}, "10"},
		{"one span over all", []string{"a", "b", "c"}, []harness.Span{{Start: 0, End: 3}}, "111"},
		{"empty span", []string{"ab", "cd"}, []harness.Span{{Start: 1, End: 1}, {Start: 2, End: 3}}, "01"},
		{"no spans", []string{"ab"}, nil, "0"},
		{"no tokens", nil, []harness.Span{{Start: 0, End: 1}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			offsets, err := TokenOffsets(strings.Join(c.tokens, ""), tokens(c.tokens...))
			if err != nil {
				t.Fatal(err)
			}
			if got := digits(MaskFromSpans(offsets, c.spans)); got != c.want {
				t.Errorf("mask %s, want %s", got, c.want)
			}
		})
	}
}

func digits(mask []bool) string {
	var b strings.Builder
	for _, m := range mask {
		b.WriteString(map[bool]string{false: "0", true: "1"}[m])
	}
	return b.String()
}

func TestTokenOffsetsRefuseWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		response string
		tokens   []string
		want     string
	}{
		{"abc", []string{"ab"}, "align tokens: 1 tokens spell 2 bytes, the response has 3"},
		{"abc", []string{"ab", "d"}, `align tokens: token 1 of 2 is "d", which the response does not have at byte 2 of 3`},
		{"abc", []string{"abc", "d"}, `align tokens: token 1 of 2 is "d", which the response does not have at byte 3 of 3`},
	} {
		if _, err := TokenOffsets(c.response, tokens(c.tokens...)); err == nil || err.Error() != c.want {
			t.Errorf("%q of %q: error %v, want %s", c.tokens, c.response, err, c.want)
		}
	}
}

// The mask equals the definition, token by token and byte by byte.
func TestMaskEqualsTheDefinition(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 3))
	for range 3000 {
		var offsets, spans []harness.Span
		end := 0
		for range r.IntN(12) {
			n := r.IntN(4)
			offsets = append(offsets, harness.Span{Start: end, End: end + n})
			end += n
		}
		for at := 0; at < end; {
			a := at + r.IntN(4)
			b := a + r.IntN(4)
			spans = append(spans, harness.Span{Start: a, End: b})
			at = b + 1
		}
		marked := make([]bool, end+10)
		for _, s := range spans {
			for i := s.Start; i < s.End; i++ {
				marked[i] = true
			}
		}
		want := make([]bool, len(offsets))
		for i, o := range offsets {
			for j := o.Start; j < o.End; j++ {
				want[i] = want[i] || marked[j]
			}
		}
		if diff := cmp.Diff(want, MaskFromSpans(offsets, spans)); diff != "" {
			t.Fatalf("seed %d: offsets %v, spans %v:\n%s", seed, offsets, spans, diff)
		}
	}
}

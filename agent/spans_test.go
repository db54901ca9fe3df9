package agent

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hindsightrl/harness"
)

func TestSpansOfTheReference(t *testing.T) {
	t.Parallel()
	var cases []struct {
		Text            string
		SpansCodepoints [][2]int `json:"spans_codepoints"`
	}
	readJSON(t, "vectors/serl/action_spans.json", &cases)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		want := make([]harness.Span, len(c.SpansCodepoints))
		for i, s := range c.SpansCodepoints {
			want[i] = harness.Span{Start: s[0], End: s[1]}
		}
		if diff := cmp.Diff(want, CompatSpans(c.Text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("spans of %q (-reference +ours):\n%s", c.Text, diff)
		}
	}
}

// texts cuts the spans out of s.
func texts(s string, spans []harness.Span) []string {
	var out []string
	for _, sp := range spans {
		out = append(out, s[sp.Start:sp.End])
	}
	return out
}

func TestExactSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"<think>a</think><action>go</action>", []string{"go"}},
		{"<think>é🙂</think><ACTION>\u00a0 GO to é \n</Action>", []string{"GO to é"}},
		{"<action>a</action><action>b</action>", []string{"a"}},
		{"<think><action>no</action></think><action>yes</action>", []string{"no"}},
		{"<action>a<action>b</action></action>", []string{"a<action>b"}},
		{"</action><action>a</action>", nil},
		{"<action>a", nil},
		{"<action> \n</action>", nil},
		{"click[buy now]", nil},
		{"", nil},
	} {
		if diff := cmp.Diff(c.want, texts(c.in, ExactSpans(c.in))); diff != "" {
			t.Errorf("exact spans of %q:\n%s", c.in, diff)
		}
	}
}

func TestGenericSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"</action><action> Ls </action>", []string{"Ls"}},
		{"<ACTION>ls</ACTION>", nil},
		{"<action>ls", nil},
		{"<action></action>", nil},
	} {
		if diff := cmp.Diff(c.want, texts(c.in, GenericSpans(c.in))); diff != "" {
			t.Errorf("generic spans of %q:\n%s", c.in, diff)
		}
	}
}

func TestCompatSpansBeyondASCII(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"<actıon>a</actİon>", []string{"a"}},       // dotless and dotted i match i ignoring case
		{"<actioné>a</action>", nil},                // a letter: no word ends before it
		{"<action\u0301>a</action>", []string{"a"}}, // a combining mark is no word character
		{"<action_x>a</action> c", nil},
		{"<action-x>a</action>", []string{"a"}},
		{"ſearch[a] clic\u212a[b]", []string{"ſearch[a]", "clic\u212a[b]"}},
		{"search[a\nsearch[b]", []string{"search[b]"}},
		{"search[search[a]]", []string{"search[search[a]"}},
		{"<action>a\n", []string{"a\n"}},
	} {
		if diff := cmp.Diff(c.want, texts(c.in, CompatByteSpans(c.in))); diff != "" {
			t.Errorf("spans of %q:\n%s", c.in, diff)
		}
	}
	if got := CompatSpans("é\xff<action>🙂</action>"); len(got) != 1 || got[0] != (harness.Span{Start: 10, End: 11}) {
		t.Errorf("code points: %v", got)
	}
}

// The reference's patterns, as Go can run them on text in ASCII.
var (
	blockPatterns = []*regexp.Regexp{
		regexp.MustCompile(`(?is)<action\b[^>]*>(.*?)</action>`),
		regexp.MustCompile(`(?is)\[action>(.*?)</action>\]?`),
		regexp.MustCompile(`(?is)action>(.*?)</action>`),
	}
	unclosedPattern = regexp.MustCompile(`(?is)<action\b[^>]*>(.*)$`)
	callPattern     = regexp.MustCompile(`(?i)(?:search|click)\[[^\]\n]*\]`)
)

func naiveSpans(s string) []harness.Span {
	var spans []harness.Span
	for _, p := range blockPatterns {
		for _, m := range p.FindAllStringSubmatchIndex(s, -1) {
			if m[3] > m[2] {
				spans = append(spans, harness.Span{Start: m[2], End: m[3]})
			}
		}
	}
	if len(spans) == 0 {
		if m := unclosedPattern.FindStringSubmatchIndex(s); m != nil && m[3] > m[2] {
			spans = append(spans, harness.Span{Start: m[2], End: m[3]})
		}
	}
	if len(spans) == 0 {
		for _, m := range callPattern.FindAllStringIndex(s, -1) {
			spans = append(spans, harness.Span{Start: m[0], End: m[1]})
		}
	}
	return merge(spans)
}

// FindAll in Go and finditer in Python skip alike: none of the patterns matches the empty string.
func TestCompatSpansEqualThePatterns(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	pieces := []string{"<action>", "</action>", "<ACTION x='1'>", "</Action>]", "[action>", "action>", "<action", ">", "search[", "CLICK[", "]", "\n", "a", " ", "_", "<", "[", "</action"}
	for range 5000 {
		var b strings.Builder
		for range r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		s := b.String()
		if diff := cmp.Diff(naiveSpans(s), CompatByteSpans(s), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: %q (-patterns +ours):\n%s", seed, s, diff)
		}
	}
}

func FuzzSpans(f *testing.F) {
	for _, s := range []string{"", "<action>a</action>", "<actıon é>x", "search[a\n]click[b]", "\xff[action>\xe2</action>]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		bytes, points := CompatByteSpans(s), CompatSpans(s)
		if len(bytes) != len(points) {
			t.Fatalf("%d spans in bytes, %d in code points", len(bytes), len(points))
		}
		end := -1
		for i, sp := range bytes {
			if sp.Start <= end || sp.End <= sp.Start || sp.End > len(s) {
				t.Fatalf("span %v of %d bytes after %d", sp, len(s), end)
			}
			end = sp.End
			if n := utf8.RuneCountInString(s[sp.Start:sp.End]); utf8.ValidString(s) && n != points[i].End-points[i].Start {
				t.Fatalf("span %v holds %d code points, not %v", sp, n, points[i])
			}
		}
		for _, sp := range append(ExactSpans(s), GenericSpans(s)...) {
			if sp.Start >= sp.End || sp.End > len(s) {
				t.Fatalf("span %v of %d bytes", sp, len(s))
			}
		}
	})
}

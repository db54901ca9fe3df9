package testlog

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Expected values are what Python's bytes.decode("utf-8", "replace") and text mode give.
func TestDecode(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", "a\nb", "a\nb"},
		{"line ends", "a\r\nb\rc\r\r\nd", "a\nb\nc\n\nd"},
		{"stray byte", "a\xffb", "a\uFFFDb"},
		{"cut sequence is one", "a\xe2\x82b", "a\uFFFDb"},
		{"cut at the end", "\xf0\x9f\x98", "\uFFFD"},
		{"overlong is byte by byte", "\xc0\xaf", "\uFFFD\uFFFD"},
		{"surrogate is byte by byte", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"beyond the last code point", "\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"short three-byte form", "\xe0\x80\x80", "\uFFFD\uFFFD\uFFFD"},
		{"short four-byte form", "\xf0\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"continuation bytes", "\x80\xbf", "\uFFFD\uFFFD"},
		{"real replacement character", "\uFFFD\xc3\xa9", "\uFFFDé"},
	}
	for _, tt := range tests {
		if got := Decode([]byte(tt.in)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\r\n\xe2\x82b\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := Decode(b)
		if !utf8.ValidString(s) || strings.Contains(s, "\r") {
			t.Errorf("%q", s)
		}
		if again := Decode([]byte(s)); again != s {
			t.Errorf("decoding again changes %q to %q", s, again)
		}
	})
}

// pythonSpace holds every character that Python takes for white space.
const pythonSpace = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func TestFieldsAndStripSeePythonsSpace(t *testing.T) {
	t.Parallel()
	for _, r := range pythonSpace {
		s := string(r)
		if f, rest := field(s + "a" + s + "b"); f != "a" || rest != s+"b" {
			t.Errorf("%q: field %q, rest %q", r, f, rest)
		}
		if got := strip(s + "a b" + s); got != "a b" {
			t.Errorf("%q: strip %q", r, got)
		}
		if got := indent(s + s + "a" + s); got != 2 {
			t.Errorf("%q: indent %d", r, got)
		}
		if got := joinFields(s + "a" + s + s + "b" + s); got != "a b" {
			t.Errorf("%q: joined %q", r, got)
		}
		if !pattern(`^\s$`).MatchString(s) || pattern(`^\S$`).MatchString(s) || !pattern(`^[\sx]$`).MatchString(s) {
			t.Errorf("%q: pattern does not take it for space", r)
		}
		if want := r != '\n' && r != '\r'; regexp.MustCompile(`^`+blank+`$`).MatchString(s) != want {
			t.Errorf("%q: blank is %v", r, !want)
		}
	}
	for _, s := range []string{"a", "\u200b", "\ufeff", "\x00", "\x1b"} {
		if pattern(`^\s$`).MatchString(s) || strip(s) != s {
			t.Errorf("%q is taken for space", s)
		}
	}
}

func TestPatternClasses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		py, text string
		want     bool
	}{
		{`^\d+$`, "12٣", true},
		{`^\d+$`, "²", false},
		{`^\w+$`, "aé_²9", true},
		{`^\w$`, "-", false},
		{`^[\d\.]+$`, "1.2", true},
		{`^\.$`, ".", true},
		{`^\.$`, "a", false},
		{`^\[\w\]$`, "[a]", true},
	} {
		if got := pattern(tt.py).MatchString(tt.text); got != tt.want {
			t.Errorf("%s on %q: %v", tt.py, tt.text, got)
		}
	}
	for _, py := range []string{`a\b`, `[^\S]`} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: compiled", py)
				}
			}()
			pattern(py)
		}()
	}
}

// Quick forms of Python expressions are held to the plain ones.
func TestQuickFormsAgreeWithPlainOnes(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	parts := []string{
		"PASSED", "FAILED", " ", "[", "31", "m", "\x1b", "\t", "a", "é", ".py:", "_", "ok", "test_", "\u00a0", "٣", "(", ")", " (", "(0.1s)",
		"<a>", "</a>", "<b>", "</b>", "<", ">", "/", "x", "\n", "]", "x/y", "/*",
	}
	colour, sympy := pattern(`\[(\d+)m`), pattern(`(_*) (.*)\.py:(.*) (_*)`)
	duration, option := pattern(`^(.+) \((.+)\)$`), pattern(`(.*?)\[(.*)\]`)
	for range 20000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		text := b.String()
		line := strings.ReplaceAll(text, "\n", "")
		if got, want := dropColours(line), colour.ReplaceAllString(line, ""); got != want {
			t.Fatalf("seed %d: dropColours(%q) = %q, want %q", seed, line, got, want)
		}
		want := ""
		if m := sympy.FindStringSubmatch(line); m != nil {
			want = m[2] + ".py:" + m[3]
		}
		if got, ok := sympyTitle(line); ok != (want != "") || ok && got != want {
			t.Fatalf("seed %d: sympyTitle(%q) = %q, want %q", seed, line, got, want)
		}
		if strings.HasSuffix(line, ")") {
			want := ""
			if m := duration.FindStringSubmatch(line); m != nil {
				want = m[1]
			}
			if got, _ := beforeDuration(line); got != want {
				t.Fatalf("seed %d: beforeDuration(%q) = %q, want %q", seed, line, got, want)
			}
		}
		if m := option.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[2], "/") {
			if got, want := shortOption(line), m[1]+"["+m[2]+"]"; got != want {
				t.Fatalf("seed %d: shortOption(%q) = %q, want %q", seed, line, got, want)
			}
		}
		if got, err := dropXML(text); err != nil || got != plainDropXML(text) {
			t.Fatalf("seed %d: dropXML(%q) = %q, %v, want %q", seed, text, got, err, plainDropXML(text))
		}
	}
}

// plainDropXML is the official loop: find the leftmost element, cut it out, start over.
func plainDropXML(log string) string {
	for {
		start, end, tag := -1, 0, ""
		for i := range log {
			if name, ok := openingTagAt(log, i); ok {
				if j := strings.Index(log[i:], "</"+name+">"); j >= 0 {
					start, end, tag = i, i+j+len("</"+name+">"), name
					break
				}
			}
		}
		if start < 0 {
			return log
		}
		opening := "<" + tag + ">"
		n := max(strings.Count(log[start:end], opening)-1, 0)
		log = log[:start] + strings.Repeat(opening, n) + log[end:]
	}
}

func openingTagAt(s string, i int) (string, bool) {
	if s[i] != '<' {
		return "", false
	}
	return openingTag(s[i:])
}

func TestDropXMLIsBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unclosed": strings.Repeat("<anonymous>\n", 100_000),
		"distinct": func() string {
			var b strings.Builder
			for i := range 20_000 {
				fmt.Fprintf(&b, "<t%d>", i)
			}
			return b.String()
		}(),
		"nested": strings.Repeat("<a>", 2000) + strings.Repeat("</a>", 2000),
	} {
		got, err := dropXML(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "nested" && got != "" || name == "unclosed" && got != text {
			t.Errorf("%s: %d bytes left", name, len(got))
		}
	}
	// Each removal joins the halves of the next tag.
	text := strings.Repeat("<", maxXMLRestarts+10) + strings.Repeat("<b></b>a></a>", 1) + strings.Repeat("a></a>", maxXMLRestarts+10)
	if got, err := dropXML(text); err == nil && strings.Contains(got, "<a></a>") {
		t.Errorf("an element is left in %d bytes", len(got))
	}
}

func TestStatusesKeepTheOrderOfFirstAppearance(t *testing.T) {
	t.Parallel()
	var s Statuses
	for _, e := range [][2]string{{"b", Failed}, {"a", Passed}, {"b", Passed}} {
		s.Set(e[0], e[1])
	}
	var got [][2]string
	for name, status := range s.All() {
		got = append(got, [2]string{name, status})
	}
	if diff := cmp.Diff([][2]string{{"b", Passed}, {"a", Passed}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range s.All() {
		break
	}
	var none *Statuses
	if _, ok := none.Get("a"); ok || none.Len() != 0 || len(none.Map()) != 0 {
		t.Error("a nil map is not empty")
	}
}

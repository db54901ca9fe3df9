package pyformat

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func values(name string) any {
	return map[string]any{"a": "x{b}", "b": 7, "f": 0.5, "inf": math.Inf(1), "ninf": math.Inf(-1), "nan": math.NaN(), "bad": []int{1}}[name]
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain", "plain"},
		{"{a}", "x{b}"}, // what is filled in is not read again
		{"{{{b}}}", "{7}"},
		{"{{a}} {{}} }}{{", "{a} {} }{"},
		{"{b}{b:.2f}", "77.00"},
		{"{f:.4f} {f:.0f} {a:}", "0.5000 0 x{b}"},
		{"{inf:.1f} {ninf:.1f} {nan:.1f}", "inf -inf nan"},
	} {
		p, err := Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if got, err := p.Format(values); err != nil || got != c.want {
			t.Errorf("%q = %q, %v, want %q", c.in, got, err, c.want)
		}
		if p.Source() != c.in {
			t.Errorf("Source() = %q, want %q", p.Source(), c.in)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in     string
		offset int
		want   string
	}{
		{"a}", 1, "line 1: a single '}' (write '}}' for a brace)"},
		{"a\n{", 2, "line 2: a '{' that is never closed (write '{{' for a brace)"},
		{"{a{b}}", 0, "line 1: a '{' that is never closed (write '{{' for a brace)"},
		{"{}", 0, "line 1: a placeholder without a name"},
		{"{0}", 0, `line 1: placeholder "0" is not a plain name`},
		{"{a.b}", 0, `line 1: placeholder "a.b" is not a plain name`},
		{"{a[0]}", 0, `line 1: placeholder "a[0]" is not a plain name`},
		{"{ a }", 0, `line 1: placeholder " a " is not a plain name`},
		{"{a!r}", 0, `line 1: placeholder "a!r" is not a plain name`},
		{"{a:>10}", 0, `line 1: format ">10" of placeholder "a" is not supported (only .Nf is)`},
		{"{a:.f}", 0, `line 1: format ".f" of placeholder "a" is not supported (only .Nf is)`},
		{"{a:4f}", 0, `line 1: format "4f" of placeholder "a" is not supported (only .Nf is)`},
		{"{a:.999f}", 0, `line 1: format ".999f" of placeholder "a" is not supported (only .Nf is)`},
	} {
		_, err := Parse(c.in)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != c.want || syntax.Offset != c.offset {
			t.Errorf("Parse(%q) = %v, want %s at %d", c.in, err, c.want, c.offset)
		}
	}
}

func TestFormatErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"{nobody}", `nothing to fill placeholder "nobody" with`},
		{"{a:.2f}", `placeholder "a" prints decimals of a text`},
		{"{f}", `placeholder "f" needs a number of decimals (f:.4f)`},
		{"{bad}", `placeholder "bad": cannot print a []int`},
	} {
		p, err := Parse(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Format(values); err == nil || err.Error() != c.want {
			t.Errorf("%q: error %v, want %s", c.in, err, c.want)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	p, err := Parse("{{{one}\n{two:.3f}{one}")
	if err != nil {
		t.Fatal(err)
	}
	want := []Field{{"one", -1, 2}, {"two", 3, 8}, {"one", -1, 17}}
	if diff := cmp.Diff(want, p.Fields()); diff != "" {
		t.Error(diff)
	}
	if !p.Has("two") || p.Has("three") {
		t.Error("Has: two is there, three is not")
	}
}

// Whatever parses, prints without error, and doubling the braces of any text gives a template of it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "{a}", "{{}}", "}", "{a:.4f}", "x{a!r}", "{a\x00}", "é{ü}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := Parse(s); err == nil {
			if _, err := p.Format(func(string) any { return 1 }); err != nil {
				t.Fatalf("%q parses and does not print: %v", s, err)
			}
		}
		p, err := Parse(strings.NewReplacer("{", "{{", "}", "}}").Replace(s))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Format(values); err != nil || got != s {
			t.Fatalf("escaped %q prints %q, %v", s, got, err)
		}
	})
}

func TestLiteralsStandAroundTheFields(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		"": {""}, "a": {"a"}, "{x}": {"", ""}, "a{{{x}}}b{y}c": {"a{", "}b", "c"}, "{x}{y:.2f}": {"", "", ""},
	} {
		p, err := Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Literals(); !slices.Equal(got, want) || len(got) != len(p.Fields())+1 {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}

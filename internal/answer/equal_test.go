package answer

import (
	"slices"
	"strings"
	"testing"
)

var equalPairs = [][2]string{
	{"42", "42.0"},
	{"42", " 42. "},
	{"42", "$42$"},
	{"42", "+42"},
	{"1,234", "1234"},
	{"1{,}234", "1234"},
	{`12\,345`, "12345"},
	{"12 345", "12345"},
	{"1,234,567.5", "1234567.5"},
	{"1/2", "0.5"},
	{`\frac{1}{2}`, "0.5"},
	{`\dfrac12`, ".5"},
	{`\tfrac{1}2`, "1/2"},
	{"2/4", "1/2"},
	{`-\frac{3}{4}`, "-0.75"},
	{`\frac{-3}{4}`, "-3/4"},
	{"1 1/2", "1.5"},
	{`1\frac{1}{2}`, "3/2"},
	{"½", "0.5"},
	{"2½", "2.5"},
	{"50%", "0.5"},
	{`50\%`, "50 percent"},
	{"50%", "50"},
	{"12.5%", "1/8"},
	{"5 cm", "5"},
	{`5\text{ cm}`, "5"},
	{`5\,\mathrm{cm}^2`, "5"},
	{"5 cm^2", "5"},
	{"5cm", "5 cm"},
	{"60 km/h", "60"},
	{"12 apples", "12"},
	{"12 green apples", "12"},
	{"$5.00", "5"},
	{`\$5`, "5 dollars"},
	{"€7", "7"},
	{`90^\circ`, "90"},
	{`90^{\circ}`, "90 degrees"},
	{"90°", "90"},
	{"3 million", "3000000"},
	{"x = 5", "5"},
	{"x=5", "x = 5.0"},
	{`x \in [0,1]`, "[0, 1]"},
	{"f(x)=3", "3"},
	{`2\sqrt{3}`, "2*sqrt(3)"},
	{`\sqrt{12}`, `2\sqrt{3}`},
	{`\sqrt{16}`, "4"},
	{`\sqrt[3]{27}`, "3"},
	{`\sqrt2`, "1.41421"},
	{"2^10", "1024"},
	{"2^{-1}", "0.5"},
	{`\pi`, "3.14159"},
	{`2\pi`, "6.2832"},
	{`\frac{\pi}{4}`, "π/4"},
	{"1/3", "0.33333"},
	{"10^6", "1,000,000"},
	{"3(4)", "12"},
	{"3 \\cdot 4", "12"},
	{"3×4", "12"},
	{"(1,2)", "( 1, 2 )"},
	{`\left(1, 2\right)`, "(1,2)"},
	{"(1/2, 0.5)", "(0.5, 1/2)"},
	{`\{1,2,3\}`, `\{3, 2, 1\}`},
	{"1, 2, 3", "3, 2 and 1"},
	{"1 and 2", "(1, 2)"},
	{`\{5\}`, "5"},
	{`\pm 3`, "3, -3"},
	{"±3", "-3 and 3"},
	{"x=3 or x=5", "5, 3"},
	{"[0,1)", "[0, 1)"},
	{`(-\infty, 0)`, `(-∞,0)`},
	{`[0,1] \cup [2,3]`, "[2,3] ∪ [0,1]"},
	{"(A)", "A"},
	{"A.", "(A)"},
	{`\textbf{(B)}`, "b"},
	{"(C) 42 apples", "C"},
	{`\text{Monday}`, "monday"},
	{"the circle", "circle"},
	{"3x + 2", "3x+2"},
	{`\boxed{7}`, "7"},
	{"{7}", "7"},
	{"−7", "-7"},
	{"1e", "1E"},
	{"", ""},
	{"Yes", "yes"},
	{`\frac{x}{2}`, `\dfrac{x}2`},
	{"about 5", "5"},
}

var differentPairs = [][2]string{
	{"42", "43"},
	{"10000", "10001"},
	{"100000000", "100000001"},
	{"1/3", "0.33"},
	{"1/3", "1/4"},
	{"0.5", "0.6"},
	{"50%", "5"},
	{"50%", "0.05"},
	{"2x", "2"},
	{"3", "-3"},
	{`\pi`, "3"},
	{"(1,2)", "(2,1)"},
	{"(1,2)", "[1,2]"},
	{"[0,1)", "[0,1]"},
	{"(1,2)", "(1,2,3)"},
	{`\{1,2\}`, `\{1,3\}`},
	{`\{1,2\}`, "(1,2)"},
	{"A", "B"},
	{"A", "1"},
	{"", "0"},
	{"", "no"},
	{"cat", "dog"},
	{"x", "y"},
	{"1,2,3", "123"},
	{"1234567890123456789", "1234567890123456788"},
	{`\frac{1}{0}`, "0"},
	{"1/3000", "1/3001"},
	{"2/3", "0.6"},
	{"1, 1, 2", "1, 2, 2"},
	{"1 1/2", "11/2"},
}

func TestEqual(t *testing.T) {
	t.Parallel()
	r := DefaultRules()
	for _, p := range equalPairs {
		if !Equal(p[0], p[1], r) || !Equal(p[1], p[0], r) {
			t.Errorf("%q and %q are the same answer: %+v, %+v", p[0], p[1], read(p[0]), read(p[1]))
		}
	}
	for _, p := range differentPairs {
		if Equal(p[0], p[1], r) || Equal(p[1], p[0], r) {
			t.Errorf("%q and %q are different answers: %+v, %+v", p[0], p[1], read(p[0]), read(p[1]))
		}
	}
}

func TestEqualExactly(t *testing.T) {
	t.Parallel()
	r := Rules{Exact: true}
	if !Equal(" 42", "42 ", r) || Equal("42", "42.0", r) || Equal("A", "a", r) {
		t.Error("the exact rules compare texts and nothing else")
	}
}

func TestTolerance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b      string
		tolerance float64
		want      bool
	}{
		{"3.14", `\pi`, 1e-4, false},
		{"3.14", `\pi`, 1e-3, true},
		{"0.333", "1/3", 1e-2, true},
		{"0.333", "1/3", 0, false},
		{"100", "101", 0.5, false},
		{"1/3", "1/4", 0.9, false},
		{"2.9999", "3", 1e-4, true},
		{"3.0", "3.001", 1e-4, false},
		{"0", "0.00001", 1e-4, false},
	} {
		if got := Equal(c.a, c.b, Rules{Tolerance: c.tolerance}); got != c.want {
			t.Errorf("%q and %q within %g: %v, want %v", c.a, c.b, c.tolerance, got, c.want)
		}
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answers []string
		want    []int
		exact   bool
	}{
		{[]string{"1/2", "0.5", "2", " ", "50%", "2.0", "x"}, []int{0, 0, 1, -1, 0, 1, 2}, false},
		{[]string{"1/2", "0.5", "1/2"}, []int{0, 1, 0}, true},
		{[]string{"", "", ""}, []int{-1, -1, -1}, false},
		{[]string{"a", "b", "c"}, []int{0, 1, 2}, false},
		{nil, []int{}, false},
	} {
		r := DefaultRules()
		r.Exact = c.exact
		if got := Classes(c.answers, r); !slices.Equal(got, c.want) {
			t.Errorf("Classes(%q) = %v, want %v", c.answers, got, c.want)
		}
	}
}

// TestHugeNumbers: what an answer costs does not grow with the number that it names.
func TestHugeNumbers(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000)
	for _, s := range []string{"9^9^9^9", "2^99999999", strings.Repeat("9", 1999), `\frac{1}{10^400}`, deep, strings.Repeat("-", 1500) + "1", "(10^500)^500", "0^-1", "0^0"} {
		if !Equal(s, s, DefaultRules()) {
			t.Errorf("%.20q does not equal itself", s)
		}
		if Equal(s, "1", DefaultRules()) && s != deep {
			t.Errorf("%.20q equals 1", s)
		}
	}
}

// TestPairing: a set pairs with another whichever way round its items must be moved, and large nested sets
// cost no more than comparing each two items once.
func TestPairing(t *testing.T) {
	t.Parallel()
	r := DefaultRules()
	for _, p := range [][2]string{{"50%, 0.5", "50, 50%"}, {"0.5, 50%", "50%, 50"}} {
		if !Equal(p[0], p[1], r) || !Equal(p[1], p[0], r) {
			t.Errorf("%q and %q pair up", p[0], p[1])
		}
	}
	inner := `\{` + strings.Repeat("1.5,", 13) + `2.5\},`
	outer := `\{` + strings.Repeat(inner, 30)
	if Equal(outer+`3\}`, outer+`4\}`, r) || !Equal(outer+`3\}`, outer+`3.0\}`, r) {
		t.Error("nested sets")
	}
}

func FuzzEqual(f *testing.F) {
	for _, p := range append(slices.Clone(equalPairs), differentPairs...) {
		f.Add(p[0], p[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		r := DefaultRules()
		if !Equal(a, a, r) || !Equal(b, b, r) {
			t.Fatalf("%q or %q does not equal itself", a, b)
		}
		if Equal(a, b, r) != Equal(b, a, r) {
			t.Fatalf("%q and %q: it matters which is asked first", a, b)
		}
		if c := Classes([]string{a, b, a}, r); c[0] != c[2] {
			t.Fatalf("%q is in two classes: %v", a, c)
		}
	})
}

func BenchmarkClasses(b *testing.B) {
	answers := make([]string, 60)
	for i := range answers {
		answers[i] = equalPairs[i%len(equalPairs)][i/40%2]
	}
	b.ReportAllocs()
	for b.Loop() {
		Classes(answers, DefaultRules())
	}
}

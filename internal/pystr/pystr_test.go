package pystr

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// python is testdata/python.json, made by testdata/gen.py beside it.
type python struct {
	Unicode        string            `json:"unicode"`
	Lower          map[string][]rune `json:"lower"`
	FinalAfter     [][2]rune         `json:"final_after"`
	Ignorable      [][2]rune         `json:"ignorable"`
	NotFinalBefore [][2]rune         `json:"not_final_before"`
	Space          [][2]rune         `json:"space"`
	Word           [][2]rune         `json:"word"`
	Fold           map[string][]rune `json:"fold"`
}

func load(t *testing.T) python {
	t.Helper()
	b, err := os.ReadFile("testdata/python.json")
	if err != nil {
		t.Fatal(err)
	}
	var p python
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	if p.Unicode != unicode.Version {
		t.Skipf("testdata/python.json is of Unicode %s, this Go of %s: make it again with testdata/gen.py", p.Unicode, unicode.Version)
	}
	return p
}

// every calls f with each code point that a string can hold and whether it is in the ranges. Of the
// planes without characters, 4 to 13 and the private 15 and 16, it takes the first 256.
func every(ranges [][2]rune, f func(r rune, in bool)) {
	i := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		plane, offset := r>>16, r&0xffff
		if !utf8.ValidRune(r) || plane > 3 && plane != 14 && offset > 0xff {
			continue
		}
		for i < len(ranges) && ranges[i][1] < r {
			i++
		}
		f(r, i < len(ranges) && ranges[i][0] <= r)
	}
}

func TestEveryCodePointAgreesWithPython(t *testing.T) {
	t.Parallel()
	p := load(t)
	every(nil, func(r rune, _ bool) {
		want := string(r)
		if w, ok := p.Lower[strconv.Itoa(int(r))]; ok {
			want = string(w)
		}
		if r == 'Σ' {
			want = "σ"
		}
		if got := Lower(string(r)); got != want {
			t.Errorf("Lower(%U) = %+q, Python %+q", r, got, want)
		}
	})
	every(p.FinalAfter, func(r rune, in bool) {
		if got := strings.HasSuffix(Lower(string(r)+"Σ"), "ς"); got != in {
			t.Errorf("final sigma after %U: %v, Python %v", r, got, in)
		}
	})
	every(p.NotFinalBefore, func(r rune, in bool) {
		if got := strings.HasPrefix(Lower("aΣ"+string(r)), "aσ"); got != in {
			t.Errorf("sigma before %U stays in the word: %v, Python %v", r, got, in)
		}
	})
	every(p.Ignorable, func(r rune, in bool) {
		if got := caseIgnorable(r); got != in {
			t.Errorf("caseIgnorable(%U) = %v, Python %v", r, got, in)
		}
	})
	every(p.Space, func(r rune, in bool) {
		if got := IsSpace(r); got != in {
			t.Errorf("IsSpace(%U) = %v, Python %v", r, got, in)
		}
	})
	every(p.Word, func(r rune, in bool) {
		if got := IsWord(r); got != in {
			t.Errorf("IsWord(%U) = %v, Python %v", r, got, in)
		}
	})
}

func TestFoldAgreesWithPython(t *testing.T) {
	t.Parallel()
	p := load(t)
	matches := make(map[rune]string) // the pattern characters that each character matches
	for word, chars := range p.Fold {
		for _, r := range chars {
			if matches[r] != "" {
				t.Fatalf("%U matches %s and %s", r, matches[r], word)
			}
			matches[r] = word
		}
	}
	every(nil, func(r rune, _ bool) {
		want := matches[r]
		if r >= utf8.RuneSelf && want == "" {
			if got := foldASCII(r); got != 0 {
				t.Errorf("%U matches %q, in Python nothing", r, got)
			}
			return
		}
		for word := range p.Fold {
			n, ok := FoldPrefix(string(r)+"x", word)
			if ok != (word == want) || ok && n != utf8.RuneLen(r) {
				t.Errorf("FoldPrefix(%U, %q) = %d, %v; Python matches %q", r, word, n, ok, want)
			}
		}
	})
}

func TestLowerWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"GO TO Shelf 1", "go to shelf 1"},
		{"İstanbul", "i\u0307stanbul"},
		{"ΟΔΟΣ", "οδος"},
		{"ΟΔΟΣ ΟΔΟΣ.", "οδος οδος."},
		{"Σ", "σ"},
		{"ΑΣ'", "ας'"},
		{"ΑΣ'Α", "ασ'α"},
		{"Α.Σ", "α.ς"},
		{"ΣΣ", "σς"},
		{"É\xffÀ", "é\uFFFDà"},
		{"\xe2\x82", "\uFFFD\uFFFD"},
	} {
		if got := Lower(c.in); got != c.want {
			t.Errorf("Lower(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{" \t\r\n\v\f\x1c\x1d\x1e\x1f\u0085\u00a0\u2003\u3000", ""},
		{"\x1f a b\u2028", "a b"},
		{"\u200ba\u200b", "\u200ba\u200b"},
		{" \xff ", "\xff"},
	} {
		if got := Strip(c.in); got != c.want {
			t.Errorf("Strip(%q) = %q, want %q", c.in, got, c.want)
		}
		if start, end := StripRange(c.in); c.in[start:end] != c.want {
			t.Errorf("StripRange(%q) = %d, %d", c.in, start, end)
		}
	}
}

func TestLast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 2, "bc"},
		{"abc", 3, "abc"},
		{"abc", 9, "abc"},
		{"", 3, ""},
		{"aé🙂", 2, "é🙂"},
		{"a\xf0\x9f", 2, "\xf0\x9f"},
	} {
		if got := Last(c.in, c.n); got != c.want {
			t.Errorf("Last(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestFoldPrefixWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, word string
		n        int
		ok       bool
	}{
		{"ACTION>", "action", 6, true},
		{"actıon", "action", 7, true},
		{"actİon", "action", 7, true},
		{"cliC\u212a[", "click[", 8, true},
		{"ſearch", "search", 7, true},
		{"actio", "action", 0, false},
		{"", "action", 0, false},
		{"act\xffon", "action", 0, false},
	} {
		if n, ok := FoldPrefix(c.in, c.word); n != c.n || ok != c.ok {
			t.Errorf("FoldPrefix(%q, %q) = %d, %v, want %d, %v", c.in, c.word, n, ok, c.n, c.ok)
		}
	}
}

// The result is valid UTF-8, lower-casing it again changes nothing, and it equals the ASCII rule
// where that applies.
func TestLowerIsIdempotent(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	alphabet := []string{"A", "b", "Σ", "σ", "İ", "'", ".", "\u0301", " ", "\xff", "É", "ǅ", "🙂"}
	for range 2000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		low := Lower(b.String())
		if !utf8.ValidString(low) || Lower(low) != low {
			t.Fatalf("seed %d: Lower(%q) = %q, again %q", seed, b.String(), low, Lower(low))
		}
	}
}

func BenchmarkLower(b *testing.B) {
	text := strings.Repeat("<think>I look for the Mug.</think><action>Go to shelf 1</action> é ", 16)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Lower(text)
	}
}

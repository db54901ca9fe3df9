package vocab

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testWords = []Word{
	{"go", 0},
	{" go", 0},
	{" to", 0},
	{"tomato", Content},
	{" tomato", Content},
	{"Tomato", Content},
	{"<action>", Open},
	{" '", Open},
	{"\n\n", Close},
	{"success", Good},
	{"failed", Bad},
	{"12", Number},
	{"gone", 0},
}

func build(tb testing.TB, words []Word) *Vocab {
	tb.Helper()
	v, err := New(words)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func texts(v *Vocab, ids []int32) (out []string) {
	for _, id := range ids {
		out = append(out, string(v.Bytes(id)))
	}
	return out
}

func TestLongestMatch(t *testing.T) {
	t.Parallel()
	v := build(t, testWords)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"go to", []string{"go", " to"}},
		{"gone", []string{"gone"}},
		{"goner", []string{"gone", "r"}},
		{"gon", []string{"go", "n"}},
		{" tomatoes", []string{" tomato", "e", "s"}},
		{"\n\n\n", []string{"\n\n", "\n"}},
		{"é", []string{"\xc3", "\xa9"}},
		{"<|user|>", strings.Split("<|user|>", "")},
	} {
		if diff := cmp.Diff(c.want, texts(v, v.Append(nil, c.text, false))); diff != "" {
			t.Errorf("%q:\n%s", c.text, diff)
		}
	}
}

func TestRoleMarkers(t *testing.T) {
	t.Parallel()
	v := build(t, testWords)
	got := v.Append(nil, "<|system|>go<|user|><|assistant|><|end|>", true)
	if got[0] != System || got[2] != User || got[3] != Assistant {
		t.Errorf("ids %v", got)
	}
	if text := strings.Join(texts(v, got), ""); text != "<|system|>go<|user|><|assistant|><|end|>" {
		t.Errorf("the tokens spell %q", text)
	}
	if len(v.Bytes(EOS)) != 0 || v.Bytes(EOS) == nil {
		t.Errorf("the end of a turn spells %q", v.Bytes(EOS))
	}
	for _, id := range []int32{-1, int32(v.Size())} {
		if v.Bytes(id) != nil {
			t.Errorf("token %d has a text", id)
		}
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	v := build(t, testWords)
	same := [][2]string{{"go", " go"}, {"tomato", "Tomato"}, {" tomato", "Tomato"}, {"<action>", " '"}, {"a", "A"}}
	for _, p := range same {
		if a, b := v.Class(v.Lookup(p[0])), v.Class(v.Lookup(p[1])); a != b {
			t.Errorf("%q and %q are of classes %d and %d", p[0], p[1], a, b)
		}
	}
	if v.Class(v.Lookup("go")) == v.Class(v.Lookup("gone")) {
		t.Error("go and gone are one class")
	}
	if got := v.Bare(v.Lookup(" tomato")); got != v.Lookup("tomato") {
		t.Errorf("the bare form of %q is %q", " tomato", v.Bytes(got))
	}
	if got := v.Bare(v.Lookup(" to")); got != v.Lookup(" to") {
		t.Errorf("%q has the bare form %q", " to", v.Bytes(got))
	}
}

func TestFileRoundTrip(t *testing.T) {
	t.Parallel()
	v, err := Parse(Format(testWords))
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range testWords {
		id := FirstWord + int32(i)
		if string(v.Bytes(id)) != w.Text || v.Flags(id) != w.Flags {
			t.Errorf("word %d came back as %q %b, was %q %b", i, v.Bytes(id), v.Flags(id), w.Text, w.Flags)
		}
	}
}

func TestBadVocabularies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, want string }{
		{"go\t\n", "line 1"},
		{"\"go\"\t\n\"to\"\tx\n", "line 2: unknown flag"},
		{"\"go\"\t\n\"go\"\t\n", "word 1 repeats"},
		{"\"g\"\t\n", "shorter than two bytes"},
		{"\"\"\t\n", "shorter than two bytes"},
	} {
		if _, err := Parse([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q gives %v, want %q in it", c.file, err, c.want)
		}
	}
	many := make([]Word, 1<<16)
	if _, err := New(many); err == nil {
		t.Error("65,536 words fit 16 bits beside the bytes")
	}
}

// The trie against a search over all words, on texts made of pieces of words.
func TestTokenizerAgainstPlainSearch(t *testing.T) {
	t.Parallel()
	v := build(t, testWords)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		var b strings.Builder
		for range r.IntN(8) {
			w := testWords[r.IntN(len(testWords))].Text
			b.WriteString(w[:r.IntN(len(w)+1)])
		}
		if diff := cmp.Diff(plain(b.String()), texts(v, v.Append(nil, b.String(), false))); diff != "" {
			t.Fatalf("seed %d, %q:\n%s", seed, b.String(), diff)
		}
	}
}

func plain(text string) (out []string) {
	for len(text) > 0 {
		best := text[:1]
		for _, w := range testWords {
			if strings.HasPrefix(text, w.Text) && len(w.Text) > len(best) {
				best = w.Text
			}
		}
		out = append(out, best)
		text = text[len(best):]
	}
	return out
}

func FuzzRoundTrip(f *testing.F) {
	v := build(f, testWords)
	for _, s := range []string{"", "go to tomato", "<|user|><|use", "\x00\xff\xfe", "e‑commerce 12", "<think></think><action>go</action>"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, special bool) {
		var back bytes.Buffer
		for _, id := range v.Append(nil, text, special) {
			if id == EOS || id < 0 || int(id) >= v.Size() {
				t.Fatalf("%q gives token %d", text, id)
			}
			back.Write(v.Bytes(id))
		}
		if back.String() != text {
			t.Fatalf("%q comes back as %q", text, back.String())
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(Format(testWords))
	f.Add([]byte("\"a\\x00b\"\tcg\n\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if v, err := Parse(file); err == nil && v.Size() < int(FirstWord) {
			t.Fatalf("a vocabulary of %d tokens", v.Size())
		}
	})
}

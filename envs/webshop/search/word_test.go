package search

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// The way for plain words finds the same end as the rules.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "Z", "7", "0", "word", " ", "-", "#", "*", "'", "\"", ".", ",", ":", ";", "_", "é", "\u0301", "\u200d", "\ufe0f\u20e3", "カ", "ー", "א", "漢", "ก", "😀", "\xff", "\n", "²"}
	for range 20_000 {
		text := ""
		for range 1 + r.IntN(8) {
			text += pieces[r.IntN(len(pieces))]
		}
		tok := tokenizer{s: text}
		switch c, _ := tok.look(0); c {
		case letter, numeric, katakana, hebrew, extendNumLet:
			end, ok := tok.word(0)
			if wantEnd, want := tok.anyWord(0); end != wantEnd || ok != want {
				t.Fatalf("%q: %d, %v, want %d, %v", text, end, ok, wantEnd, want)
			}
		}
	}
}

// Words of all lengths, many at a time, keep their numbers.
func TestLexicon(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var l lexicon
	var f frequent
	numbers, words := map[string]uint32{}, []string{}
	for i := range 30_000 {
		b := make([]byte, r.IntN(2*headSize))
		for k := range b {
			b[k] = byte('a' + r.IntN(3))
		}
		w := string(b)
		if i%3 == 0 && len(words) > 0 {
			w = words[r.IntN(len(words))]
		}
		want, known := numbers[w]
		got, ok := l.number(w)
		if ok != known || got != want {
			t.Fatalf("%q: %d, %v, want %d, %v", w, got, ok, want, known)
		}
		if n, ok := f.number(w, hash(w)); ok && (!known || n != want) {
			t.Fatalf("%q is %d among the frequent, want %d, %v", w, n, want, known)
		}
		if !known {
			want = uint32(r.IntN(1 << 31))
			numbers[w], words = want, append(words, w)
			l.add(w, want)
		}
		f.put(w, hash(w), want)
	}
	if l.words != len(words) {
		t.Errorf("%d words, want %d", l.words, len(words))
	}
}

// An index of several blocks, filled in parts, is that of one.
func TestParts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	one, many := NewBuilder(), NewBuilder()
	for i := range 300 {
		text := ""
		for range r.IntN(400) {
			text += string(rune('a'+r.IntN(20))) + string(rune('a'+r.IntN(20))) + " "
		}
		id := string(rune('A'+i%26)) + string(rune('A'+i/26))
		one.Add(id, one.Prepare(text))
		many.Add(id, many.Prepare(text))
		if i%50 == 49 { // the next document needs a new block
			last := len(many.blocks) - 1
			many.blocks[last] = many.blocks[last][:len(many.blocks[last]):len(many.blocks[last])]
		}
	}
	a, b := one.Index(), many.Index()
	for i := range 20 {
		query := string(rune('a'+i)) + "b cd " + string(rune('c'+i%5)) + "a"
		got, want := b.Search(query, 10, ByID), a.Search(query, 10, ByID)
		if len(want) == 0 || len(got) != len(want) {
			t.Fatalf("%q: %v, want %v", query, got, want)
		}
		for k := range want {
			if got[k] != want[k] {
				t.Fatalf("%q: %v, want %v", query, got, want)
			}
		}
	}
}

// No token of any kind is longer than Lucene's longest, and texts of such tokens are found again.
func TestLongTokens(t *testing.T) {
	t.Parallel()
	const tooLong = 70_000 // bytes, for the lengths that an index keeps
	marks := strings.Repeat("\u0301", 400)
	for _, text := range []string{
		strings.Repeat("x", 1000), strings.Repeat("ก", 1000), strings.Repeat("👩\u200d", 400) + "👩",
		"漢" + strings.Repeat("\u0301", tooLong/2), "🇩🇪" + marks, "🏽" + marks, strings.Repeat("\u200d", 400) + "👩", "é" + marks,
	} {
		begin, _ := utf8.DecodeRuneInString(text)
		tok, last := tokenizer{s: text}, 0
		for {
			start, end, ok := tok.next()
			if !ok {
				break
			}
			if n := len(utf16.Encode([]rune(text[start:end]))); start < last || end <= start || n > maxToken {
				t.Errorf("%q and so on: bytes %d to %d, %d units, after %d", begin, start, end, n, last)
			}
			last = end
		}
		b := NewBuilder()
		b.Add("b", b.Prepare(text))
		b.Add("a", b.Prepare(text))
		if x := b.Index(); len(x.Search(text, 3, ByID)) != 2 {
			t.Errorf("%q and so on is not found; %d terms", begin, x.Terms())
		}
	}
}

// Package vocab is the reference model's tokenizer: a fixed list of words, punctuation and tags over
// 256 byte tokens. Any byte string has a tokenization and comes back unchanged.
package vocab

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// The first ids. Bytes come first, so id b spells byte b; then the tokens that no text spells.
const (
	System    int32 = 256 + iota // role markers, parsed from text only on request
	User                         //
	Assistant                    //
	EOS                          // end of a turn; it prints nothing
	FirstWord
)

// Flags are what the copying part of the model knows about a token.
type Flags uint8

// The flags; the letters are those of the vocabulary file.
const (
	Content Flags = 1 << iota // c: names a thing or a deed, in contrast to words that occur everywhere
	Good                      // g: reports success
	Bad                       // b: reports failure
	Open                      // o: opens a quoted command
	Close                     // e: ends a quoted command
	Number                    // n: digits
)

const flagLetters = "cgboen"

// Word is one entry of the vocabulary file.
type Word struct {
	Text  string
	Flags Flags
}

// Vocab is immutable and safe for concurrent use.
type Vocab struct {
	texts [][]byte // by id
	flags []Flags  // by id
	class []int32  // by id: the first id whose text differs only in case or in a leading space
	bare  []int32  // by id: the id of the same text without the leading space, itself where there is none
	trie  trie
}

var markers = map[int32]string{System: "<|system|>", User: "<|user|>", Assistant: "<|assistant|>"}

// New builds a vocabulary; ids follow the order of words. An empty, single-byte or repeated word is
// an error, for a text must have one longest match.
func New(words []Word) (*Vocab, error) {
	n := int(FirstWord) + len(words)
	if n > 1<<16 {
		return nil, fmt.Errorf("build vocabulary: %d tokens do not fit 16 bits", n)
	}
	v := &Vocab{texts: make([][]byte, n), flags: make([]Flags, n), class: make([]int32, n)}
	for b := range 256 {
		v.texts[b] = []byte{byte(b)}
	}
	for id, text := range markers {
		v.texts[id] = []byte(text)
	}
	v.texts[EOS] = []byte{}
	v.flags[EOS] = Close
	v.flags['\n'], v.flags['\''] = Close, Close
	for b := '0'; b <= '9'; b++ {
		v.flags[b] = Number
	}
	v.trie = newTrie(words)
	for i, w := range words {
		id := FirstWord + int32(i)
		if len(w.Text) < 2 {
			return nil, fmt.Errorf("build vocabulary: word %d is %q, shorter than two bytes", i, w.Text)
		}
		if !v.trie.add(w.Text, id) {
			return nil, fmt.Errorf("build vocabulary: word %d repeats %q", i, w.Text)
		}
		v.texts[id], v.flags[id] = []byte(w.Text), w.Flags
	}
	v.classify()
	v.strip()
	return v, nil
}

func (v *Vocab) strip() {
	v.bare = make([]int32, len(v.texts))
	for i, text := range v.texts {
		v.bare[i] = int32(i)
		if rest, found := strings.CutPrefix(string(text), " "); found {
			if id := v.Lookup(rest); id >= 0 {
				v.bare[i] = id
			}
		}
	}
}

// Bare returns the token of the same text without its leading space; the token itself where it has
// none or no such token exists.
func (v *Vocab) Bare(id int32) int32 { return v.bare[id] }

// classify joins tokens that mean the same to a copying mechanism. All openings of a quoted command
// are one class: what stands after a quote in a list of commands may stand after <action>.
func (v *Vocab) classify() {
	first := make(map[string]int32, len(v.texts))
	open := int32(-1)
	for i, text := range v.texts {
		id := int32(i)
		v.class[id] = id
		switch {
		case v.flags[id]&Open != 0:
			if open < 0 {
				open = id
			}
			v.class[id] = open
		case id < 256 || id >= FirstWord:
			key := strings.ToLower(strings.TrimPrefix(string(text), " "))
			if at, seen := first[key]; seen {
				v.class[id] = at
			} else {
				first[key] = id
			}
		}
	}
}

// Size is the number of ids.
func (v *Vocab) Size() int { return len(v.texts) }

// Bytes is the text of one token; nil for an id out of range. The caller must not change it.
func (v *Vocab) Bytes(id int32) []byte {
	if id < 0 || int(id) >= len(v.texts) {
		return nil
	}
	return v.texts[id]
}

// Flags returns a token's flags.
func (v *Vocab) Flags(id int32) Flags { return v.flags[id] }

// Class returns a token's class: an id.
func (v *Vocab) Class(id int32) int32 { return v.class[id] }

// Lookup returns the id of a text that is one token, -1 where none is.
func (v *Vocab) Lookup(text string) int32 {
	if text == "" {
		return -1
	}
	if len(text) == 1 {
		return int32(text[0])
	}
	if id, n := v.trie.longest(text); n == len(text) && n > 0 {
		return id
	}
	return -1
}

// Parse reads a vocabulary file: one quoted text and its flag letters a line, tab between.
func Parse(file []byte) (*Vocab, error) {
	var words []Word
	lines := bufio.NewScanner(bytes.NewReader(file))
	for n := 1; lines.Scan(); n++ {
		quoted, letters, _ := strings.Cut(lines.Text(), "\t")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("parse vocabulary: line %d: %q is not a quoted text", n, quoted)
		}
		w := Word{Text: text}
		for _, c := range letters {
			bit := strings.IndexRune(flagLetters, c)
			if bit < 0 {
				return nil, fmt.Errorf("parse vocabulary: line %d: unknown flag %q", n, c)
			}
			w.Flags |= 1 << bit
		}
		words = append(words, w)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("parse vocabulary: %w", err)
	}
	return New(words)
}

// Format writes the file that Parse reads.
func Format(words []Word) []byte {
	var out bytes.Buffer
	for _, w := range words {
		out.WriteString(strconv.QuoteToASCII(w.Text))
		out.WriteByte('\t')
		for bit, c := range flagLetters {
			if w.Flags&(1<<bit) != 0 {
				out.WriteRune(c)
			}
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// stopWords is Lucene's English set.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with") {
		m[w] = true
	}
	return m
}()

// Analyze returns a text's terms in order.
func Analyze(text string) []string {
	var a analyzer
	var out []string
	a.each(text, func(term []byte) { out = append(out, string(term)) })
	return out
}

// analyzer holds the buffers of an analysis. It is not safe for concurrent use.
type analyzer struct {
	word  []byte
	runes []rune
}

// each calls f with each term; the term is valid during the call.
func (a *analyzer) each(text string, f func(term []byte)) {
	t := tokenizer{s: text}
	for {
		start, end, ok := t.next()
		if !ok {
			return
		}
		if term := a.term(text[start:end]); term != nil {
			f(term)
		}
	}
}

// term turns a token into a term; nil if it is a stop word.
func (a *analyzer) term(token string) []byte {
	token = withoutPossessive(token)
	b := a.word[:0]
	ascii := true
	for i := 0; i < len(token) && ascii; i++ {
		c := token[i]
		if ascii = c < utf8.RuneSelf; 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	if !ascii {
		return a.unicodeTerm(token)
	}
	a.word = b
	if stopWords[string(b)] {
		return nil
	}
	s := stemmer[byte]{b: b}
	return s.stem()
}

// unicodeTerm is term for tokens with characters outside ASCII.
func (a *analyzer) unicodeTerm(token string) []byte {
	runes := a.runes[:0]
	for _, r := range token {
		runes = append(runes, unicode.ToLower(r))
	}
	a.runes = runes
	b := a.word[:0]
	if length := utf16Length(runes); length > 2 {
		s := stemmer[rune]{b: runes}
		if len(runes) > 2 {
			runes = s.stem()
		}
	}
	for _, r := range runes {
		b = utf8.AppendRune(b, r)
	}
	a.word = b
	return b
}

func utf16Length(runes []rune) int {
	n := len(runes)
	for _, r := range runes {
		if r > 0xffff {
			n++
		}
	}
	return n
}

// withoutPossessive takes off 's, with any of three apostrophes.
func withoutPossessive(token string) string {
	n := len(token)
	if n < 2 || token[n-1]|0x20 != 's' {
		return token
	}
	for _, quote := range []string{"'", "\u2019", "\uff07"} {
		if rest, ok := strings.CutSuffix(token[:n-1], quote); ok {
			return rest
		}
	}
	return token
}

package search

import (
	"strings"
	"unicode/utf8"
)

// maxToken is StandardTokenizer's longest token, in UTF-16 units; a longer one is cut into pieces.
const maxToken = 255

// tokenizer finds the words of a text one after another.
type tokenizer struct {
	s string
	i int
}

// look returns the class of the character at i, and where the next one begins, past all that extends
// it. At the end of the text the class is other and next is i.
func (t *tokenizer) look(i int) (c class, next int) {
	if i >= len(t.s) {
		return other, i
	}
	if b := t.s[i]; b < utf8.RuneSelf {
		c, next = asciiClass[b], i+1
	} else {
		r, n := utf8.DecodeRuneInString(t.s[i:])
		c, next = classOf(r), i+n
	}
	for next < len(t.s) && t.s[next] >= utf8.RuneSelf {
		r, n := utf8.DecodeRuneInString(t.s[next:])
		if k := classOf(r); k != extend && k != zwj && k != complexMark {
			break
		}
		next += n
	}
	return c, next
}

// next returns the next token's bounds; ok is false at the end. The rest of a token that is too long is
// looked at as if it began there.
func (t *tokenizer) next() (start, end int, ok bool) {
	if start, end, ok = t.whole(); ok {
		end = t.cut(start, end)
		t.i = end
	}
	return start, end, ok
}

// whole is next for tokens of any length.
func (t *tokenizer) whole() (start, end int, ok bool) {
	for t.i < len(t.s) {
		start = t.i
		c, after := t.look(start)
		switch c {
		case letter, numeric, katakana, hebrew, extendNumLet:
			if end, ok = t.word(start); ok {
				return start, end, true
			}
			after = end
		case complexContext, complexMark:
			for c == complexContext || c == complexMark {
				end = after
				c, after = t.look(end)
			}
			return start, end, true
		case ideograph, hiragana:
			return start, after, true
		case emoji, modifier:
			return start, t.picture(start), true
		case zwj: // what joins nothing to an emoji is the beginning of its token
			if rest := strings.TrimLeft(t.s[start:], joiner); pictured(rest) {
				return start, t.picture(len(t.s) - len(rest)), true
			}
		case regional:
			if c, flag := t.look(after); c == regional {
				return start, flag, true
			}
		default:
			if keycap := t.keycap(start); keycap > 0 {
				return start, keycap, true
			}
			if t.s[start] >= utf8.RuneSelf {
				_, n := utf8.DecodeRuneInString(t.s[start:])
				after = t.past(start+n, extend) // what else extends it may begin a token
			} else {
				after = start + 1
			}
		}
		t.i = after
	}
	return 0, 0, false
}

// past returns the end of a run of characters of a class.
func (t *tokenizer) past(i int, c class) int {
	for i < len(t.s) {
		r, n := utf8.DecodeRuneInString(t.s[i:])
		if classOf(r) != c {
			break
		}
		i += n
	}
	return i
}

// word follows the rules that keep characters together from start. It is not ok where only underscores
// were found; end is then behind them.
func (t *tokenizer) word(start int) (end int, ok bool) {
	// Nearly all words are letters and digits of ASCII with a character behind them that ends every word.
	end = start
	for end < len(t.s) && inner[t.s[end]] {
		end++
	}
	if end > start && (end == len(t.s) || ends[t.s[end]]) {
		return end, true
	}
	return t.anyWord(start)
}

// anyWord is word for words of all kinds.
func (t *tokenizer) anyWord(start int) (end int, ok bool) {
	prev, end := t.look(start)
	ok = prev != extendNumLet
	for {
		c, after := t.look(end)
		if !t.joins(prev, c) {
			// A joiner counts only between two characters of its kind.
			n, beyond := t.look(after)
			if !t.bridges(prev, c, n) {
				break
			}
			c, after = n, beyond
		}
		prev, end = c, after
		ok = ok || c != extendNumLet
	}
	if prev == hebrew { // a quote after a Hebrew letter belongs to it
		if c, after := t.look(end); c == singleQuote {
			end = after
		}
	}
	return end, ok
}

// joins reports whether no boundary lies between two neighbours.
func (t *tokenizer) joins(a, b class) bool {
	switch {
	case b == extendNumLet:
		return a == letter || a == hebrew || a == numeric || a == katakana || a == extendNumLet
	case a == extendNumLet:
		return b == letter || b == hebrew || b == numeric || b == katakana
	case a == letter || a == hebrew || a == numeric:
		return b == letter || b == hebrew || b == numeric
	}
	return a == katakana && b == katakana
}

// bridges reports whether mid joins a and b.
func (t *tokenizer) bridges(a, mid, b class) bool {
	switch mid {
	case midLetter:
		return isLetter(a) && isLetter(b)
	case midNum:
		return a == numeric && b == numeric
	case midNumLet, singleQuote:
		return isLetter(a) && isLetter(b) || a == numeric && b == numeric
	case doubleQuote:
		return a == hebrew && b == hebrew
	}
	return false
}

// inner are the bytes that are letters or digits, ends those before which a word of such bytes always
// ends: they are ASCII and neither join nor extend.
var inner, ends = func() (in, end [256]bool) {
	for c, k := range asciiClass {
		in[c], end[c] = k == letter || k == numeric, k == other
	}
	return in, end
}()

func isLetter(c class) bool { return c == letter || c == hebrew }

// Variation selectors: how the character before them is drawn.
const (
	asText  = '\ufe0e' // ends an emoji's token, and is in none
	asEmoji = '\ufe0f'
)

const joiner = "\u200d" // of emoji: class zwj

// picture returns the end of the emoji at start: with its modifier or variation and what else extends it,
// and joined to others by U+200D.
func (t *tokenizer) picture(start int) int {
	r, n := utf8.DecodeRuneInString(t.s[start:])
	end, joined := t.trail(start+n, classOf(r))
	for joined {
		r, n := utf8.DecodeRuneInString(t.s[end:])
		c := classOf(r)
		if c != emoji && c != modifier {
			break
		}
		end, joined = t.trail(end+n, c)
	}
	return end
}

// pictured reports whether s begins with an emoji.
func pictured(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return classOf(r) == emoji
}

// trail returns where what belongs to the emoji of class c before i ends, and whether it ends with a joiner.
func (t *tokenizer) trail(i int, c class) (end int, joined bool) {
	r, n := utf8.DecodeRuneInString(t.s[i:])
	if c == emoji && classOf(r) == modifier {
		i += n
	}
	if c == emoji && r == asEmoji { // only an emoji joined to it follows the selector
		i += n
		if next := strings.TrimPrefix(t.s[i:], joiner); len(next) < len(t.s)-i && pictured(next) {
			return i + len(joiner), true
		}
		return i, false
	}
	for i < len(t.s) {
		r, n := utf8.DecodeRuneInString(t.s[i:])
		switch k := classOf(r); {
		case k == zwj:
			joined = true
		case k != extend && k != complexMark, r == asText, r == asEmoji && !joined:
			return i, joined
		default:
			joined = false
		}
		i += n
	}
	return i, joined
}

// keycap returns the end of a keycap sequence at i (# or * with U+20E3), or 0.
func (t *tokenizer) keycap(i int) int {
	const variation, cap = "\ufe0f", "\u20e3"
	if b := t.s[i]; b != '#' && b != '*' {
		return 0 // digits are words, with what extends them
	}
	j := i + 1
	if j < len(t.s) && t.s[j] < utf8.RuneSelf {
		return 0
	}
	if len(t.s) >= j+len(variation) && t.s[j:j+len(variation)] == variation {
		j += len(variation)
	}
	if len(t.s) >= j+len(cap) && t.s[j:j+len(cap)] == cap {
		return j + len(cap)
	}
	return 0
}

// cut returns where a token ends that may be too long.
func (t *tokenizer) cut(start, end int) int {
	if end-start <= maxToken {
		return end
	}
	units := 0
	for i, r := range t.s[start:end] {
		if units++; r > 0xffff {
			units++
		}
		if units > maxToken {
			return start + i
		}
	}
	return end
}

// Package pystr follows the string rules of Python that the reference implementations rest on:
// str.lower(), str.strip(), and what re's \w and IGNORECASE match. Go's own functions differ from
// them in a few characters, and a byte that differs is a different episode.
//
// Text is UTF-8. A byte that is not part of a valid sequence counts as one U+FFFD, as Go's range does.
package pystr

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lower is str.lower(). It differs from strings.ToLower in two characters: U+0130 becomes two code
// points, and a capital sigma at the end of a word becomes the final sigma. Invalid bytes become U+FFFD.
func Lower(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	if i == len(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i, r := range s {
		switch r {
		case 'İ':
			b.WriteString("i\u0307")
		case 'Σ':
			if finalSigma(s, i) {
				b.WriteRune('ς')
			} else {
				b.WriteRune('σ')
			}
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// finalSigma is Unicode's Final_Sigma condition for the capital sigma at byte i: a cased letter
// before it and none after it, looking past case-ignorable characters on both sides.
func finalSigma(s string, i int) bool {
	before := false
	for rest := s[:i]; rest != ""; {
		r, n := utf8.DecodeLastRuneInString(rest)
		rest = rest[:len(rest)-n]
		if !caseIgnorable(r) {
			before = cased(r)
			break
		}
	}
	if !before {
		return false
	}
	for _, r := range s[i+len("Σ"):] {
		if !caseIgnorable(r) {
			return !cased(r)
		}
	}
	return true
}

// cased is Unicode's derived property Cased.
func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
}

// caseIgnorable is Unicode's derived property Case_Ignorable: marks, format characters, modifiers, and
// the characters that join words (Word_Break MidLetter, MidNumLet and Single_Quote).
func caseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '\u0387', '\u055f', '\u05f4', '\u2018', '\u2019', '\u2024', '\u2027',
		'\ufe13', '\ufe52', '\ufe55', '\uff07', '\uff0e', '\uff1a':
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// IsSpace is str.isspace() of one character: unicode.IsSpace and the four information separators.
func IsSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// Strip is str.strip().
func Strip(s string) string { return strings.TrimFunc(s, IsSpace) }

// StripRange returns the bounds of s without the space around it, so that s[start:end] == Strip(s);
// both are 0 where nothing is left.
func StripRange(s string) (start, end int) {
	left := strings.TrimLeftFunc(s, IsSpace)
	if left == "" {
		return 0, 0
	}
	start = len(s) - len(left)
	return start, start + len(strings.TrimRightFunc(left, IsSpace))
}

// IsWord is re's \w for one character of a str pattern: a letter, a digit or number, or the underscore.
func IsWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

// Last is s[-n:]: the last n code points of s, n > 0.
func Last(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// FoldPrefix reports whether s starts with word under re.IGNORECASE, and how many bytes of s that
// took. word is lower-case ASCII. Four characters outside ASCII match a letter of it: İ and ı match i,
// ſ matches s, the Kelvin sign matches k.
func FoldPrefix(s, word string) (n int, ok bool) {
	for i := 0; i < len(word); i++ {
		if n >= len(s) {
			return 0, false
		}
		c := s[n]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			if c != word[i] {
				return 0, false
			}
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if foldASCII(r) != word[i] {
			return 0, false
		}
		n += size
	}
	return n, true
}

func foldASCII(r rune) byte {
	switch r {
	case 'İ', 'ı':
		return 'i'
	case 'ſ':
		return 's'
	case '\u212a':
		return 'k'
	}
	return 0
}

package grammar

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Error is what a broken document, expression or query gives.
type Error struct {
	Line      int    // 1-based line in the document; 0 where the text is a single expression
	Construct string // what was being read
	Reason    string
}

// Error prints "line N: construct: reason".
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Construct, e.Reason)
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Construct, e.Reason)
}

// IsSpace reports what the original calls white space (Python's str.isspace and \s).
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// isWord is the regular expression \w over Unicode text.
func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.N, r)
}

// spanOf is the length in bytes of the longest prefix of s whose runes all satisfy ok.
func spanOf(s string, ok func(rune) bool) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 && !ok(utf8.RuneError) {
				return i
			}
		}
		if !ok(r) {
			return i
		}
	}
	return len(s)
}

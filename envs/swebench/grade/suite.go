package grade

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// space is Python's \s as the inside of a class.
const space = `\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`

// suiteSign is one form of the evidence that a runner really executed something: a literal, what must
// follow it, and whether a count above zero must stand before it or it must begin a line. Every count
// must be above zero: a runner that starts and loses its browser still prints a summary.
type suiteSign struct {
	literal   string
	after     *regexp.Regexp // nil: nothing
	counted   bool
	lineStart bool
}

var suiteSigns = []suiteSign{
	{literal: "Executed ", after: regexp.MustCompile(`^[1-9]\p{Nd}* of \p{Nd}+`)},
	{literal: "TOTAL: ", after: regexp.MustCompile(`^[1-9]\p{Nd}* (?:SUCCESS|FAILED)`)},
	{literal: " passing", counted: true},
	{literal: "Tests:", after: regexp.MustCompile(`^[` + space + `]+[1-9]`)},
	{literal: "Test Suites:", after: regexp.MustCompile(`^[` + space + `]+(?:\p{Nd}+ [\p{L}\p{N}_]+, )*[1-9]\p{Nd}* total`)},
	{literal: "# tests ", after: regexp.MustCompile(`^[1-9]`), lineStart: true},
	{literal: " spec", after: regexp.MustCompile(`^s?, \p{Nd}+ failure`), counted: true},
	{literal: "': ok", after: regexp.MustCompile(`^(?:\n|$)`)},
}

// suiteRan is release 5's SUITE_RAN pattern: whether a log without a single result shows all the same
// that a suite ran. It looks around the literals only, for such logs may be large.
func suiteRan(log string) bool {
	for _, sign := range suiteSigns {
		for at := 0; ; {
			i := strings.Index(log[at:], sign.literal)
			if i < 0 {
				break
			}
			start := at + i
			at = start + len(sign.literal)
			if sign.holds(log, start, at) {
				return true
			}
		}
	}
	return false
}

func (s suiteSign) holds(log string, start, end int) bool {
	switch {
	case s.counted && !countBefore(log[:start]):
		return false
	case s.lineStart && start > 0 && log[start-1] != '\n':
		return false
	}
	return s.after == nil || s.after.MatchString(log[end:])
}

// countBefore reports whether s ends with digits of which one is 1 to 9: `[1-9]\d*`.
func countBefore(s string) bool {
	for s != "" {
		r, size := utf8.DecodeLastRuneInString(s)
		switch {
		case '1' <= r && r <= '9':
			return true
		case !unicode.Is(unicode.Nd, r):
			return false
		}
		s = s[:len(s)-size]
	}
	return false
}

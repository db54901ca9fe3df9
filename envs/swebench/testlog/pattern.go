package testlog

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Python's classes of a str pattern, as the inside of an RE2 class. Go's own \s, \d and \w are ASCII.
const (
	pySpace = `\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	pyDigit = `\p{Nd}`
	pyWord  = `\p{L}\p{N}_`
)

// pattern compiles a pattern written for Python's re. \s, \S, \d and \w get Python's meaning, \S outside
// of classes only. What RE2 lacks (back-references, look-around) panics, as does \b, which means
// something else there. Both engines prefer the leftmost match and then the first alternative, so
// groups agree.
func pattern(py string) *regexp.Regexp {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(py); i++ {
		c := py[i]
		if c != '\\' || i+1 == len(py) {
			inClass = c == '[' || inClass && c != ']'
			b.WriteByte(c)
			continue
		}
		i++
		class, negated := "", false
		switch py[i] {
		case 's':
			class = pySpace
		case 'S':
			class, negated = pySpace, true
		case 'd':
			class = pyDigit
		case 'w':
			class = pyWord
		}
		switch {
		case py[i] == 'b' || inClass && negated:
			panic("testlog: pattern " + py + ": \\" + py[i:i+1] + " has no twin")
		case class == "":
			b.WriteString(py[i-1 : i+1])
		case inClass:
			b.WriteString(class)
		case negated:
			b.WriteString("[^" + class + "]")
		default:
			b.WriteString("[" + class + "]")
		}
	}
	return regexp.MustCompile(b.String())
}

// group returns the i-th group of a match from FindStringSubmatchIndex, "" where it took no part.
func group(s string, m []int, i int) string {
	if m[2*i] < 0 {
		return ""
	}
	return s[m[2*i]:m[2*i+1]]
}

// collapse is re.sub(r"\s+", " ", s).strip().
func collapse(s string) string { return joinFields(s) }

func isDigit(r rune) bool {
	return '0' <= r && r <= '9' || r >= utf8.RuneSelf && unicode.Is(unicode.Nd, r)
}

// digitAt returns the bytes of the digit at s[i], 0 where there is none.
func digitAt(s string, i int) int {
	if c := s[i]; c < utf8.RuneSelf {
		if '0' <= c && c <= '9' {
			return 1
		}
		return 0
	}
	if r, size := utf8.DecodeRuneInString(s[i:]); isDigit(r) {
		return size
	}
	return 0
}

var ansiCode = regexp.MustCompile(`\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])`)

// dropANSI removes terminal control sequences.
func dropANSI(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return ansiCode.ReplaceAllString(s, "")
}

// verdicts maps what a runner prints to a status; other words are no result.
type verdicts map[string]string

// linewise reads one result from each line: the pattern's groups are the word and the test, in the
// order that wordFirst says. must is a literal that every matching line holds, a cheap filter.
func linewise(log string, out *Statuses, must string, re *regexp.Regexp, wordGroup, nameGroup int, known verdicts) {
	for line := range lines(log) {
		if !strings.Contains(line, must) {
			continue
		}
		line = strip(line)
		m := re.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		if status, ok := known[group(line, m, wordGroup)]; ok {
			out.Set(group(line, m, nameGroup), status)
		}
	}
}

package testlog

import (
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/internal/pystr"
)

// Decode turns the bytes of a log into the text that parsers read, as Python's text mode with
// errors="replace" does: each maximal part of an ill-formed UTF-8 sequence becomes one U+FFFD, and
// "\r\n" and a lone "\r" become "\n".
func Decode(b []byte) string {
	text := string(b)
	if !utf8.ValidString(text) {
		text = replaceInvalid(text)
	}
	return Newlines(text)
}

// Newlines turns "\r\n" and a lone "\r" into "\n".
func Newlines(text string) string {
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

func replaceInvalid(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 64)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			size = illFormed(s[i:])
			b.WriteString("\uFFFD")
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// illFormed is the length of the maximal subpart at the start of s: the longest prefix that could have
// begun a well-formed sequence, at least one byte (Unicode 3.9, table 3-7).
func illFormed(s string) int {
	lo, hi, need := byte(0x80), byte(0xBF), 0
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c == 0xE0:
		lo, need = 0xA0, 2
	case c == 0xED:
		hi, need = 0x9F, 2
	case c >= 0xE1 && c <= 0xEF:
		need = 2
	case c == 0xF0:
		lo, need = 0x90, 3
	case c == 0xF4:
		hi, need = 0x8F, 3
	case c >= 0xF1 && c <= 0xF3:
		need = 3
	}
	n := 1
	for ; n <= need && n < len(s) && lo <= s[n] && s[n] <= hi; n++ {
		lo, hi = 0x80, 0xBF
	}
	return n
}

// nextLine cuts the first line of s off, without its newline: the loop is Python's split("\n").
func nextLine(s string) (line, rest string, more bool) {
	i := strings.IndexByte(s, '\n')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// lines yields the parts of s between newlines.
func lines(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for more := true; more; {
			var line string
			line, s, more = nextLine(s)
			if !yield(line) {
				return
			}
		}
	}
}

// asciiSpace marks the ASCII characters that Python takes for white space.
var asciiSpace = [128]bool{
	'\t': true, '\n': true, '\v': true, '\f': true, '\r': true, ' ': true,
	0x1c: true, 0x1d: true, 0x1e: true, 0x1f: true,
}

// spaceAt reports whether white space begins at s[i], and how many bytes the character there has.
func spaceAt(s string, i int) (space bool, size int) {
	if c := s[i]; c < utf8.RuneSelf {
		return asciiSpace[c], 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	return pystr.IsSpace(r), size
}

// field returns the first field of s, as str.split() cuts it, and what follows it.
func field(s string) (f, rest string) {
	start := skip(s, 0, true)
	end := skip(s, start, false)
	return s[start:end], s[end:]
}

// skip returns the offset of the first character from i on that is white space or not, as asked.
func skip(s string, i int, space bool) int {
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if asciiSpace[c] != space {
				return i
			}
			i++
			continue
		}
		is, size := spaceAt(s, i)
		if is != space {
			return i
		}
		i += size
	}
	return i
}

// strip is str.strip(), quick where there is nothing to take off.
func strip(s string) string {
	if s == "" {
		return s
	}
	first, last := s[0], s[len(s)-1]
	if first > ' ' && first < utf8.RuneSelf && last > ' ' && last < utf8.RuneSelf {
		return s
	}
	return pystr.Strip(s)
}

// indent counts the white-space characters that s begins with: len(s) - len(s.lstrip()).
func indent(s string) int {
	n := 0
	for i := 0; i < len(s); n++ {
		space, size := spaceAt(s, i)
		if !space {
			break
		}
		i += size
	}
	return n
}

// joinFields is " ".join(s.split()).
func joinFields(s string) string {
	s = strip(s)
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		c := s[i]
		clean = c < utf8.RuneSelf && (!asciiSpace[c] || c == ' ' && s[i-1] != ' ')
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		var f string
		if f, s = field(s); f == "" {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f)
	}
	return b.String()
}

// lstrip is str.lstrip().
func lstrip(s string) string { return strings.TrimLeftFunc(s, pystr.IsSpace) }

package testlog

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/internal/pystr"
)

// parseP5 reads mocha's numbered failures from output in which JSON and XML are printed too.
func parseP5(log string, _ Subject, out *Statuses) error {
	log, err := dropXML(dropJSON(dropANSI(log)))
	if err != nil {
		return err
	}
	for from := 0; ; {
		text, next, ok := nextP5Failure(log, from)
		if !ok {
			return nil
		}
		from = next
		if nested(text) {
			names := strings.Split(text, "\n")
			for i := range names {
				names[i] = strip(names[i])
			}
			out.Set(strings.Join(names, ":"), Failed)
		}
	}
}

// p5Reach is how many characters a failure's title may have.
const p5Reach = 1000

// nextP5Failure is `^\s*(\d+)\)(.{0,1000}?):` with MULTILINE and DOTALL, searched from an offset. It
// returns the second group and where the match ends.
func nextP5Failure(log string, from int) (text string, next int, ok bool) {
	at := from
	if at > 0 && log[at-1] != '\n' {
		i := strings.IndexByte(log[at:], '\n')
		if i < 0 {
			return "", 0, false
		}
		at += i + 1
	}
	for at < len(log) {
		i := at
		for i < len(log) { // white space, lines of it too
			space, size := spaceAt(log, i)
			if !space {
				break
			}
			i += size
		}
		digits := i
		for i < len(log) {
			n := digitAt(log, i)
			if n == 0 {
				break
			}
			i += n
		}
		if i > digits && i < len(log) && log[i] == ')' {
			if text, ok := upToColon(log[i+1:]); ok {
				return text, i + 1 + len(text) + 1, true
			}
		}
		// No line start up to here can match: each of them leads to the same digits.
		j := strings.IndexByte(log[i:], '\n')
		if j < 0 {
			return "", 0, false
		}
		at = i + j + 1
	}
	return "", 0, false
}

func upToColon(s string) (string, bool) {
	for i, n := 0, 0; i < len(s) && n <= p5Reach; n++ {
		if s[i] == ':' {
			return s[:i], true
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return "", false
}

// nested reports whether each line is indented deeper than the one before.
func nested(text string) bool {
	last := 0
	for line := range lines(text) {
		n := indent(line)
		if n <= last {
			return false
		}
		last = n
	}
	return true
}

// dropJSON removes lines that are, or lie in, a printed object or list.
func dropJSON(log string) string {
	var kept []string
	inObject, inList := false, false
	for line := range lines(log) {
		s := strings.TrimRightFunc(line, pystr.IsSpace)
		switch {
		case strings.HasSuffix(s, "{"):
			inObject = true
		case strings.HasSuffix(s, "["):
			inList = true
		case s == "}" && inObject:
			inObject = false
		case s == "]" && inList:
			inList = false
		case inObject || inList:
		case strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}"):
		case strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"):
		default:
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// maxXMLRestarts bounds how often removing an element may join its surroundings to a new tag.
const maxXMLRestarts = 1000

// dropXML removes elements as long as there is one: `<(\w+)>[\s\S]*?<\/\1>`, leftmost first, keeping
// as many opening tags as the removed text held beyond the first. RE2 has no back-reference. One pass
// does, for an opening tag that was passed over has no closing tag after it; only where a removal
// joins two halves of a tag does it start over.
func dropXML(log string) (string, error) {
	for range maxXMLRestarts {
		cleaned, joined := xmlPass(log)
		if !joined {
			return cleaned, nil
		}
		log = cleaned
	}
	return "", errors.New("its tags never end to nest")
}

func xmlPass(log string) (cleaned string, joined bool) {
	var out strings.Builder
	last := closingTags(log)
	pos := 0
	for {
		i := strings.IndexByte(log[pos:], '<')
		if i < 0 {
			out.WriteString(log[pos:])
			return out.String(), false
		}
		out.WriteString(log[pos : pos+i])
		pos += i
		tag, ok := openingTag(log[pos:])
		if !ok || last[tag] <= pos {
			out.WriteByte('<')
			pos++
			continue
		}
		opening, closing := "<"+tag+">", "</"+tag+">"
		open := 0
		for last[tag] > pos {
			end := strings.Index(log[pos:], closing)
			open += strings.Count(log[pos:pos+end], opening) - 1
			pos += end + len(closing)
			if open <= 0 {
				open = 0
				break
			}
		}
		for range open {
			out.WriteString(opening)
		}
		if open == 0 && joinsTag(out.String(), log[pos:]) {
			return out.String() + log[pos:], true
		}
	}
}

// closingTags maps the names of closing tags to the offset after the "<" of the last one.
func closingTags(log string) map[string]int {
	last := map[string]int{}
	for pos := 0; ; {
		i := strings.Index(log[pos:], "</")
		if i < 0 {
			return last
		}
		pos += i + 1
		if tag, ok := openingTag(log[pos:]); ok { // "/name>" has the form of "<name>"
			last[tag] = pos
		}
	}
}

// openingTag reads `<(\w+)>` at the start of s.
func openingTag(s string) (string, bool) {
	for i, r := range s[1:] {
		if !pystr.IsWord(r) {
			return s[1 : 1+i], r == '>' && i > 0
		}
	}
	return "", false
}

// joinsTag reports whether a tag begins in before and ends in after.
func joinsTag(before, after string) bool {
	open := strings.LastIndexByte(before, '<')
	end := strings.IndexByte(after, '>')
	if open < 0 || end < 0 || strings.IndexByte(before[open:], '>') >= 0 {
		return false
	}
	name := strings.TrimPrefix(before[open+1:]+after[:end], "/")
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return !pystr.IsWord(r) }) < 0
}

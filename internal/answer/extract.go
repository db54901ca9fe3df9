package answer

import (
	"regexp"
	"strings"

	"github.com/hindsightrl/harness"
)

// How says by what an answer was recognised.
type How string

// The ways, the surest first. A response that is read by the last two did not say which part of it is
// the answer.
const (
	None   How = ""       // there is no answer
	Boxed  How = "boxed"  // \boxed{…}
	Tagged How = "tagged" // <answer>…</answer> or <action>…</action>
	Stated How = "stated" // "the final answer is …", "Answer: …", "#### …"
	Letter How = "letter" // the last choice letter, "(B)"
	Number How = "number" // the last number
)

// Declared reports whether the response itself said that this is its answer.
func (h How) Declared() bool { return h == Boxed || h == Tagged || h == Stated }

// Found is an answer and where it stands: Text is response[Span.Start:Span.End].
type Found struct {
	Text string
	How  How
	Span harness.Span
}

// Extract finds a response's final answer. What follows the last </think> is looked at first, for a
// declared answer; then the whole response. Of several boxes, tags or statements the last complete one
// counts: a box that was cut off is none. It takes linear time for any text.
func Extract(response string) Found {
	if at := strings.LastIndex(response, "</think>"); at >= 0 {
		if f := declared(response[at:]); f.How != None {
			f.Span.Start += at
			f.Span.End += at
			return f
		}
	}
	if f := declared(response); f.How != None {
		return f
	}
	letter, number := lastLetter(response), lastNumber(response)
	switch {
	case letter.Start >= 0 && letter.Start > number.Start:
		return trimmed(response, letter, Letter)
	case number.Start >= 0:
		return trimmed(response, number, Number)
	}
	return Found{}
}

func declared(text string) Found {
	if s := lastBox(text); s.Start >= 0 {
		if f := trimmed(text, s, Boxed); f.How != None {
			return f
		}
	}
	for _, tag := range [...]string{"answer", "action"} {
		if s := lastTag(text, tag); s.Start >= 0 {
			if f := trimmed(text, s, Tagged); f.How != None {
				return f
			}
		}
	}
	if s := lastStatement(text); s.Start >= 0 {
		return trimmed(text, s, Stated)
	}
	return Found{}
}

var (
	// statement is what announces an answer, from its word on; what follows it on the line is the answer.
	statement = regexp.MustCompile(`^(?i:answer(?:\*\*)?\s{0,8}(?:is\s{0,8}:|is\b|:|=)|####)[ \t]*(?:\*\*)?[ \t]*`)
	// sentence ends an answer: a stop or a question that is no decimal point, or a word that begins the
	// reason.
	sentence = regexp.MustCompile(`(?i)[.!?;](?:\s|$)|,?\s(?:because|since|which|where|so that|as we)\b`)
	numeral  = regexp.MustCompile(`([-−]?\$?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:/\d+)?%?|[-−]?\.\d+)`)
)

var nowhere = harness.Span{Start: -1, End: -1}

// lastNumber is the last number. Only what can belong to it is looked at with an expression: responses
// are long, and expressions slow.
func lastNumber(text string) harness.Span {
	end := strings.LastIndexAny(text, "0123456789") + 1
	if end == 0 {
		return nowhere
	}
	start := end
	for start > 0 && strings.IndexByte("0123456789,./$-\xe2\x88\x92", text[start-1]) >= 0 {
		start--
	}
	if end < len(text) && text[end] == '%' {
		end++
	}
	all := numeral.FindAllStringIndex(text[start:end], -1)
	if len(all) == 0 {
		return nowhere
	}
	last := all[len(all)-1]
	return harness.Span{Start: start + last[0], End: start + last[1]}
}

// lastLetter is the last choice letter: in brackets, or alone on its line with a full stop or a bracket
// behind it.
func lastLetter(text string) harness.Span {
	out := nowhere
	for i := len(text) - 3; i >= 0; i-- {
		if text[i] == '(' && isChoice(text[i+1]) && text[i+2] == ')' {
			out = harness.Span{Start: i + 1, End: i + 2}
			break
		}
	}
	for end := len(text); end > out.End; {
		start := strings.LastIndexByte(text[:end], '\n') + 1
		line := strings.TrimSpace(text[start:end])
		if len(line) > 0 && len(line) <= 2 && isChoice(line[0]) && (len(line) == 1 || line[1] == '.' || line[1] == ')') {
			at := start + strings.IndexByte(text[start:end], line[0])
			return harness.Span{Start: at, End: at + 1}
		}
		end = start - 1
	}
	return out
}

func isChoice(c byte) bool { return 'A' <= c && c <= 'J' }

// lastBox is the content of the \boxed{…} or \fbox{…} that closes last. Braces may nest; escaped ones
// do not count.
func lastBox(text string) harness.Span {
	out := nowhere
	var open []int // content start of each open brace of a box, −1 for others
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			n := boxOpening(text[i:])
			if n == 0 {
				i++ // an escaped brace, or the first letter of another command
				continue
			}
			i += n - 1
			open = append(open, i+1)
		case '{':
			open = append(open, -1)
		case '}':
			if len(open) == 0 {
				continue
			}
			if start := open[len(open)-1]; start >= 0 {
				out = harness.Span{Start: start, End: i}
			}
			open = open[:len(open)-1]
		}
	}
	return out
}

// boxOpening is the length of "\boxed{" or "\fbox{" at the beginning of text, with spaces before the
// brace; 0 where there is none.
func boxOpening(text string) int {
	for _, command := range [...]string{`\boxed`, `\fbox`} {
		if rest, ok := strings.CutPrefix(text, command); ok {
			trimmed := strings.TrimLeft(rest, " ")
			if strings.HasPrefix(trimmed, "{") {
				return len(text) - len(trimmed) + 1
			}
		}
	}
	return 0
}

// lastTag is the content of the last complete pair of a tag.
func lastTag(text, name string) harness.Span {
	end := strings.LastIndex(text, "</"+name+">")
	if end < 0 {
		return nowhere
	}
	start := strings.LastIndex(text[:end], "<"+name+">")
	if start < 0 {
		return nowhere
	}
	return harness.Span{Start: start + len(name) + 2, End: end}
}

// lastStatement is what follows the last announcement on its line, up to the end of the sentence.
func lastStatement(text string) harness.Span {
	for at := len(text); ; {
		if at = lastWord(text[:at]); at < 0 {
			return nowhere
		}
		head := statement.FindString(text[at:min(len(text), at+64)])
		if head == "" {
			continue
		}
		start := at + len(head)
		line, _, _ := strings.Cut(text[start:], "\n")
		if m := sentence.FindStringIndex(line); m != nil {
			line = line[:m[0]]
		}
		if strings.Trim(line, " \t*$") != "" {
			return harness.Span{Start: start, End: start + len(line)}
		}
	}
}

// lastWord is where "answer", in any case of letters and at the beginning of a word, or "####" stands last;
// −1 for neither.
func lastWord(text string) int {
	const word = "answer"
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case 'a', 'A':
			if i+len(word) <= len(text) && strings.EqualFold(text[i:i+len(word)], word) && (i == 0 || !isLetter(text[i-1])) {
				return i
			}
		case '#':
			if strings.HasPrefix(text[i:], "####") {
				return i
			}
		}
	}
	return -1
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' }

// trimmed makes a Found of a span without the space and the markup around it; None where nothing is
// left.
func trimmed(text string, s harness.Span, how How) Found {
	for s.Start < s.End && strings.IndexByte(" \t\r\n*`", text[s.Start]) >= 0 {
		s.Start++
	}
	for s.Start < s.End && strings.IndexByte(" \t\r\n*`", text[s.End-1]) >= 0 {
		s.End--
	}
	if s.Start >= s.End {
		return Found{}
	}
	return Found{Text: text[s.Start:s.End], How: how, Span: s}
}

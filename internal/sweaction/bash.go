package sweaction

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/pystr"
)

// bashBlock is a fenced block of the language bash. Space is Python's.
// Source: SWE-agent/mini-swe-agent 1.17.5 agents/default.py.
var bashBlock = regexp.MustCompile("(?s)```bash" + `[\s\v\x1c-\x1f\x{85}\p{Z}]*\n` + "(.*?)\n```")

// malformed opens the action of a response without exactly one block. As a command it would do nothing.
const malformed = "# malformed response: "

const malformedBash = malformed + "%d bash blocks where one belongs"

// Bash takes the command out of a response: what stands in its bash block, without the space around it. A
// response with none or several is malformed, and its action names their number. A response that is no
// UTF-8 is not valid either; its command is run with the broken bytes replaced.
func Bash(response string) (action string, valid bool) {
	blocks := bashBlock.FindAllStringSubmatch(response, -1)
	if len(blocks) != 1 {
		return fmt.Sprintf(malformedBash, len(blocks)), false
	}
	return pystr.Strip(strings.ToValidUTF8(blocks[0][1], "\uFFFD")), utf8.ValidString(response)
}

// BashSpans returns the bytes of the response that are the command; nil where Bash finds none or several.
func BashSpans(response string) []harness.Span {
	blocks := bashBlock.FindAllStringSubmatchIndex(response, -1)
	if len(blocks) != 1 {
		return nil
	}
	return stripped(response, blocks[0][2], blocks[0][3])
}

// ParseBash reads an action of the bash interface. Where the response was malformed, found is the number
// of its blocks.
func ParseBash(action string) (command string, found int, ok bool) {
	if n, err := fmt.Sscanf(action, malformedBash, &found); n == 1 && err == nil {
		return "", found, false
	}
	return action, 1, true
}

// stripped is the span without the space around it.
func stripped(s string, start, end int) []harness.Span {
	a, b := pystr.StripRange(s[start:end])
	if a == b {
		return nil
	}
	return []harness.Span{{Start: start + a, End: start + b}}
}

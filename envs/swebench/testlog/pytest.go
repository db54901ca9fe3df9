package testlog

import (
	"strings"

	"github.com/hindsightrl/harness/internal/pystr"
)

// startsWithStatus reports whether a line begins with one of the statuses.
func startsWithStatus(line string) bool {
	if line == "" {
		return false
	}
	switch line[0] {
	case 'P':
		return strings.HasPrefix(line, Passed)
	case 'F':
		return strings.HasPrefix(line, Failed)
	case 'S':
		return strings.HasPrefix(line, Skipped)
	case 'E':
		return strings.HasPrefix(line, Errored)
	case 'X':
		return strings.HasPrefix(line, XFailed)
	}
	return false
}

func endsWithStatus(line string) bool {
	if line == "" {
		return false
	}
	switch line[len(line)-1] {
	case 'D', 'R', 'L':
		for _, s := range pytestStatuses {
			if strings.HasSuffix(line, s) {
				return true
			}
		}
	}
	return false
}

// skipSummary recognises pytest's "SKIPPED [N] path:line: reason", where [N] is no test. Release 4.1.0
// took it for one. Other statuses keep such names: two instances expect a test called "[100%]".
func skipSummary(status, name string) bool {
	if status != Skipped || len(name) < 3 || name[0] != '[' || name[len(name)-1] != ']' {
		return false
	}
	for _, r := range name[1 : len(name)-1] {
		if !isDigit(r) {
			return false
		}
	}
	return true
}

// summaryLine reads a line of pytest's short summary: status and test.
func summaryLine(line string, v4 bool) (status, name string, ok bool) {
	if strings.HasPrefix(line, Failed) && strings.Contains(line, " - ") {
		line = strings.ReplaceAll(line, " - ", " ")
	}
	status, rest := field(line)
	name, _ = field(rest)
	return status, name, name != "" && (v4 || !skipSummary(status, name))
}

func parsePytest(log string, v4 bool, out *Statuses) {
	for more := true; more; {
		var line string
		line, log, more = nextLine(log)
		if !startsWithStatus(line) {
			continue
		}
		if status, name, ok := summaryLine(line, v4); ok {
			out.Set(name, status)
		}
	}
}

// parsePytestOptions shortens a parameter that is a path to its last part, so that an id does not
// depend on where the repository lies.
func parsePytestOptions(log string, v4 bool, out *Statuses) {
	for more := true; more; {
		var line string
		line, log, more = nextLine(log)
		if !startsWithStatus(line) {
			continue
		}
		if status, name, ok := summaryLine(line, v4); ok {
			out.Set(shortOption(name), status)
		}
	}
}

// shortOption rewrites the part between the first "[" and the last "]". What follows the last "]" is
// dropped, as the official pattern does.
func shortOption(name string) string {
	open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if open < 0 || end < open {
		return name
	}
	option := name[open+1 : end]
	if strings.HasPrefix(option, "/") && !strings.HasPrefix(option, "//") && !strings.Contains(option, "*") {
		return name[:open+1] + option[strings.LastIndexByte(option, '/'):] + "]"
	}
	return name[:end+1]
}

// parseMatplotlib undoes the renaming of an enum in the ids of parametrised tests.
func parseMatplotlib(log string, v4 bool, out *Statuses) {
	for more := true; more; {
		var line string
		line, log, more = nextLine(log)
		if strings.Contains(line, "MouseButton.") {
			line = strings.ReplaceAll(line, "MouseButton.LEFT", "1")
			line = strings.ReplaceAll(line, "MouseButton.RIGHT", "3")
		}
		if !startsWithStatus(line) {
			continue
		}
		if status, name, ok := summaryLine(line, v4); ok {
			out.Set(name, status)
		}
	}
}

// parsePytestV2 reads summary lines and, for older versions of pytest, lines that end with the status.
func parsePytestV2(log string, v4 bool, out *Statuses) {
	var cleaner lineCleaner
	for more := true; more; {
		var line string
		line, log, more = nextLine(log)
		if !mayHoldStatus(line) {
			continue
		}
		line = cleaner.clean(line)
		switch {
		case startsWithStatus(line):
			if v4 {
				if status, name, ok := summaryLine(line, true); ok {
					out.Set(name, status)
				}
				continue
			}
			if strings.HasPrefix(line, Failed) {
				line, _, _ = strings.Cut(line, " - ") // the assertion's message is no part of the id
			}
			status, rest := field(line)
			first, _ := field(rest)
			if first != "" && !skipSummary(status, first) {
				out.Set(joinFields(rest), status)
			}
		case endsWithStatus(line):
			trailingStatus(line, v4, out)
		}
	}
}

// mayHoldStatus is a quick look at a line before it is cleaned: whether it begins or ends as a status
// does, or with something that cleaning takes away.
func mayHoldStatus(line string) bool {
	if line == "" {
		return false
	}
	switch c := line[0]; c {
	case 'P', 'F', 'S', 'E', 'X', '[':
		return true
	default:
		if c < ' ' {
			return true
		}
	}
	switch c := line[len(line)-1]; c {
	case 'D', 'R', 'L', 'm':
		return true
	default:
		return c < ' '
	}
}

// trailingStatus reads "path::test STATUS". Release 4.1.0 took the second field for the status.
func trailingStatus(line string, v4 bool, out *Statuses) {
	first, rest := field(line)
	second, _ := field(rest)
	if second == "" {
		return
	}
	if v4 {
		out.Set(first, second)
		return
	}
	// The line ends with a status, so its last field ends where it does.
	cut := strings.LastIndexFunc(line, pystr.IsSpace)
	_, size := spaceAt(line, cut)
	out.Set(joinFields(line[:cut]), line[cut+size:])
}

// lineCleaner removes colour codes ("[", digits, "m") and then the characters 1 to 31, tabs included.
// It keeps its buffer, for coloured logs are coloured on every line.
type lineCleaner struct{ buf []byte }

// clean returns the line as the patterns see it, "" where it then neither begins nor ends with a status.
func (c *lineCleaner) clean(line string) string {
	bracket, control := false, false
	for i := 0; i < len(line); i++ {
		b := line[i]
		bracket = bracket || b == '['
		control = control || b < ' ' && b != 0
	}
	if bracket {
		line = dropColours(line)
	}
	if !control {
		return line
	}
	c.buf = c.buf[:0]
	for i := 0; i < len(line); i++ {
		if b := line[i]; b >= ' ' || b == 0 {
			c.buf = append(c.buf, b)
		}
	}
	if n := len(c.buf); n == 0 || !mayHoldStatus(string(c.buf[:1])+string(c.buf[n-1:])) {
		return ""
	}
	return string(c.buf)
}

// dropColours is re.sub(r"\[(\d+)m", "", line).
func dropColours(line string) string {
	var b strings.Builder
	kept := 0
	for i := 0; i < len(line); {
		open := strings.IndexByte(line[i:], '[')
		if open < 0 {
			break
		}
		open += i
		end := open + 1
		for end < len(line) {
			n := digitAt(line, end)
			if n == 0 {
				break
			}
			end += n
		}
		if end == open+1 || end == len(line) || line[end] != 'm' {
			i = open + 1
			continue
		}
		if kept == 0 {
			b.Grow(len(line))
		}
		b.WriteString(line[kept:open])
		kept, i = end+1, end+1
	}
	if kept == 0 {
		return line
	}
	b.WriteString(line[kept:])
	return b.String()
}

// parseSeaborn reads "FAILED test", "PASSED test" and "test PASSED …".
func parseSeaborn(log string, out *Statuses) {
	for line := range lines(log) {
		failed := strings.HasPrefix(line, Failed)
		if !failed && !strings.Contains(line, Passed) {
			continue
		}
		first, rest := field(line)
		second, _ := field(rest)
		switch {
		case second == "":
		case failed:
			out.Set(second, Failed)
		case strings.Contains(line, " "+Passed+" "):
			if second == Passed {
				out.Set(first, Passed)
			}
		case strings.HasPrefix(line, Passed):
			out.Set(second, Passed)
		}
	}
}

// parseSympy reads the titles of failure reports and the lines of the verbose run. The last test of a
// file is printed as "test_x ok  [OK]" and not recorded: the official parser wants "ok" at the end.
func parseSympy(log string, out *Statuses) {
	for line := range lines(log) {
		if name, ok := sympyTitle(line); ok {
			out.Set(name, Failed)
		}
	}
	for line := range lines(log) {
		if line == "" || line[0] != 't' && line[0] > ' ' && line[0] < 0x80 {
			continue
		}
		line = strip(line)
		if !strings.HasPrefix(line, "test_") {
			continue
		}
		test, _ := field(line)
		switch {
		case strings.HasSuffix(line, " E"):
			out.Set(test, Errored)
		case strings.HasSuffix(line, " F"):
			out.Set(test, Failed)
		case strings.HasSuffix(line, " ok"):
			out.Set(test, Passed)
		}
	}
}

// sympyTitle is `(_*) (.*)\.py:(.*) (_*)` on one line: from after the first space to the last, around
// the last ".py:" that lies between them.
func sympyTitle(line string) (string, bool) {
	if !strings.Contains(line, ".py:") {
		return "", false
	}
	first, last := strings.IndexByte(line, ' '), strings.LastIndexByte(line, ' ')
	if last <= first {
		return "", false
	}
	body := line[first+1 : last]
	return body, strings.Contains(body, ".py:")
}

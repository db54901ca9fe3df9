package testlog

import (
	"regexp"
	"strings"
)

// suiteLine is a pattern whose first group is a name, and what a match says of it.
type suiteLine struct {
	re     *regexp.Regexp
	status string
}

// failures sets every name that a pattern finds in the whole text to FAILED: runners that list failures
// only.
func failures(log string, out *Statuses, group1 int, re *regexp.Regexp, name func(string) string) {
	for _, m := range re.FindAllStringSubmatchIndex(log, -1) {
		out.Set(name(group(log, m, group1)), Failed)
	}
}

func asIs(s string) string { return s }

var bpmnLines = []struct {
	re    *regexp.Regexp
	group int
}{
	{pattern(`2KPhantomJS\s[\d\.]+\s\(Linux\s[\d\.]+\)\s(.*)FAILED\n`), 1},
	{pattern(`2KPhantomJS\s[\d\.]+\s\(Linux\sx86_64\)\s(.*)FAILED\n`), 1},
	{pattern(`Chrome\sHeadless\s(.*)\s\(Linux\sx86_64\)\s(.*)FAILED\n`), 2},
	{pattern(`HeadlessChrome\s[\d\.]+\s\(Linux\s[\d\.]+\)\s(.*)FAILED\n`), 1},
}

func parseBPMN(log string, out *Statuses) {
	for _, l := range bpmnLines {
		failures(log, out, l.group, l.re, asIs)
	}
}

var openLayersLines = []*regexp.Regexp{
	pattern(`Chrome\sHeadless\s[\d\.]+\s\(Linux\s\S+\)\s(.*)\sFAILED\n`),
	pattern(`Chrome\s[\d\.]+\s\(Linux\s\S+\)\s(.*)FAILED\n`),
	pattern(`(?m)^\s{2}\d+\)((?s:.*?))Error:`),
	pattern(`(?m)^case\s(.*):\smismatch`),
}

func parseOpenLayers(log string, out *Statuses) {
	for _, re := range openLayersLines {
		failures(log, out, 1, re, collapse)
	}
}

// blank is white space other than line ends: [^\S\r\n] in Python's terms.
const blank = `[\t\v\f\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`

var chartLine = pattern(`(?m)Chrome\s[\d\.]+` + blank + `\(.+?\)` + blank + `(.*)FAILED$`)

func parseChartJS(log string, out *Statuses) { failures(dropANSI(log), out, 1, chartLine, asIs) }

var eslintFailure = pattern(`(\s{2}\d+\))((?s:.*?))\s+(?:(.*)Error)`)

func parseESLint(log string, out *Statuses) { failures(log, out, 2, eslintFailure, collapse) }

var karmaLine = pattern(`^(\s*)?([✔✖])?\s(.*)$`)

// parseKarma follows the indentation of karma's listing to tell equal names in different suites apart.
// Where the indentation falls below the first suite's, the official parser fails; here that is the top.
func parseKarma(log string, out *Statuses) {
	level, started := -1, false
	var suite []string
	for line := range lines(log) {
		switch {
		case strings.HasPrefix(line, "SUMMARY:"):
			return
		case strings.Contains(line, "Starting browser"):
			started = true
			continue
		case !started:
			continue
		}
		m := karmaLine.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		margin, mark, name := group(line, m, 1), group(line, m, 2), group(line, m, 3)
		if mark != "" {
			status := Failed
			if mark == "✔" {
				status = Passed
			}
			out.Set(strings.Join(append(suite[:len(suite):len(suite)], name), " > "), status)
			continue
		}
		if margin == "" {
			continue
		}
		switch n := indent(margin); {
		case n > level:
			level, suite = n, append(suite, name)
		case n < level:
			level = n
			if len(suite) > 0 {
				suite = suite[:len(suite)-1]
			}
		}
	}
}

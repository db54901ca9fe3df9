package testlog

import (
	"strings"
)

// suites is the path of titles above a line, by indentation.
type suites struct {
	titles  []string
	indents []int
}

// enter takes a title in, leaving the suites that are not outside of it.
func (s *suites) enter(title string, indent int) {
	n := len(s.titles)
	for n > 0 && s.indents[n-1] >= indent {
		n--
	}
	s.titles, s.indents = append(s.titles[:n], title), append(s.indents[:n], indent)
}

// name joins the path and a test.
func (s *suites) name(test string) string {
	return strings.Join(append(s.titles[:len(s.titles):len(s.titles)], test), " - ")
}

// titled enters a line that is indented.
func (s *suites) titled(line string) {
	if n := indent(line); n > 0 {
		s.enter(strip(line), n)
	}
}

var (
	calypsoTiming = pattern(`\(\d+ms\)`)
	calypsoTimed  = pattern(`^\s+[✓✕]\s(.*)\(\d+ms\)$`)
	calypsoPlain  = pattern(`^\s+[✓✕]\s(.*)`)
)

// parseCalypso reads the listings of the jest commands that the shell traced. A marked line of another
// form, on which the official parser fails, is passed over.
func parseCalypso(log string, out *Statuses) {
	var path suites
	runs := strings.Split(log, " ./node_modules/.bin/jest ")
	for _, run := range runs[1:] {
		for line := range lines(run) {
			if strings.HasPrefix(line, "Test Suites") || strings.HasPrefix(line, "  ● ") {
				break
			}
			text := strip(line)
			status := ""
			switch {
			case strings.HasPrefix(text, "✓"):
				status = Passed
			case strings.HasPrefix(text, "✕"):
				status = Failed
			default:
				path.titled(line)
				continue
			}
			re := calypsoPlain
			if calypsoTiming.MatchString(line) {
				re = calypsoTimed
			}
			if m := re.FindStringSubmatchIndex(line); m != nil {
				out.Set(strip(strings.Join(path.titles, " - ")+" - "+group(line, m, 1)), status)
			}
		}
	}
}

var (
	nextAssertion = pattern(`AssertionError:\s+#((?s:.*?))\n\n`)
	nextSuite     = pattern(`Running:(.*)\)\n{3}\s{2}(.*)\n`)
	nextFailure   = pattern(`(?m)^\s{4}\d+\)\s(.*)`)
	nextSuccess   = pattern(`(?m)^\s{4}✓\s(.*)\(`)
)

// parseNext chooses by version: Cypress since 1.27, karma before.
func parseNext(log string, sub Subject, out *Statuses) error {
	if sub.Version == "1.27" {
		parseNextCypress(log, out)
	} else {
		parseNextKarma(log, out)
	}
	return nil
}

func parseNextKarma(log string, out *Statuses) {
	var path suites
	log = nextAssertion.ReplaceAllString(dropANSI(log), "")
	runs := strings.Split(log, " xvfb-run ")
	for _, run := range runs[1:] {
		if i := strings.LastIndex(run, "Starting browser Chrome"); i >= 0 {
			run = run[i+len("Starting browser Chrome"):]
		}
		for line := range lines(run) {
			if strings.HasPrefix(line, "TOTAL") {
				break
			}
			if nextNoise(strip(line)) {
				continue
			}
			if _, test, ok := strings.Cut(line, "✗"); ok {
				out.Set(path.name(lstrip(test)), Failed)
			} else if _, test, ok := strings.Cut(line, "✓"); ok {
				out.Set(path.name(lstrip(test)), Passed)
			} else {
				path.titled(line)
			}
		}
	}
}

func nextNoise(line string) bool {
	for _, p := range [...]string{"ERROR", "LOG", "WARN", "Check", "in"} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}

func parseNextCypress(log string, out *Statuses) {
	found := nextSuite.FindAllStringSubmatchIndex(log, -1)
	for i, m := range found {
		end := len(log)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		part, suite := log[m[1]:end], group(log, m, 2)
		for _, f := range nextFailure.FindAllStringSubmatchIndex(part, -1) {
			out.Set(suite+": "+strip(group(part, f, 1)), Failed)
		}
		for _, s := range nextSuccess.FindAllStringSubmatchIndex(part, -1) {
			out.Set(suite+": "+strip(group(part, s, 1)), Passed)
		}
	}
}

var (
	highlightSummary = pattern(`\n[ \t]*\d+ passing`)
	highlightTiming  = pattern(`\(\d+ms\)`)
	highlightFailed  = pattern(`^\d+\)`)
)

// parseHighlight reads mocha's listing up to its summary; of the suites it keeps the innermost title.
func parseHighlight(log string, out *Statuses) {
	if m := highlightSummary.FindStringIndex(log); m != nil {
		log = log[:m[0]]
	}
	suite := ""
	set := func(name, status string) {
		name = strip(highlightTiming.ReplaceAllString(name, ""))
		out.Set(suite+name, status)
	}
	for line := range lines(log) {
		text := strip(line)
		switch {
		case strings.HasPrefix(text, "✓"):
			_, name, _ := strings.Cut(line, "✓")
			set(name, Passed)
		case strings.HasPrefix(text, "✔"):
			_, name, _ := strings.Cut(line, "✔")
			set(name, Passed)
		case highlightFailed.MatchString(text):
			_, name, _ := strings.Cut(line, ")")
			set(name, Failed)
		case strings.HasPrefix(line, "  "):
			suite = text + "."
		}
	}
}

package testlog

import "strings"

var jestLine = pattern(`^\s*(✓|✕|○)\s(.+?)(?:\s\((\d+\s*m?s)\))?$`)

// parseJest reads jest --verbose. Release 4.1.0 kept the space around a name.
func parseJest(log string, v4 bool, out *Statuses) {
	for line := range lines(log) {
		if !strings.ContainsAny(line, "✓✕○") {
			continue
		}
		line = strip(line)
		m := jestLine.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		name := group(line, m, 2)
		if !v4 {
			name = strip(name)
		}
		out.Set(name, jestVerdicts[group(line, m, 1)])
	}
}

var jestVerdicts = verdicts{"✓": Passed, "✕": Failed, "○": Skipped}

var jestJSONLine = pattern(`^\[(PASSED|FAILED)\]\s(.+)$`)

// parseJestJSON reads jest's JSON report after a filter made lines "[PASSED] name" of it.
func parseJestJSON(log string, out *Statuses) {
	linewise(log, out, "ED]", jestJSONLine, 1, 2, verdicts{Passed: Passed, Failed: Failed})
}

var vitestLine = pattern(`^\s*(✓|×|↓)\s(.+?)(?:\s(\d+\s*m?s?|\[skipped\]))?$`)

// parseVitest reads vitest --reporter=verbose.
func parseVitest(log string, out *Statuses) {
	for line := range lines(log) {
		if !strings.ContainsAny(line, "✓×↓") {
			continue
		}
		line = strip(line)
		if m := vitestLine.FindStringSubmatchIndex(line); m != nil {
			out.Set(group(line, m, 2), vitestVerdicts[group(line, m, 1)])
		}
	}
}

var vitestVerdicts = verdicts{"✓": Passed, "×": Failed, "↓": Skipped}

var tapLine = pattern(`^(ok|not ok) (\d+) (.+)$`)

// parseTAP reads "ok 1 name".
func parseTAP(log string, out *Statuses) {
	linewise(log, out, "ok ", tapLine, 1, 3, verdicts{"ok": Passed, "not ok": Failed})
}

var carbonDurations = []string{`ms\)`, `\ss\)`, `s\)`}

var carbonLines = func() []suiteLine {
	var all []suiteLine
	for _, w := range []struct{ word, status string }{{"PASS", Passed}, {"FAIL", Failed}} {
		for _, unit := range carbonDurations {
			all = append(all, suiteLine{pattern(`^` + w.word + `\s(.*)\s\([\d\.]+` + unit), w.status})
		}
		all = append(all, suiteLine{pattern(`^` + w.word + `\s(.*)`), w.status})
	}
	return all
}()

// parseCarbon reads jest's suite lines, "PASS path (1.5 s)".
func parseCarbon(log string, out *Statuses) {
	for line := range lines(log) {
		if !strings.HasPrefix(line, "PASS") && !strings.HasPrefix(line, "FAIL") {
			continue
		}
		for _, l := range carbonLines {
			if m := l.re.FindStringSubmatchIndex(line); m != nil {
				out.Set(group(line, m, 1), l.status)
				break
			}
		}
	}
}

var (
	grommetFail   = pattern(`(?m)^FAIL\s(.*)`)
	grommetPass   = pattern(`(?m)^PASS\s(.*)`)
	grommetTiming = pattern(`\s\([\d\.]+\s?(?:ms|s)\)$`)
)

// parseGrommet reads suite lines over the whole text, failures first.
func parseGrommet(log string, out *Statuses) {
	for _, l := range []suiteLine{{grommetFail, Failed}, {grommetPass, Passed}} {
		for _, m := range l.re.FindAllStringSubmatchIndex(log, -1) {
			out.Set(grommetTiming.ReplaceAllString(strip(group(log, m, 1)), ""), l.status)
		}
	}
}

var markedLine = pattern(`^\d+\)\s(.*)`)

// parseMarked reads jasmine's numbered failures; passing tests are not listed.
func parseMarked(log string, out *Statuses) {
	for line := range lines(log) {
		if !strings.Contains(line, ")") {
			continue
		}
		if m := markedLine.FindStringSubmatchIndex(line); m != nil {
			out.Set(strip(group(line, m, 1)), Failed)
		}
	}
}

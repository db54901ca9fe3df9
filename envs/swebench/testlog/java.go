package testlog

import "strings"

var (
	mavenTest   = pattern(`^.*-Dtest=(\S+).*$`)
	mavenResult = pattern(`^.*BUILD (SUCCESS|FAILURE)$`)
)

// parseMaven pairs the commands that the shell traces with Maven's build results, first to first:
// Maven prints nothing about a test that passed. Release 4.1.0 took the last command before a result.
func parseMaven(log string, v4 bool, out *Statuses) {
	const noTest = "---NO TEST NAME FOUND YET---" // 4.1.0's name for a result before any command
	var tests, results []string
	current := noTest
	for line := range lines(log) {
		line = strip(line)
		if strings.Contains(line, "-Dtest=") {
			if m := mavenTest.FindStringSubmatchIndex(line); m != nil {
				current = group(line, m, 1)
				tests = append(tests, current)
			}
		}
		if !strings.Contains(line, "BUILD ") {
			continue
		}
		m := mavenResult.FindStringSubmatchIndex(line)
		switch {
		case m == nil:
		case v4:
			out.Set(current, mavenVerdicts[group(line, m, 1)])
		case len(tests) > 0:
			out.Set(tests[0], mavenVerdicts[group(line, m, 1)])
			tests = tests[1:]
		default:
			results = append(results, mavenVerdicts[group(line, m, 1)])
		}
	}
	if v4 {
		return
	}
	for i := range min(len(tests), len(results)) {
		out.Set(tests[i], results[i])
	}
}

var mavenVerdicts = verdicts{"SUCCESS": Passed, "FAILURE": Failed}

var antLine = pattern(`^\s*\[junit\]\s+\[(PASS|FAIL|ERR)\]\s+(.*)$`)

// parseAnt reads "[junit] [PASS] name".
func parseAnt(log string, out *Statuses) {
	linewise(log, out, "[junit]", antLine, 1, 2, verdicts{"PASS": Passed, "FAIL": Failed, "ERR": Failed})
}

var (
	gradleFull   = pattern(`^([^>].+)\s+(PASSED|FAILED)$`)
	gradleNoWord = pattern(`^([^>]\S*\s+>\s+\S+)$`)
)

// parseGradle reads "Class > method PASSED". The status may stand alone on a later line, where other
// output came between.
func parseGradle(log string, v4 bool, out *Statuses) {
	pending := ""
	for line := range lines(log) {
		line = strip(line)
		word := ""
		switch {
		case strings.HasSuffix(line, Passed):
			word = Passed
		case strings.HasSuffix(line, Failed):
			word = Failed
		}
		if word != "" && line != word {
			if m := gradleFull.FindStringSubmatchIndex(line); m != nil {
				out.Set(group(line, m, 1), word)
				pending = ""
				continue
			}
		}
		switch {
		case v4:
		case line == word && word != "":
			if pending != "" {
				out.Set(pending, word)
				pending = ""
			}
		case strings.Contains(line, ">"):
			if m := gradleNoWord.FindStringSubmatchIndex(line); m != nil {
				pending = group(line, m, 1)
			}
		}
	}
}

package testlog

import "strings"

// parseGoTest reads go test's "--- PASS: name (0.00s)", subtests included.
func parseGoTest(log string, out *Statuses) {
	for line := range lines(log) {
		if !strings.Contains(line, "--- ") {
			continue
		}
		line, ok := strings.CutPrefix(strip(line), "--- ")
		if !ok || !strings.HasSuffix(line, ")") {
			continue
		}
		word, rest, ok := strings.Cut(line, ": ")
		status := goVerdicts[word]
		if !ok || status == "" {
			continue
		}
		if name, ok := beforeDuration(rest); ok {
			out.Set(name, status)
		}
	}
}

var goVerdicts = verdicts{"PASS": Passed, "FAIL": Failed, "SKIP": Skipped}

// beforeDuration is `(.+) \((.+)\)$` for a string that ends with ")": the name before the last " ("
// that leaves something on both sides.
func beforeDuration(s string) (string, bool) {
	end := len(s) - 1
	for {
		i := strings.LastIndex(s[:end], " (")
		switch {
		case i < 1:
			return "", false
		case i+2 < len(s)-1:
			return s[:i], true
		}
		end = i + 1
	}
}

var cargoLine = pattern(`^test\s+(\S+)\s+\.\.\.\s+(\w+)$`)

// parseCargo reads cargo test's "test name ... ok".
func parseCargo(log string, out *Statuses) {
	linewise(log, out, "...", cargoLine, 2, 1, verdicts{"ok": Passed, "FAILED": Failed})
}

var (
	redisLine = pattern(`^\[(ok|err|skip|ignore)\]:\s(.+?)(?:\s\((\d+\s*m?s)\))?$`)
	redisFile = pattern(`\s+in\s+\S+$`)
)

// parseRedis reads "[ok]: name (3 ms)"; a failed test's name ends with the file that it is in.
func parseRedis(log string, out *Statuses) {
	for line := range lines(log) {
		if !strings.Contains(line, "]:") {
			continue
		}
		line = strip(line)
		m := redisLine.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		name := group(line, m, 2)
		switch group(line, m, 1) {
		case "ok":
			out.Set(name, Passed)
		case "err":
			out.Set(redisFile.ReplaceAllString(name, ""), Failed)
		default:
			out.Set(name, Skipped)
		}
	}
}

var jqLine = pattern(`^\s*(PASS|FAIL):\s(.+)$`)

// parseJQ reads automake's "PASS: tests/x".
func parseJQ(log string, out *Statuses) {
	linewise(log, out, ":", jqLine, 1, 2, verdicts{"PASS": Passed, "FAIL": Failed})
}

var microPythonLine = pattern(`^(pass|FAIL|skip)\s+(.+)$`)

// parseMicroPython reads "pass  basics/x.py".
func parseMicroPython(log string, out *Statuses) {
	linewise(log, out, "", microPythonLine, 1, 2, verdicts{"pass": Passed, "FAIL": Failed, "skip": Skipped})
}

var googleTestLine = pattern(`^.*\[\s*(OK|FAILED)\s*\]\s(.*)\s\(.*\)$`)

// parseGoogleTest reads "[       OK ] suite.test (0 ms)".
func parseGoogleTest(log string, out *Statuses) {
	linewise(log, out, "[", googleTestLine, 1, 2, verdicts{"OK": Passed, "FAILED": Failed})
}

package testlog

import (
	"fmt"
	"strings"
)

var (
	phpSuite = pattern(`^(\w.+) \(.+\)$`)
	phpTest  = pattern(`^\s*([✔✘↩])\s*(.*)$`)
)

// parsePHPUnit reads the --testdox listing: suite lines "Name (Class)" and marked tests below them.
func parsePHPUnit(log string, out *Statuses) {
	suite := "None" // what a test before any suite is listed under
	for line := range lines(log) {
		if strings.HasSuffix(line, ")") {
			if m := phpSuite.FindStringSubmatchIndex(line); m != nil {
				suite = group(line, m, 1)
				continue
			}
		}
		if !strings.ContainsAny(line, "✔✘↩") {
			continue
		}
		if m := phpTest.FindStringSubmatchIndex(line); m != nil {
			out.Set(suite+" > "+group(line, m, 2), phpVerdicts[group(line, m, 1)])
		}
	}
}

var phpVerdicts = verdicts{"✔": Passed, "✘": Failed, "↩": Skipped}

var minitestLine = pattern(`^(.+)\. .*=.*(\.|F|E).*$`)

// parseMinitest reads "Class#test_x. = 0.01 s = .".
func parseMinitest(log string, out *Statuses) {
	linewise(log, out, "=", minitestLine, 2, 1, verdicts{".": Passed, "F": Failed, "E": Failed})
}

var cucumberLine = pattern(`^(.*) \.+(\.|F)`)

// parseCucumber reads the progress format: a name and a row of dots that may end with F.
func parseCucumber(log string, out *Statuses) {
	linewise(log, out, " .", cucumberLine, 2, 1, verdicts{".": Passed, "F": Failed})
}

// The letters are followed by \b in the original: by nothing, or by no word character.
var rubyUnitLine = pattern(`^\s*(?:test: )?(.+):\s+(?:(\.)|([EFO])(?:$|[^\p{L}\p{N}_]))`)

// parseRubyUnit reads test-unit's verbose "test: name:	.: (0.001)".
func parseRubyUnit(log string, out *Statuses) {
	for line := range lines(log) {
		if !strings.Contains(line, ":") {
			continue
		}
		line = strip(line)
		m := rubyUnitLine.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		status := Passed
		switch group(line, m, 3) {
		case "E", "F":
			status = Failed
		case "O":
			status = Skipped
		}
		out.Set(group(line, m, 1), status)
	}
}

var rspecLine = pattern(`^(.+) - (passed|failed)`)

// parseRSpec reads RSpec's JSON report after a filter made lines "name - passed" of it.
func parseRSpec(log string, out *Statuses) {
	linewise(log, out, " - ", rspecLine, 2, 1, verdicts{"passed": Passed, "failed": Failed})
}

// byPullRequest picks the parser of repositories that changed their runner.
type byPullRequest map[string]func(log string, v4 bool, out *Statuses)

func (p byPullRequest) parse(number, log string, sub Subject, out *Statuses) error {
	parse, ok := p[number]
	if !ok {
		return fmt.Errorf("instance %q: no runner is known for this pull request", sub.InstanceID)
	}
	parse(log, sub.v4(), out)
	return nil
}

func unruled(f func(string, *Statuses)) func(string, bool, *Statuses) {
	return func(log string, _ bool, out *Statuses) { f(log, out) }
}

var jekyllRunners = byPullRequest{
	"9141": unruled(parseMinitest), "8047": unruled(parseMinitest), "8167": unruled(parseMinitest),
	"8761": unruled(parseCucumber), "8771": unruled(parseCucumber),
}

func parseJekyll(log string, sub Subject, out *Statuses) error {
	parts := strings.Split(sub.InstanceID, "-")
	if len(parts) < 2 {
		return fmt.Errorf("instance %q: no pull request in its name", sub.InstanceID)
	}
	return jekyllRunners.parse(parts[1], log, sub, out)
}

var immutableRunners = byPullRequest{"2006": parseJest, "2005": unruled(parseJestJSON)}

func parseImmutable(log string, sub Subject, out *Statuses) error {
	return immutableRunners.parse(sub.InstanceID[strings.LastIndexByte(sub.InstanceID, '-')+1:], log, sub, out)
}

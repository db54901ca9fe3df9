package testlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// parsePrism reads the JSON reports of the mocha commands that the shell traced.
func parsePrism(log string, _ Subject, out *Statuses) error {
	runs := strings.Split(log, "./node_modules/.bin/mocha tests/run.js --reporter json")
	for i, run := range runs[1:] {
		if _, after, ok := strings.Cut(run, "{"); ok {
			run = after
		}
		if end := strings.LastIndexByte(run, '}'); end >= 0 {
			run = run[:end]
		}
		var report struct{ Failures, Passes []struct{ FullTitle *string } }
		if err := json.Unmarshal([]byte("{"+run+"}"), &report); err != nil {
			return fmt.Errorf("read JSON report %d: %w", i+1, err)
		}
		if report.Failures == nil || report.Passes == nil {
			return fmt.Errorf("read JSON report %d: it lacks failures or passes", i+1)
		}
		for _, t := range report.Failures {
			if t.FullTitle == nil {
				return fmt.Errorf("read JSON report %d: a failure without fullTitle", i+1)
			}
			out.Set(*t.FullTitle, Failed)
		}
		for _, t := range report.Passes {
			if t.FullTitle == nil {
				return fmt.Errorf("read JSON report %d: a pass without fullTitle", i+1)
			}
			out.Set(*t.FullTitle, Passed)
		}
	}
	return nil
}

var lighthouseTitle = pattern(`"fullTitle":\s"(.*)",\n`)

// parseLighthouse chooses by version: mocha's listing, jest's suite lines, or mocha's JSON.
func parseLighthouse(log string, sub Subject, out *Statuses) error {
	switch sub.Version {
	case "9.5", "10.0", "10.2":
		parseLighthouseMocha(log, out)
		return nil
	}
	v, err := strconv.ParseFloat(strip(sub.Version), 64)
	if err != nil {
		return errors.New("version " + strconv.Quote(sub.Version) + " is not a number")
	}
	if v >= 3 {
		parseCarbon(log, out)
		return nil
	}
	runs := strings.Split(log, "./node_modules/.bin/mocha --reporter json")
	for _, run := range runs[1:] {
		titles(run, `"passes": [`, "]", Passed, out)
		titles(run, `"failures": [`, "],", Failed, out)
	}
	return nil
}

// titles reads the titles after the last opening and before the last closing of a list.
func titles(run, opening, closing, status string, out *Statuses) {
	if i := strings.LastIndex(run, opening); i >= 0 {
		run = run[i+len(opening):]
	}
	if i := strings.LastIndex(run, closing); i >= 0 {
		run = run[:i]
	}
	for _, m := range lighthouseTitle.FindAllStringSubmatchIndex(run, -1) {
		out.Set(group(run, m, 1), status)
	}
}

var (
	lighthouseRun   = pattern(`running\s\d+\stest\sfiles`)
	lighthouseEnd   = pattern(`\d+\spassing`)
	lighthouseLines = []suiteLine{
		{pattern(`^✔\s(.*)\s\(\d+m+s\)`), Passed},
		{pattern(`^✔\s(.*)`), Passed},
		{pattern(`^\d+\)\s(.*)\s\(\d+m+s\)`), Failed},
		{pattern(`^\d+\)\s(.*)`), Failed},
	}
)

func parseLighthouseMocha(log string, out *Statuses) {
	starts := lighthouseRun.FindAllStringIndex(log, -1)
	for i, at := range starts {
		end := len(log)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		run := log[at[1]:end]
		if m := lighthouseEnd.FindStringIndex(run); m != nil {
			run = run[:m[0]]
		}
		var path suites
		for line := range lines(strip(run)) {
			if name, status, ok := firstLine(lighthouseLines, strip(line)); ok {
				out.Set(path.name(name), status)
			} else {
				path.titled(line)
			}
		}
	}
}

func firstLine(all []suiteLine, text string) (name, status string, ok bool) {
	for _, l := range all {
		if m := l.re.FindStringSubmatchIndex(text); m != nil {
			return group(text, m, 1), l.status, true
		}
	}
	return "", "", false
}

var quartoTemporary = []*regexp.Regexp{pattern(`/tmp/(\w+)\.qmd`), pattern(`/tmp/(\w+)/`)}

// parseQuarto reads Deno's listing. Temporary names are numbered in the order in which they appear; a
// test without a result counts as failed.
func parseQuarto(log string, out *Statuses) {
	numbers := map[string]int{}
	for line := range lines(log) {
		if strings.Contains(line, "ERRORS") || strings.Contains(line, "failures:") {
			return
		}
		if !strings.Contains(line, "[smoke]") && !strings.Contains(line, "[unit]") {
			continue
		}
		for _, re := range quartoTemporary {
			name := re.FindString(line)
			if name == "" {
				continue
			}
			if _, ok := numbers[name]; !ok {
				numbers[name] = len(numbers)
			}
			line = re.ReplaceAllLiteralString(line, "/tmp/"+strconv.Itoa(numbers[name]))
		}
		if quartoNoise(line) {
			continue
		}
		test, _, _ := strings.Cut(line, "...")
		test = strip(test)
		_, known := out.Get(test)
		switch {
		case strings.Contains(line, "32mok"):
			out.Set(test, Passed)
		case strings.Contains(line, "31mFAILED") || !known:
			out.Set(test, Failed)
		}
	}
}

// quartoNoise recognises summaries and messages that name a test and give no result.
func quartoNoise(line string) bool {
	return strings.HasPrefix(line, "test result:") || strings.Contains(line, "34mINFO") ||
		strings.Contains(line, "passed") && strings.Contains(line, "failed") && strings.Contains(line, "steps")
}

package testlog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

type pair struct{ Name, Status string }

// parserCase is a log that shows a parser's rules, the odd ones too, and what the stated algorithm
// makes of it, in the order in which the tests appear.
type parserCase struct {
	name, parser string
	id, version  string
	log          string
	want         []pair
}

func allCases() []parserCase {
	return slices.Concat(pythonCases, jsCases, compiledCases, scriptingCases)
}

func pairs(s *testlog.Statuses) []pair {
	var all []pair
	for name, status := range s.All() {
		all = append(all, pair{name, status})
	}
	return all
}

func TestParsers(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, tt := range allCases() {
		covered[tt.parser] = true
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := testlog.Parse(tt.parser, tt.log, testlog.Subject{InstanceID: tt.id, Version: tt.version})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, pairs(got)); diff != "" {
				t.Errorf("statuses differ (-want +got):\n%s", diff)
			}
			if got.Len() != len(tt.want) || len(got.Map()) != len(tt.want) {
				t.Errorf("Len = %d, Map has %d, want %d", got.Len(), len(got.Map()), len(tt.want))
			}
		})
	}
	for _, name := range testlog.Names() {
		if !covered[name] {
			t.Errorf("no case for %s", name)
		}
	}
	if len(testlog.Names()) != 57 {
		t.Errorf("the registry has %d names, the official one 57", len(testlog.Names()))
	}
}

// What differs under 4.1.0: ids are cut at blanks, a skip summary is a test, Maven's results count for
// the last command before them, Gradle's must stand on one line, jest's names keep their blanks.
func TestParsersOfRelease4(t *testing.T) {
	t.Parallel()
	tests := []parserCase{
		{
			parser: "parse_log_pytest", log: "SKIPPED [2] a:3: x\nPASSED t::a\n",
			want: []pair{{"[2]", testlog.Skipped}, {"t::a", testlog.Passed}},
		},
		{
			parser: "parse_log_sphinx", log: "FAILED t::a[x y] - no\nt::b c PASSED\nSKIPPED [1] x\n",
			want: []pair{{"t::a[x", testlog.Failed}, {"t::b", "c"}, {"[1]", testlog.Skipped}},
		},
		{
			parser: "parse_log_maven", log: "BUILD SUCCESS\n-Dtest=A\n-Dtest=B\nBUILD FAILURE\nBUILD SUCCESS\n",
			want: []pair{{"---NO TEST NAME FOUND YET---", testlog.Passed}, {"B", testlog.Passed}},
		},
		{parser: "parse_log_gradle_custom", log: "a > b\nPASSED\nc > d FAILED\n", want: []pair{{"c > d", testlog.Failed}}},
		{parser: "parse_log_jest", log: "✓  a\n✓ b\n", want: []pair{{" a", testlog.Passed}, {"b", testlog.Passed}}},
	}
	for _, tt := range tests {
		got, err := testlog.Parse(tt.parser, tt.log, testlog.Subject{Release: testlog.V410})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, pairs(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.parser, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, parser, log string
		sub               testlog.Subject
		unknown           bool
		text              string
	}{
		{name: "unknown name", parser: "parse_log_x", unknown: true, text: `"parse_log_x"`},
		{name: "younger than the release", parser: "parse_log_eslint", sub: testlog.Subject{Release: testlog.V410}, unknown: true, text: "in release 4.1.0"},
		{name: "unknown pull request", parser: "parse_log_jekyll", sub: testlog.Subject{InstanceID: "jekyll__jekyll-1"}, text: "pull request"},
		{name: "no pull request", parser: "parse_log_jekyll", sub: testlog.Subject{InstanceID: "x"}, text: "no pull request"},
		{name: "unknown pull request", parser: "parse_log_immutable_js", text: "pull request"},
		{name: "no version", parser: "parse_log_lighthouse", text: `version ""`},
		{name: "open XML", parser: "parse_log_doctest", log: "<doctest><TestCase>", text: "does not end"},
		{name: "broken XML", parser: "parse_log_doctest", log: "<doctest><TestCase></doctest>", text: "XML"},
		{name: "no JSON", parser: "parse_log_prismjs", log: "./node_modules/.bin/mocha tests/run.js --reporter json", text: "JSON report 1: it lacks"},
		{name: "broken JSON", parser: "parse_log_prismjs", log: "./node_modules/.bin/mocha tests/run.js --reporter json {]}", text: "JSON report 1"},
		{
			name: "no title", parser: "parse_log_prismjs", text: "without fullTitle",
			log: `./node_modules/.bin/mocha tests/run.js --reporter json {"passes": [{}], "failures": []}`,
		},
	}
	for _, tt := range tests {
		_, err := testlog.Parse(tt.parser, tt.log, tt.sub)
		var parse *testlog.ParseError
		if err == nil || errors.Is(err, testlog.ErrUnknownParser) != tt.unknown || errors.As(err, &parse) == tt.unknown || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestParseRelease(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]testlog.Release{"": testlog.V502, "5.0.2": testlog.V502, "4.1.0": testlog.V410, "4.1": testlog.V410} {
		if got, err := testlog.ParseRelease(in); err != nil || got != want {
			t.Errorf("%q: %s, %v", in, got, err)
		}
	}
	if _, err := testlog.ParseRelease("6"); err == nil || !strings.Contains(err.Error(), "5.0.2 and 4.1.0") {
		t.Errorf("unknown release: %v", err)
	}
}

// A parser must read any text: in bounded time, without a panic, and into statuses that it knows.
func FuzzParse(f *testing.F) {
	for _, c := range allCases() {
		f.Add(c.parser, c.log, c.id, c.version, len(c.log)%2 == 0)
	}
	f.Fuzz(func(t *testing.T, parser, log, id, version string, old bool) {
		sub := testlog.Subject{InstanceID: id, Version: version}
		if old {
			sub.Release = testlog.V410
		}
		log = testlog.Decode([]byte(log))
		s, err := testlog.Parse(parser, log, sub)
		if err != nil {
			return
		}
		if s.Len() > len(log)+1 {
			t.Errorf("%d tests in %d bytes", s.Len(), len(log))
		}
		for name, status := range s.All() {
			if got, ok := s.Get(name); !ok || got != status || status == "" {
				t.Errorf("%q is %q, and %q when asked", name, status, got)
			}
		}
	})
}

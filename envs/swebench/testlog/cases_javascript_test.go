package testlog_test

import "github.com/hindsightrl/harness/envs/swebench/testlog"

// jsCases are the runners of JavaScript repositories.
var jsCases = []parserCase{
	{
		name: "jest", parser: "parse_log_jest",
		log: "  ✓ a (5 ms)\n  ✕ b c\n  ○ skipped d\n✓ e (x)\n  √ f\n✓  g (1 s)\n",
		want: []pair{
			{"a", testlog.Passed},
			{"b c", testlog.Failed},
			{"skipped d", testlog.Skipped},
			{"e (x)", testlog.Passed},
			{"g", testlog.Passed},
		},
	},
	{
		name: "jest json", parser: "parse_log_jest_json",
		log: `[PASSED] a > b
[FAILED] c
[SKIPPED] d
`,
		want: []pair{{"a > b", testlog.Passed}, {"c", testlog.Failed}},
	},
	{
		name: "vitest", parser: "parse_log_vitest",
		log: " ✓ a.ts > b 5ms\n × c > d\n ↓ e [skipped]\n ✓ f 12\n",
		want: []pair{
			{"a.ts > b", testlog.Passed},
			{"c > d", testlog.Failed},
			{"e", testlog.Skipped},
			{"f", testlog.Passed},
		},
	},
	{
		name: "karma", parser: "parse_log_karma",
		log: `x
INFO [launcher]: Starting browser Chrome
  suite
    inner
      ✔ one
      ✖ two
    other
      ✔ one
SUMMARY:
      ✔ not this
`,
		want: []pair{{"suite > inner > one", testlog.Passed}, {"suite > inner > two", testlog.Failed}},
	},
	{
		name: "tap", parser: "parse_log_tap",
		log: `TAP version 13
ok 1 a
not ok 2 b c
  ok 3 - d
ok four
`,
		want: []pair{{"a", testlog.Passed}, {"b c", testlog.Failed}, {"- d", testlog.Passed}},
	},
	{
		name: "immutable jest", parser: "parse_log_immutable_js", id: "immutable-js__immutable-js-2006",
		log:  "✓ a\n",
		want: []pair{{"a", testlog.Passed}},
	},
	{
		name: "immutable json", parser: "parse_log_immutable_js", id: "immutable-js__immutable-js-2005",
		log:  "[FAILED] a\n",
		want: []pair{{"a", testlog.Failed}},
	},
	{
		name: "calypso", parser: "parse_log_calypso",
		log: `+ ./node_modules/.bin/jest client
  suite
    inner
      ✓ one (5ms)
      ✕ two
      ✓ three (5ms) more
    other
      ✓ four
  ● details
      ✓ not this
`,
		want: []pair{{"suite - inner - one", testlog.Passed}, {"suite - inner - two", testlog.Failed}, {"suite - other - four", testlog.Passed}},
	},
	{
		name: "chart", parser: "parse_log_chart_js",
		log: "\x1b[31mChrome 9.1 (Linux x86_64) a b FAILED\x1b[0m\n" +
			"Chrome 9.1 (Linux) c FAILED \n" +
			"Chrome 9.1\n" +
			"(x) d FAILED\n",
		want: []pair{{"a b ", testlog.Failed}},
	},
	{
		name: "marked", parser: "parse_log_marked",
		log: `1) a b 
 2) c
3)d
`,
		want: []pair{{"a b", testlog.Failed}},
	},
	{
		name: "p5", parser: "parse_log_p5js",
		log: `{
  1) in json:
}
  1) p5.Color
       p5.prototype.red
         works:
<svg><g>
  2) in
       xml: </g></svg>
  3) flat
  not deeper:
`,
		want: []pair{{"p5.Color:p5.prototype.red:works", testlog.Failed}, {"flat:not deeper", testlog.Failed}},
	},
	{
		name: "react-pdf", parser: "parse_log_react_pdf",
		log: `PASS a.js (5ms)
PASS b.js (1.5 s)
FAIL c.js (2s)
FAIL d.js
 PASS e.js
`,
		want: []pair{
			{"a.js", testlog.Passed},
			{"b.js", testlog.Passed},
			{"c.js", testlog.Failed},
			{"d.js", testlog.Failed},
		},
	},
	{
		name: "carbon", parser: "parse_log_carbon",
		log: `PASS a.js (5 ms)
FAIL b (x) (2.1s)
`,
		want: []pair{{"a.js (5 ms)", testlog.Passed}, {"b (x)", testlog.Failed}},
	},
	{
		name: "bpmn", parser: "parse_log_bpmn_js",
		log: `2KPhantomJS 2.1.1 (Linux 0.0.0) a b FAILED
2KPhantomJS 2.1.1 (Linux x86_64) c FAILED
Chrome Headless 9.0 (Linux x86_64) d FAILED
HeadlessChrome 9.0 (Linux 0.0.0) e FAILED
f FAILED
`,
		want: []pair{
			{"a b ", testlog.Failed},
			{"c ", testlog.Failed},
			{"d ", testlog.Failed},
			{"e ", testlog.Failed},
		},
	},
	{
		name: "eslint", parser: "parse_log_eslint",
		log:  "  1) rule x\n     should y:\n\n     AssertionError: no\n  2) z\n   TypeError\n",
		want: []pair{{"rule x should y:", testlog.Failed}, {"z", testlog.Failed}},
	},
	{
		name: "grommet", parser: "parse_log_grommet",
		log:  "PASS a.js (5.1 s)\nFAIL b.js\nPASS b.js\nFAIL\tc.js (12ms)\n",
		want: []pair{{"b.js", testlog.Passed}, {"c.js", testlog.Failed}, {"a.js", testlog.Passed}},
	},
	{
		name: "highlight", parser: "parse_log_highlightjs",
		log:  "  suite\n    ✓ one (5ms)\n    ✔ two\n  other\n    1) three\n  3 passing (1s)\n    ✔ not this\n",
		want: []pair{{"suite.one", testlog.Passed}, {"suite.two", testlog.Passed}, {"other.three", testlog.Failed}},
	},
	{
		name: "lighthouse mocha", parser: "parse_log_lighthouse", version: "10.0",
		log: `running 3 test files
  suite
    inner
      ✔ one (12ms)
      ✔ two
      1) three
  2 passing
      ✔ not this
`,
		want: []pair{{"inner - one", testlog.Passed}, {"inner - two", testlog.Passed}, {"inner - three", testlog.Failed}},
	},
	{
		name: "lighthouse jest", parser: "parse_log_lighthouse", version: "3.1",
		log:  "PASS a.js (1.5 s)\n",
		want: []pair{{"a.js", testlog.Passed}},
	},
	{
		name: "lighthouse json", parser: "parse_log_lighthouse", version: "2.4",
		log: `+ ./node_modules/.bin/mocha --reporter json x
  "passes": [
    {
      "fullTitle": "a",
    }
  ],
  "failures": [
    {
      "fullTitle": "b",
    }
  ],
`,
		want: []pair{{"a", testlog.Passed}, {"b", testlog.Failed}},
	},
	{
		name: "next karma", parser: "parse_log_next", version: "1.25",
		log: `+ xvfb-run npm test
Starting browser Chrome
  suite
    ✓ one
    ✗ two
  LOG: x
TOTAL
    ✓ not this
`,
		want: []pair{{"suite - one", testlog.Passed}, {"suite - two", testlog.Failed}},
	},
	{
		name: "next cypress", parser: "parse_log_next", version: "1.27",
		log: `Running: a.js (1 of 2)


  suite one
    ✓ works (5ms)
    1) fails
Running: b.js (2 of 2)


  suite two
    ✓ works (5ms)
`,
		want: []pair{{"suite one: fails", testlog.Failed}, {"suite one: works", testlog.Passed}, {"suite two: works", testlog.Passed}},
	},
	{
		name: "openlayers", parser: "parse_log_openlayers",
		log: `Chrome Headless 9.0 (Linux x86_64) a  b FAILED
Chrome 9.0 (Linux x86_64) c FAILED

  1) d
     e Error: x
case f: mismatch
`,
		want: []pair{
			{"a b", testlog.Failed},
			{"c", testlog.Failed},
			{"d e", testlog.Failed},
			{"f", testlog.Failed},
		},
	},
	{
		name: "prism", parser: "parse_log_prismjs",
		log: `+ ./node_modules/.bin/mocha tests/run.js --reporter json
{"passes": [{"fullTitle": "a"}], "failures": [{"fullTitle": "b"}]}
done
`,
		want: []pair{{"b", testlog.Failed}, {"a", testlog.Passed}},
	},
	{
		name: "quarto", parser: "parse_log_quarto_cli",
		log: "[smoke] > a.qmd ... \x1b[0m\x1b[32mok\x1b[0m\n" +
			"[unit] > b ... \x1b[0m\x1b[31mFAILED\x1b[0m\n" +
			"[smoke] > /tmp/abc/x ... \x1b[32mok\n" +
			"[smoke] > /tmp/def.qmd ... \x1b[32mok\n" +
			"[unit] > c\n" +
			"[unit] 3 passed 1 failed steps\n" +
			"ERRORS\n" +
			"[unit] > d ... \x1b[32mok\n",
		want: []pair{
			{"[smoke] > a.qmd", testlog.Passed},
			{"[unit] > b", testlog.Failed},
			{"[smoke] > /tmp/0x", testlog.Passed},
			{"[smoke] > /tmp/1", testlog.Passed},
			{"[unit] > c", testlog.Failed},
		},
	},
}

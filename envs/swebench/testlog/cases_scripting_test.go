package testlog_test

import "github.com/hindsightrl/harness/envs/swebench/testlog"

// scriptingCases are the runners of PHP and Ruby repositories.
var scriptingCases = []parserCase{
	{
		name: "phpunit", parser: "parse_log_phpunit",
		log: " ✔ Orphan\nFoo Bar (Tests\\Foo)\n ✔ It works\n ✘ It breaks\n ↩ It waits\n",
		want: []pair{
			{"None > Orphan", testlog.Passed},
			{"Foo Bar > It works", testlog.Passed},
			{"Foo Bar > It breaks", testlog.Failed},
			{"Foo Bar > It waits", testlog.Skipped},
		},
	},
	{
		name: "minitest", parser: "parse_log_minitest",
		log: `TestA#test_one. = 0.01 s = .
TestA#test_two. = 0.01 s = F
TestA#test_three. = 1 s = E
TestA#test_four. = 1 s = S
`,
		want: []pair{{"TestA#test_one", testlog.Passed}, {"TestA#test_two", testlog.Failed}, {"TestA#test_three", testlog.Failed}},
	},
	{
		name: "cucumber", parser: "parse_log_cucumber",
		log: `features/a.feature ....F
features/b.feature ...
x .
`,
		want: []pair{{"features/a.feature", testlog.Failed}, {"features/b.feature", testlog.Passed}},
	},
	{
		name: "test-unit", parser: "parse_log_ruby_unit",
		log: "test: a b:\t.: (0.01)\nc:  F\nd: E: x\ne: O\nf: Failure\ng: Fé\n",
		want: []pair{
			{"a b", testlog.Passed},
			{"c", testlog.Failed},
			{"d", testlog.Failed},
			{"e", testlog.Skipped},
		},
	},
	{
		name: "rspec", parser: "parse_log_rspec_transformed_json",
		log: `a b - passed
c - failed
d - pending
e - failed - passed
`,
		want: []pair{{"a b", testlog.Passed}, {"c", testlog.Failed}, {"e - failed", testlog.Passed}},
	},
	{
		name: "jekyll minitest", parser: "parse_log_jekyll", id: "jekyll__jekyll-9141",
		log:  "T#a. = 0 s = .\n",
		want: []pair{{"T#a", testlog.Passed}},
	},
	{
		name: "jekyll cucumber", parser: "parse_log_jekyll", id: "jekyll__jekyll-8761",
		log:  "a.feature ..F\n",
		want: []pair{{"a.feature", testlog.Failed}},
	},
}

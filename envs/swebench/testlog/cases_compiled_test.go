package testlog_test

import "github.com/hindsightrl/harness/envs/swebench/testlog"

// compiledCases are the runners of C, C++, Go, Java and Rust repositories.
var compiledCases = []parserCase{
	{
		name: "go", parser: "parse_log_gotest",
		log: "=== RUN   TestA\n" +
			"--- PASS: TestA (0.00s)\n" +
			"    --- FAIL: TestA/sub_(x) (1.20s)\n" +
			"--- SKIP: TestB (0.00s)\n" +
			"--- PASS: TestC\n" +
			"--- PASS:  (0.1s)\n" +
			"--- PASS: Test D (x) (0.1s)\n" +
			"ok  \texample.com/x\t0.1s\n",
		want: []pair{
			{"TestA", testlog.Passed},
			{"TestA/sub_(x)", testlog.Failed},
			{"TestB", testlog.Skipped},
			{"Test D (x)", testlog.Passed},
		},
	},
	{
		name: "cargo", parser: "parse_log_cargo",
		log: `test a::b ... ok
test c ... FAILED
test d ... ignored
test e - should panic ... ok
   test f ... ok
`,
		want: []pair{{"a::b", testlog.Passed}, {"c", testlog.Failed}, {"f", testlog.Passed}},
	},
	{
		name: "maven", parser: "parse_log_maven",
		log: `+ mvn test -Dtest=A#one -q
[INFO] BUILD SUCCESS
+ mvn test -Dtest=A#two
+ mvn test -Dtest=A#three
[INFO] BUILD FAILURE
[INFO] BUILD SUCCESS
`,
		want: []pair{{"A#one", testlog.Passed}, {"A#two", testlog.Failed}, {"A#three", testlog.Passed}},
	},
	{
		name: "maven result first", parser: "parse_log_maven",
		log: `BUILD FAILURE
+ mvn -Dtest=A
+ mvn -Dtest=B
`,
		want: []pair{{"A", testlog.Failed}},
	},
	{
		name: "ant", parser: "parse_log_ant",
		log:  "    [junit] [PASS] a b\n[junit]  [ERR] c\n[junit] [FAIL] d\n[junit] e\n",
		want: []pair{{"a b", testlog.Passed}, {"c", testlog.Failed}, {"d", testlog.Failed}},
	},
	{
		name: "gradle", parser: "parse_log_gradle_custom",
		log: `com.x.T > a PASSED
com.x.T > b() FAILED
com.x.T > c
warning: something
PASSED
> Task :test FAILED
FAILED
`,
		want: []pair{{"com.x.T > a", testlog.Passed}, {"com.x.T > b()", testlog.Failed}, {"com.x.T > c", testlog.Passed}},
	},
	{
		name: "redis", parser: "parse_log_redis",
		log: `[ok]: a b (12 ms)
[err]: c in tests/x.tcl
[skip]: d
[ignore]: e
[ok]: f
[exception]: g
`,
		want: []pair{
			{"a b", testlog.Passed},
			{"c", testlog.Failed},
			{"d", testlog.Skipped},
			{"e", testlog.Skipped},
			{"f", testlog.Passed},
		},
	},
	{
		name: "jq", parser: "parse_log_jq",
		log: `PASS: tests/a
FAIL: tests/b c
XFAIL: d
`,
		want: []pair{{"tests/a", testlog.Passed}, {"tests/b c", testlog.Failed}},
	},
	{
		name: "doctest", parser: "parse_log_doctest",
		log: `noise
<doctest binary="x">
  <TestCase name="one"><SubCase name="a"><Expression success="true"/></SubCase>
  <SubCase name="b"><SubCase name="deep"><Expression success="false"></Expression></SubCase></SubCase></TestCase>
  <TestCase name="two"><SubCase/></TestCase>
</doctest>
trailer`,
		want: []pair{
			{"one > a", testlog.Passed},
			{"one > b", testlog.Failed},
			{"one > deep", testlog.Failed},
			{"two > None", testlog.Passed},
		},
	},
	{
		name: "micropython", parser: "parse_log_micropython_test",
		log: `pass  basics/a.py
FAIL  basics/b.py
skip  basics/c.py
other x
`,
		want: []pair{{"basics/a.py", testlog.Passed}, {"basics/b.py", testlog.Failed}, {"basics/c.py", testlog.Skipped}},
	},
	{
		name: "googletest", parser: "parse_log_googletest",
		log: `[       OK ] s.a (0 ms)
1: [  FAILED  ] s.b, where x = (1) (2 ms)
[  FAILED  ] s.c
`,
		want: []pair{{"s.a", testlog.Passed}, {"s.b, where x = (1)", testlog.Failed}},
	},
}

package testlog_test

import "github.com/hindsightrl/harness/envs/swebench/testlog"

// pythonCases are the runners of Python repositories.
var pythonCases = []parserCase{
	{
		name: "pytest", parser: "parse_log_pytest",
		log: "============ short test summary info ============\n" +
			"PASSED a/test_x.py::test_one\n" +
			"PASSED a/test_x.py::test_two[a b]\n" +
			"FAILED a/test_x.py::test_three - assert 1 == 2\n" +
			"SKIPPED [2] a/test_x.py:3: no reason\n" +
			"XFAIL a/test_x.py::test_four\n" +
			"ERROR: not found: /testbed/none.py\n" +
			"ERROR a/test_y.py - ImportError\n" +
			"PASSED [100%]\n" +
			"PASSED a/test_x.py::test_five\u00a0nbsp\n" +
			"FAILED\n" +
			"FAILED a/test_x.py::test_one\n",
		want: []pair{
			{"a/test_x.py::test_one", testlog.Failed},
			{"a/test_x.py::test_two[a", testlog.Passed},
			{"a/test_x.py::test_three", testlog.Failed},
			{"a/test_x.py::test_four", testlog.XFailed},
			{"not", "ERROR:"},
			{"a/test_y.py", testlog.Errored},
			{"[100%]", testlog.Passed},
			{"a/test_x.py::test_five", testlog.Passed},
		},
	},
	{
		name: "pytest skip summary of another digit", parser: "parse_log_astroid",
		log: `SKIPPED [٣] x
SKIPPED [1x] y
`,
		want: []pair{{"[1x]", testlog.Skipped}},
	},
	{
		name: "pytest options", parser: "parse_log_requests",
		log: `PASSED t.py::test_a[/home/x/file]
PASSED t.py::test_b[//host/x]
PASSED t.py::test_c[/x/*]
PASSED t.py::test_d[a/b]
FAILED t.py::test_e[x]tail - msg
PASSED t.py::test_f
`,
		want: []pair{
			{"t.py::test_a[/file]", testlog.Passed},
			{"t.py::test_b[//host/x]", testlog.Passed},
			{"t.py::test_c[/x/*]", testlog.Passed},
			{"t.py::test_d[a/b]", testlog.Passed},
			{"t.py::test_e[x]", testlog.Failed},
			{"t.py::test_f", testlog.Passed},
		},
	},
	{
		name: "pytest v2", parser: "parse_log_sphinx",
		log: "\x1b[32mPASSED\x1b[0m tests/t.py::\x1b[1mtest_a[x y]\x1b[0m\n" +
			"FAILED tests/t.py::test_b[1 - 2] - AssertionError: no - really\n" +
			"tests/t.py::test_c  PASSED\n" +
			"tests/t.py::test d FAILED\n" +
			"SKIPPED [1] tests/t.py:3: why\n" +
			"PAS\tSED tests/t.py::test_e\n" +
			"PASSED tests/t.py::test[f]g[12m]\n" +
			"ERROR\n" +
			"x ERROR: no\n",
		want: []pair{
			{"tests/t.py::test_a[x y]", testlog.Passed},
			{"tests/t.py::test_b[1", testlog.Failed},
			{"tests/t.py::test_c", testlog.Passed},
			{"tests/t.py::test d", testlog.Failed},
			{"tests/t.py::test_e", testlog.Passed},
			{"tests/t.py::test[f]g]", testlog.Passed},
		},
	},
	{
		name: "matplotlib", parser: "parse_log_matplotlib",
		log: `PASSED t.py::test[MouseButton.LEFT]
FAILED t.py::test[MouseButton.RIGHT] - x
`,
		want: []pair{{"t.py::test[1]", testlog.Passed}, {"t.py::test[3]", testlog.Failed}},
	},
	{
		name: "seaborn", parser: "parse_log_seaborn",
		log: `FAILED tests/t.py::test_a - x
tests/t.py::test_b PASSED [ 10%]
PASSED tests/t.py::test_c
x y PASSED z
FAILED
`,
		want: []pair{{"tests/t.py::test_a", testlog.Failed}, {"tests/t.py::test_b", testlog.Passed}, {"tests/t.py::test_c", testlog.Passed}},
	},
	{
		name: "sympy", parser: "parse_log_sympy",
		log: `________________ sympy/core/tests/test_a.py:test_broken ________________
test_one ok
test_two F
test_three E
test_last ok   [OK]
test_skipped s
  test_indented ok
a b.py:c
`,
		want: []pair{
			{"sympy/core/tests/test_a.py:test_broken", testlog.Failed},
			{"test_one", testlog.Passed},
			{"test_two", testlog.Failed},
			{"test_three", testlog.Errored},
			{"test_indented", testlog.Passed},
		},
	},
	{
		name: "django", parser: "parse_log_django",
		log: `Testing against Django installed in '/testbed/django'
test_a (x.tests.T) ... ok
test_b (x.tests.T) ...  OK
test_c (x.tests.T) ... FAIL
test_d (x.tests.T) ... ERROR
test_e (x.tests.T) ... skipped 'no reason'
test_f (x.tests.T) ... some output
more output
ok
FAIL: test_g (x.tests.T)
ERROR: test_h (x.tests.T)
FAIL:
ERROR:
test_i (x.tests.T) ... Testing against Django installed in '/x' with 2 (0 silenced).
ok
test_j (x.tests.T) ... Internal Server Error: /a/b/
ok
test_k (x.tests.T) ... System check identified no issues (0 silenced)
ok
--version is equivalent to version ... yes
Applying sites.0002_alter_domain_unique...test_no_migrations (x.T) ... ok
`,
		want: []pair{
			{"test_a (x.tests.T)", testlog.Passed},
			{"test_b (x.tests.T)", testlog.Passed},
			{"test_c (x.tests.T)", testlog.Failed},
			{"test_d (x.tests.T)", testlog.Errored},
			{"test_e (x.tests.T)", testlog.Skipped},
			{"test_f (x.tests.T)", testlog.Passed},
			{"test_g", testlog.Failed},
			{"test_h", testlog.Errored},
			{"test_i (x.tests.T)", testlog.Passed},
			{"test_j (x.tests.T)", testlog.Passed},
			{"test_k (x.tests.T)", testlog.Passed},
			{"--version is equivalent to version", testlog.Passed},
			{"test_no_migrations (x.T)", testlog.Passed},
		},
	},
	{
		name: "django title on two lines", parser: "parse_log_django",
		log: `test_a (x)
... Internal Server Error: /a/
ok
test_b ...
System check identified no issues (0 silenced)
ok`,
		want: []pair{{"test_a (x)", testlog.Passed}, {"test_b", testlog.Passed}},
	},
	{
		name: "django nothing follows ok", parser: "parse_log_django",
		log: `test_a ... Internal Server Error: /a/
okay
`,
		want: []pair{{"test_a", testlog.Passed}},
	},
	{
		name: "flask", parser: "parse_log_flask",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "marshmallow", parser: "parse_log_marshmallow",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "pvlib", parser: "parse_log_pvlib",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "pyvista", parser: "parse_log_pyvista",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "sqlfluff", parser: "parse_log_sqlfluff",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "xarray", parser: "parse_log_xarray",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "pytest_options", parser: "parse_log_pytest_options",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "pydicom", parser: "parse_log_pydicom",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "pylint", parser: "parse_log_pylint",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "pytest_v2", parser: "parse_log_pytest_v2",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b c]", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "astropy", parser: "parse_log_astropy",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b c]", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
	{
		name: "scikit", parser: "parse_log_scikit",
		log: `PASSED t.py::test[/a/b c]
FAILED t.py::x - y
`,
		want: []pair{{"t.py::test[/a/b c]", testlog.Passed}, {"t.py::x", testlog.Failed}},
	},
}

package grade_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

const (
	start = "+ : '>>>>> Start Test Output'\n"
	end   = "+ : '>>>>> End Test Output'\n"
)

func spec() grade.Spec {
	return grade.Spec{
		InstanceID: "o__r-1", Parser: "parse_log_pytest",
		FailToPass: []string{"t::fix", "t::fix2"}, PassToPass: []string{"t::keep"},
	}
}

func run(body string) string { return "setup\n" + start + body + end + "reset\n" }

// all is a log in which everything passes.
const all = "PASSED t::fix\nPASSED t::fix2\nPASSED t::keep\n"

func TestVerdicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		log      string
		v5, v4   grade.Resolution // "" is not found
		f5       [2]int           // lengths of the lists of tests to fix
		p5       [2]int
		f4       [2]int
		reason   grade.Reason
		evalType grade.EvalType
	}{
		{name: "all pass", log: run(all), v5: grade.Full, v4: grade.Full, f5: [2]int{2, 0}, p5: [2]int{1, 0}, f4: [2]int{2, 0}},
		{
			name: "an expected failure passes", log: run(strings.Replace(all, "PASSED t::fix\n", "XFAIL t::fix\n", 1)),
			v5: grade.Full, v4: grade.Full, f5: [2]int{2, 0}, p5: [2]int{1, 0}, f4: [2]int{2, 0},
		},
		{
			name: "one fixed, all kept", log: run("PASSED t::fix\nFAILED t::fix2\nPASSED t::keep\n"),
			v5: grade.Partial, v4: grade.Partial, f5: [2]int{1, 1}, p5: [2]int{1, 0}, f4: [2]int{1, 1},
		},
		{
			name: "one fixed, one broken", log: run("PASSED t::fix\nERROR t::fix2\nFAILED t::keep\n"),
			v5: grade.No, v4: grade.No, f5: [2]int{1, 1}, p5: [2]int{0, 1}, f4: [2]int{1, 1},
		},
		{
			name: "none fixed", log: run("FAILED t::fix\nPASSED t::keep\n"),
			v5: grade.No, v4: grade.No, f5: [2]int{0, 2}, p5: [2]int{1, 0}, f4: [2]int{0, 2},
		},
		{
			name: "skipping is no fix, and 4.1.0 does not look", log: run("SKIPPED t::fix\nSKIPPED t::fix2\nPASSED t::keep\n"),
			v5: grade.No, v4: grade.Full, f5: [2]int{0, 2}, p5: [2]int{1, 0}, f4: [2]int{0, 0},
		},
		{
			name: "skipping breaks nothing", log: run("PASSED t::fix\nPASSED t::fix2\nSKIPPED t::keep\n"),
			v5: grade.Full, v4: grade.Full, f5: [2]int{2, 0}, p5: [2]int{1, 0}, f4: [2]int{2, 0},
		},
		{
			name: "a status of no meaning is in neither list", log: run("ERROR: t::fix\nPASSED t::fix2\nPASSED t::keep\n"),
			v5: grade.Full, v4: grade.Full, f5: [2]int{1, 0}, p5: [2]int{1, 0}, f4: [2]int{1, 0},
		},
		{
			name: "only failures are listed", log: run("FAILED t::fix\n"), evalType: grade.FailOnly,
			v5: grade.Partial, v4: grade.Partial, f5: [2]int{1, 1}, p5: [2]int{1, 0}, f4: [2]int{1, 1},
		},
		{
			name: "results outside of the markers", log: "PASSED t::fix\n" + run("nothing\n") + "PASSED t::fix2\nPASSED t::keep\n",
			v5: grade.Full, v4: grade.Full, f5: [2]int{2, 0}, p5: [2]int{1, 0}, f4: [2]int{2, 0},
		},
		{
			name: "results outside do not count beside results inside", log: all + run("FAILED t::fix\n"),
			v5: grade.No, v4: grade.No, f5: [2]int{0, 2}, p5: [2]int{0, 1}, f4: [2]int{0, 2},
		},
		{
			name: "a second start ends the output", log: start + "PASSED t::fix\n" + start + all + end,
			v5: grade.No, v4: grade.No, f5: [2]int{1, 1}, p5: [2]int{0, 1}, f4: [2]int{1, 1},
		},
		{
			name: "the end may come before", log: end + start + all,
			v5: grade.Full, v4: grade.Full, f5: [2]int{2, 0}, p5: [2]int{1, 0}, f4: [2]int{2, 0},
		},
		{name: "no end", log: start + all, reason: grade.ReasonNoMarkers, f5: [2]int{0, 2}, p5: [2]int{0, 1}, f4: [2]int{0, 2}},
		{name: "no start", log: all + end, reason: grade.ReasonNoMarkers, f5: [2]int{0, 2}, p5: [2]int{0, 1}, f4: [2]int{0, 2}},
		{name: "empty", log: "", reason: grade.ReasonNoMarkers, f5: [2]int{0, 2}, p5: [2]int{0, 1}, f4: [2]int{0, 2}},
		{
			name: "a test prints a marker that voids", log: run(all + ">>>>> Tests Timed Out\n"),
			reason: grade.ReasonVoided, f5: [2]int{0, 2}, p5: [2]int{0, 1}, f4: [2]int{0, 2},
		},
		{
			name: "nothing ran", log: run("ImportError\n"), v4: grade.No,
			reason: grade.ReasonNoRun, f5: [2]int{0, 2}, p5: [2]int{0, 1}, f4: [2]int{0, 2},
		},
		{
			name: "nothing was read, but a suite ran", log: run("Executed 3 of 3 SUCCESS\n"), evalType: grade.FailOnly,
			v5: grade.Full, v4: grade.Full, f5: [2]int{2, 0}, p5: [2]int{1, 0}, f4: [2]int{2, 0},
		},
		{
			name: "all pass and the command failed", log: run(all) + ">>>>> Test Exit Code: 1\n", v4: grade.Full,
			reason: grade.ReasonExitCode, f5: [2]int{0, 2}, p5: [2]int{0, 1}, f4: [2]int{2, 0},
		},
		{
			name: "a failure explains the exit code", log: run(all+"FAILED t::other\n") + ">>>>> Test Exit Code: 1\n",
			v5: grade.Full, v4: grade.Full, f5: [2]int{2, 0}, p5: [2]int{1, 0}, f4: [2]int{2, 0},
		},
		{
			name: "exit code 0", log: run(all) + ">>>>> Test Exit Code:\n 00\n>>>>> Test Exit Code: 1\n",
			v5: grade.Full, v4: grade.Full, f5: [2]int{2, 0}, p5: [2]int{1, 0}, f4: [2]int{2, 0},
		},
		{
			name: "exit code 0 in digits of another script", log: run(all) + ">>>>> Test Exit Code: -\u0660\U0001d7d8\n",
			v5: grade.Full, v4: grade.Full, f5: [2]int{2, 0}, p5: [2]int{1, 0}, f4: [2]int{2, 0},
		},
		{
			name: "the first exit code that is one counts", log: run(all) + ">>>>> Test Exit Code: x\n>>>>> Test Exit Code: -1\n", v4: grade.Full,
			reason: grade.ReasonExitCode, f5: [2]int{0, 2}, p5: [2]int{0, 1}, f4: [2]int{2, 0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := spec()
			s.EvalType = tt.evalType
			v5 := mustLog(t, s, tt.log, grade.Options{})
			if !v5.Found && tt.evalType == "" || v5.Found {
				check(t, "5.0.2", v5, tt.v5, tt.f5)
			}
			if got := [2]int{len(v5.Tests.PassToPass.Success), len(v5.Tests.PassToPass.Failure)}; got != tt.p5 {
				t.Errorf("tests to keep: %v, want %v", got, tt.p5)
			}
			if v5.Reason != tt.reason {
				t.Errorf("reason %q (%s), want %q", v5.Reason, v5.Detail, tt.reason)
			}
			check(t, "4.1.0", mustLog(t, s, tt.log, grade.Options{Release: testlog.V410}), tt.v4, tt.f4)
		})
	}
}

func mustLog(t *testing.T, s grade.Spec, log string, opt grade.Options) grade.Result {
	t.Helper()
	r, err := grade.Log(s, log, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func check(t *testing.T, release string, r grade.Result, want grade.Resolution, fix [2]int) {
	t.Helper()
	if r.Status != want || r.Found != (want != "") || r.Resolved() != (want == grade.Full) {
		t.Errorf("%s: status %q, found %v, resolved %v, want %q", release, r.Status, r.Found, r.Resolved(), want)
	}
	if got := [2]int{len(r.Tests.FailToPass.Success), len(r.Tests.FailToPass.Failure)}; got != fix {
		t.Errorf("%s: tests to fix: %v, want %v", release, got, fix)
	}
}

func TestTruncatedIDs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, id, log string
		fixed, kept   bool
	}{
		{"one match", "t::a[x", "PASSED t::a[xy]\n", true, true},
		{"all pass, one as expected failure", "t::a[x", "PASSED t::a[x1]\nXFAIL t::a[x2]\n", true, true},
		{"they differ", "t::a[x", "PASSED t::a[x1]\nFAILED t::a[x2]\n", false, false},
		{"none pass: the first one's status counts, skipped", "t::a[x", "SKIPPED t::a[x1]\nFAILED t::a[x2]\n", false, true},
		{"none pass: the first one's status counts, failed", "t::a[x", "FAILED t::a[x1]\nSKIPPED t::a[x2]\n", false, false},
		{"the exact id wins", "t::a[x", "FAILED t::a[x\nPASSED t::a[x1]\n", false, false},
		{"no open bracket", "t::a", "PASSED t::a1\n", false, false},
		{"balanced", "t::a[x]", "PASSED t::a[x]b\n", false, false},
		{"no match", "t::a[x", "PASSED t::b\n", false, false},
	}
	for _, tt := range tests {
		s := grade.Spec{InstanceID: "i", Parser: "parse_log_pytest", FailToPass: []string{tt.id}, PassToPass: []string{tt.id}}
		r := mustLog(t, s, run(tt.log), grade.Options{})
		if got := len(r.Tests.FailToPass.Success) == 1; got != tt.fixed {
			t.Errorf("%s: fixed is %v", tt.name, got)
		}
		if got := len(r.Tests.PassToPass.Success) == 1; got != tt.kept {
			t.Errorf("%s: kept is %v", tt.name, got)
		}
		if r4 := mustLog(t, s, run(tt.log), grade.Options{Release: testlog.V410}); len(r4.Tests.FailToPass.Success) != 0 {
			t.Errorf("%s: 4.1.0 forgives a truncated id", tt.name)
		}
	}
}

func TestFirstGeneration(t *testing.T) {
	t.Parallel()
	const applied = ">>>>> Applied Patch (pred)\n"
	tests := []struct {
		name, log string
		reason    grade.Reason
		status    grade.Resolution
	}{
		{"after the last marker", applied + "FAILED t::fix\n" + applied + all, "", grade.Full},
		{"what came before does not count", all + applied + "PASSED t::fix\n", "", grade.No},
		{"no results", applied + "nothing\n", "", grade.No},
		{"another applied patch", "applied PATCH\n" + all, "", grade.Full},
		{"no applied patch", all, grade.ReasonNoMarkers, ""},
		{"voided", applied + all + ">>>>> Tests Errored", grade.ReasonVoided, ""},
		{"reset failed", applied + all + "Failed to reset task environment", grade.ReasonReset, ""},
	}
	for _, tt := range tests {
		r := mustLog(t, spec(), tt.log, grade.Options{Format: grade.FormatApplied})
		if r.Reason != tt.reason || r.Status != tt.status {
			t.Errorf("%s: %q, %q (%s)", tt.name, r.Reason, r.Status, grade.Describe(r))
		}
	}
}

func TestSuiteRan(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"Executed 3 of 10": true, "Executed 0 of 0": false, "TOTAL: 5 SUCCESS": true, "TOTAL: 5 FAILED": true, "TOTAL: 05 FAILED": false,
		"  12 passing": true, "0 passing": false, "10 passing": true, "x passing": false, "Tests:  3 passed": true, "Tests: 0": false,
		"Test Suites: 1 failed, 2 skipped, 3 total": true, "Test Suites: 0 total": false, "Test Suites: 1 failed": false,
		"# tests 3": true, "x # tests 3": false, "3 specs, 0 failures": true, "1 spec, 1 failure": true, "0 specs, 0 failures": false,
		"3 specs": false, "case 'a': ok": true, "case 'a': okay": false, "nothing": false,
	}
	for text, want := range tests {
		r := mustLog(t, spec(), run(text+"\n"), grade.Options{})
		if r.Found != want {
			t.Errorf("%q: found is %v", text, r.Found)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text, reason string
		environment  bool
	}{
		{"Failed to launch chrome", "browser_launch_failed", true},
		{"x: unable to open X display", "display_unavailable", true},
		{"a\nKilled\nb", "out_of_memory", true},
		{"Killed by x", "", false},
		{"java.lang.OutOfMemoryError: heap", "out_of_memory", true},
		{"Error response from daemon: x", "container_unavailable", true},
		{"Could not resolve host: x\nno tests ran", "network_unreachable", true},
		{"ModuleNotFoundError: x", "missing_module", false},
		{"collected 0 items", "no_tests_collected", false},
		{"\n\nTimeout error: 1800 seconds exceeded.", "tests_timed_out", false},
		{"Timeout error: many seconds exceeded", "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		got := grade.Classify(tt.text)
		want := &grade.Infra{Reason: tt.reason, Environment: tt.environment}
		if tt.reason == "" {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestWhatCannotBeGraded(t *testing.T) {
	t.Parallel()
	s := spec()
	s.Parser = "parse_log_none"
	if _, err := grade.Log(s, run(all), grade.Options{}); err == nil || !strings.Contains(err.Error(), "o__r-1") {
		t.Errorf("unknown parser: %v", err)
	}
	if _, err := grade.Log(spec(), run(all), grade.Options{Format: "v9"}); err == nil {
		t.Error("an unknown format was graded")
	}
	s.Parser = "parse_log_doctest"
	r := mustLog(t, s, run("<doctest><x></doctest>"), grade.Options{})
	if r.Found || r.Reason != grade.ReasonNotParsed || !strings.Contains(r.Detail, "XML") {
		t.Errorf("a log of another form: %+v", r)
	}
	for _, bad := range []string{"v3", "x"} {
		if _, err := grade.ParseFormat(bad); err == nil {
			t.Errorf("format %q was taken", bad)
		}
		if _, err := grade.ParseEvalType(bad); err == nil {
			t.Errorf("type %q was taken", bad)
		}
	}
	if f, err := grade.ParseFormat(""); err != nil || f != grade.FormatMarkers {
		t.Errorf("default format: %v, %v", f, err)
	}
	if e, err := grade.ParseEvalType(""); err != nil || e != grade.PassAndFail {
		t.Errorf("default type: %v, %v", e, err)
	}
}

func FuzzLog(f *testing.F) {
	f.Add(run(all)+">>>>> Test Exit Code: 1", false, false)
	f.Add(">>>>> Applied Patch (pred)\n"+all, true, true)
	f.Add(">>>>>> Start Test Output>>>>> Start Test Output>>>>> End Test Output", true, false)
	f.Fuzz(func(t *testing.T, log string, old, first bool) {
		opt := grade.Options{}
		if old {
			opt.Release = testlog.V410
		}
		if first {
			opt.Format = grade.FormatApplied
		}
		s := spec()
		r, err := grade.Log(s, testlog.Decode([]byte(log)), opt)
		if err != nil {
			t.Fatal(err)
		}
		fix := len(r.Tests.FailToPass.Success) + len(r.Tests.FailToPass.Failure)
		switch {
		case r.Found == (r.Reason != ""), r.Found != (r.Status != ""), fix > len(s.FailToPass):
			t.Errorf("contradiction: %+v", r)
		case !r.Found && (r.Resolved() || r.Statuses.Len() > 0):
			t.Errorf("not found, yet %+v", r)
		}
		grade.Report("i", false, r, opt)
	})
}

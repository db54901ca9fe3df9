package grade

import (
	"errors"
	"strings"

	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

// Outcome lists a group of expected tests by how they came out, in the dataset's order. A test whose
// status is none that grading knows is in neither list.
type Outcome struct {
	Success []string
	Failure []string
}

func (o Outcome) total() int { return len(o.Success) + len(o.Failure) }

// Tests is how the expected tests came out.
type Tests struct {
	FailToPass Outcome
	PassToPass Outcome
}

// Resolution is the verdict's name.
type Resolution string

// The verdicts.
const (
	Full    Resolution = "RESOLVED_FULL"
	Partial Resolution = "RESOLVED_PARTIAL" // some of the tests to fix pass, and none broke
	No      Resolution = "RESOLVED_NO"
)

// Resolution applies the official rule. A group without tests counts as complete.
func (t Tests) Resolution() Resolution {
	f, p := t.FailToPass, t.PassToPass
	switch kept := len(p.Failure) == 0; {
	case kept && len(f.Failure) == 0:
		return Full
	case kept && len(f.Success) > 0:
		return Partial
	default:
		return No
	}
}

// verdict is what one test's status means for its group.
type verdict int8

const (
	neither verdict = iota
	success
	failure
)

func compare(spec Spec, statuses *testlog.Statuses, opt Options) Tests {
	c := comparison{statuses: statuses, v4: opt.v4()}
	mustPass, mustKeep := c.fixed, c.kept
	if spec.EvalType == FailOnly {
		mustPass, mustKeep = c.notFailed, c.notFailed
	}
	return Tests{FailToPass: sorted(spec.FailToPass, mustPass), PassToPass: sorted(spec.PassToPass, mustKeep)}
}

func sorted(tests []string, judge func(string) verdict) Outcome {
	o := Outcome{Success: make([]string, 0, len(tests))}
	for _, t := range tests {
		switch judge(t) {
		case success:
			o.Success = append(o.Success, t)
		case failure:
			o.Failure = append(o.Failure, t)
		case neither:
		}
	}
	return o
}

type comparison struct {
	statuses *testlog.Statuses
	v4       bool
}

// status finds a test's status. 5.0.2 forgives ids that the dataset cut inside a parameter
// ("test_x[log(photon"): if all tests that begin so agree on passing or not, the first one's counts.
func (c comparison) status(test string) (string, bool) {
	if s, ok := c.statuses.Get(test); ok || c.v4 || strings.Count(test, "[") <= strings.Count(test, "]") {
		return s, ok
	}
	first, found, passed := "", false, false
	for name, s := range c.statuses.All() {
		switch {
		case !strings.HasPrefix(name, test):
		case !found:
			first, found, passed = s, true, passes(s)
		case passes(s) != passed:
			return "", false
		}
	}
	return first, found
}

func passes(status string) bool { return status == testlog.Passed || status == testlog.XFailed }

// fixed judges a test that the patch must make pass. To skip it is no fix, except under 4.1.0, where it
// is in neither list.
func (c comparison) fixed(test string) verdict {
	s, ok := c.status(test)
	switch {
	case ok && passes(s):
		return success
	case !ok, s == testlog.Failed, s == testlog.Errored, s == testlog.Skipped && !c.v4:
		return failure
	}
	return neither
}

// kept judges a test that must go on passing. To skip it breaks nothing.
func (c comparison) kept(test string) verdict {
	if s, ok := c.status(test); ok && s == testlog.Skipped && !c.v4 {
		return success
	}
	return c.fixed(test)
}

func (c comparison) notFailed(test string) verdict {
	if s, ok := c.statuses.Get(test); ok && s == testlog.Failed {
		return failure
	}
	return success
}

func asParseError(err error, target **testlog.ParseError) bool { return errors.As(err, target) }

package grade

import (
	"fmt"
	"strings"

	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

// Reason says why a log describes no gradable run; "" where it does.
type Reason string

// The reasons.
const (
	ReasonVoided    Reason = "a marker says that the patch, the reset or the tests failed"
	ReasonNoMarkers Reason = "the markers around the test output are missing"
	ReasonNoRun     Reason = "no result was read and nothing shows that a suite ran"
	ReasonExitCode  Reason = "the tests ended with an error that no listed test explains"
	ReasonReset     Reason = "the task environment could not be reset"
	ReasonNotParsed Reason = "the runner's output has not the form that the parser reads"
)

// Result is what a log says.
type Result struct {
	Found    bool   // the log describes a run; the official report calls it patch_successfully_applied
	Reason   Reason // why not
	Detail   string // the marker, the exit code or the parser's message behind the reason
	Statuses *testlog.Statuses
	Tests    Tests
	Status   Resolution // "" where nothing was found
	Infra    *Infra     // 5.0.2: what in the log hints at a broken environment, where nothing was found
}

// Resolved reports whether every expected test came out as it should. Only that counts as solved.
func (r Result) Resolved() bool { return r.Status == Full }

// Log grades one log. Its text is as testlog.Decode makes it. An error means that the spec cannot be
// graded at all (an unknown parser or option); what is wrong with the log is in the Result.
func Log(spec Spec, log string, opt Options) (Result, error) {
	if opt.Release == "" {
		opt.Release = testlog.V502
	}
	if opt.Format == "" {
		opt.Format = FormatMarkers
	}
	g := grader{spec: spec, log: log, opt: opt, marks: findMarkers(log)}
	if err := g.read(); err != nil {
		return Result{}, fmt.Errorf("grade %s: %w", spec.InstanceID, err)
	}
	r := &g.res
	if !r.Found {
		r.Statuses = &testlog.Statuses{}
		if !opt.v4() {
			r.Infra = Classify(log)
		}
	}
	r.Tests = compare(spec, r.Statuses, opt)
	if r.Found {
		r.Status = r.Tests.Resolution()
	}
	return *r, nil
}

type grader struct {
	spec  Spec
	log   string
	opt   Options
	marks markers
	res   Result
}

func (g *grader) refuse(why Reason, detail string) error {
	g.res.Found, g.res.Reason, g.res.Detail = false, why, detail
	return nil
}

// read cuts the log and fills in the statuses.
func (g *grader) read() error {
	var output string
	switch g.opt.Format {
	case FormatApplied:
		if !g.firstGeneration() {
			return nil
		}
		output = g.log[max(g.marks.appliedPred, 0):]
	case FormatMarkers:
		switch {
		case g.marks.bad != "":
			return g.refuse(ReasonVoided, g.marks.bad)
		case g.marks.start < 0 || !g.marks.anyEnd:
			return g.refuse(ReasonNoMarkers, "")
		}
		output = g.marks.output(g.log)
	default:
		return fmt.Errorf("log format %q is unknown", g.opt.Format)
	}
	if err := g.parse(output); err != nil || g.res.Reason != "" {
		return err
	}
	g.res.Found = true
	if g.opt.Format == FormatApplied || g.opt.v4() {
		return nil
	}
	if g.res.Statuses.Len() == 0 && !suiteRan(g.log) {
		return g.refuse(ReasonNoRun, "")
	}
	if code := g.marks.exitCode; code != "" && !isZero(code) && g.res.Statuses.Len() > 0 && !anyFailure(g.res.Statuses) {
		return g.refuse(ReasonExitCode, code)
	}
	return nil
}

// firstGeneration checks what release 2.1.7 asked of a log.
func (g *grader) firstGeneration() bool {
	switch {
	case g.marks.bad != "":
		_ = g.refuse(ReasonVoided, g.marks.bad)
	case strings.Contains(g.log, resetTaskFailed):
		_ = g.refuse(ReasonReset, resetTaskFailed)
	case g.marks.appliedPred < 0 && !strings.Contains(strings.ToLower(g.log), "applied patch"):
		_ = g.refuse(ReasonNoMarkers, "")
	default:
		return true
	}
	return false
}

// parse reads the output, and the whole log where the output held nothing: streams may arrive out of
// order.
func (g *grader) parse(output string) error {
	sub := testlog.Subject{InstanceID: g.spec.InstanceID, Version: g.spec.Version, Release: g.opt.Release}
	texts := []string{output}
	if g.opt.Format == FormatMarkers {
		texts = append(texts, g.log)
	}
	for _, text := range texts {
		statuses, err := testlog.Parse(g.spec.Parser, text, sub)
		var broken *testlog.ParseError
		switch {
		case asParseError(err, &broken):
			return g.refuse(ReasonNotParsed, broken.Error())
		case err != nil:
			return err
		}
		g.res.Statuses = statuses
		if statuses.Len() > 0 {
			return nil
		}
	}
	return nil
}

func anyFailure(s *testlog.Statuses) bool {
	for _, status := range s.All() {
		if status == testlog.Failed || status == testlog.Errored {
			return true
		}
	}
	return false
}

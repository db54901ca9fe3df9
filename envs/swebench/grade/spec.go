package grade

import (
	"fmt"

	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

// Spec is what grading must know of an instance.
type Spec struct {
	InstanceID string
	Version    string   // of the repository, as the dataset writes it
	Parser     string   // name in testlog's registry
	EvalType   EvalType // "" is pass_and_fail
	FailToPass []string // tests that the fix must make pass
	PassToPass []string // tests that must go on passing
}

// EvalType says how a test that the log does not name counts.
type EvalType string

// The two ways.
const (
	PassAndFail EvalType = "pass_and_fail" // as failed: the runner lists every test
	FailOnly    EvalType = "fail_only"     // as passed: the runner lists failures only
)

// ParseEvalType reads a dataset's value; "" is pass_and_fail.
func ParseEvalType(s string) (EvalType, error) {
	switch t := EvalType(s); t {
	case "":
		return PassAndFail, nil
	case PassAndFail, FailOnly:
		return t, nil
	}
	return "", fmt.Errorf("evaluation type %q is neither %s nor %s", s, PassAndFail, FailOnly)
}

// Format says how the test output is cut out of a log.
type Format string

// The forms of logs.
const (
	// FormatMarkers is the current form: from the first start marker to the next end marker.
	FormatMarkers Format = "v2"
	// FormatApplied is the first generation's: everything after the last applied-patch marker.
	FormatApplied Format = "v1"
)

// ParseFormat reads a format's name; "" is the current one.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case "":
		return FormatMarkers, nil
	case FormatMarkers, FormatApplied:
		return f, nil
	}
	return "", fmt.Errorf("log format %q is neither %s nor %s", s, FormatApplied, FormatMarkers)
}

// Options choose whose semantics decide. The zero value is release 5.0.2 and the current format.
type Options struct {
	Release testlog.Release
	Format  Format
}

func (o Options) v4() bool { return o.Release == testlog.V410 }

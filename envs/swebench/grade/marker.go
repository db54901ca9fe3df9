package grade

import (
	"strings"
	"unicode"

	"github.com/hindsightrl/harness/internal/pystr"
)

// The lines by which the scripts and the harness structure a log.
const (
	MarkerApplyFailed  = ">>>>> Patch Apply Failed"
	MarkerApplied      = ">>>>> Applied Patch"
	MarkerResetFailed  = ">>>>> Reset Failed"
	MarkerTestsErrored = ">>>>> Tests Errored"
	MarkerTestsTimeout = ">>>>> Tests Timed Out"
	MarkerStart        = ">>>>> Start Test Output"
	MarkerEnd          = ">>>>> End Test Output"
	MarkerExitCode     = ">>>>> Test Exit Code"
)

const (
	markerPrefix      = ">>>>> "
	markerAppliedPred = ">>>>> Applied Patch (pred)" // first generation
	resetTaskFailed   = "Failed to reset task environment"
)

// markers is where the marker lines of a log are: byte offsets, -1 where there is none. One scan finds
// them all, for a log may be large.
type markers struct {
	bad         string // the first marker that voids the run
	start, end  int    // of the test output: after the first start marker, before the next marker of either kind
	anyEnd      bool   // there is an end marker somewhere
	appliedPred int    // after the last one
	exitCode    string // the number of the first exit-code marker, "" where there is none
}

func findMarkers(log string) markers {
	m := markers{start: -1, end: -1, appliedPred: -1}
	for at := 0; ; {
		i := strings.Index(log[at:], markerPrefix)
		if i < 0 {
			return m
		}
		at += i
		m.take(log, at)
		at++ // markers may overlap: ">>>>>> " holds one
	}
}

func (m *markers) take(log string, at int) {
	s := log[at:]
	switch {
	case strings.HasPrefix(s, MarkerStart):
		if m.start < 0 {
			m.start = at + len(MarkerStart)
		} else if m.end < 0 {
			m.end = at
		}
	case strings.HasPrefix(s, MarkerEnd):
		m.anyEnd = true
		if m.start >= 0 && m.end < 0 {
			m.end = at
		}
	case strings.HasPrefix(s, markerAppliedPred):
		m.appliedPred = at + len(markerAppliedPred)
	case strings.HasPrefix(s, MarkerExitCode):
		if m.exitCode == "" {
			m.exitCode = exitCode(s[len(MarkerExitCode):])
		}
	case m.bad == "":
		for _, b := range [...]string{MarkerApplyFailed, MarkerResetFailed, MarkerTestsErrored, MarkerTestsTimeout} {
			if strings.HasPrefix(s, b) {
				m.bad = b
			}
		}
	}
}

// output is the text between the markers; without a marker after the start, all that follows it.
func (m markers) output(log string) string {
	if m.end < 0 {
		return log[m.start:]
	}
	return log[m.start:m.end]
}

// exitCode reads `:\s*(-?\d+)`.
func exitCode(s string) string {
	s, ok := strings.CutPrefix(s, ":")
	if !ok {
		return ""
	}
	s = strings.TrimLeftFunc(s, pystr.IsSpace)
	digits := strings.TrimPrefix(s, "-")
	end := strings.IndexFunc(digits, func(r rune) bool { return !unicode.Is(unicode.Nd, r) })
	if end < 0 {
		end = len(digits)
	}
	if end == 0 {
		return ""
	}
	return s[:len(s)-len(digits)+end]
}

// isZero reports whether a number from exitCode is 0, in whatever script its digits are written.
func isZero(code string) bool {
	for _, r := range strings.TrimPrefix(code, "-") {
		if !zeroDigit(r) {
			return false
		}
	}
	return true
}

// zeroDigit reports whether r is a script's digit 0: digits come in runs of ten, from 0 on, and runs may
// touch.
func zeroDigit(r rune) bool {
	if r < unicode.MaxASCII {
		return r == '0'
	}
	before := 0
	for unicode.Is(unicode.Nd, r-rune(before)-1) {
		before++
	}
	return before%10 == 0
}

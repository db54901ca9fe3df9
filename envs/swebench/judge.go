package swebench

import (
	"context"
	"fmt"
	"strings"
)

// Judge evaluates a patch in a container of its own, as the official harness does.
type Judge interface {
	// Judge says what the instance's tests make of the patch, which is not empty. An error is the
	// environment's: a patch that does not apply, and tests that run out of time, are verdicts.
	Judge(ctx context.Context, in *Instance, patch string) (Judgement, error)
}

// Judgement is what an evaluation found.
type Judgement struct {
	Resolved   bool
	FailToPass Tally  // of the tests that the repair must make pass
	PassToPass Tally  // of the tests that it must not break
	Status     string // RESOLVED_FULL, RESOLVED_PARTIAL, RESOLVED_NO; "" where no test results were found
	Problem    string // why there are no test results: how the patch does not apply, a time-out; "" where there are
	Output     string // what the evaluation script printed, as text; bounded by its reader
	Report     string // the official report.json; "" where there is none
}

// Tally counts tests and names those that fail.
type Tally struct {
	Passed int
	Failed []string // in the dataset's order
}

func (t Tally) share() float64 {
	n := t.Passed + len(t.Failed)
	if n == 0 {
		return 1
	}
	return float64(t.Passed) / float64(n)
}

// Score is the share of tests that pass of those to repair, times that of those to keep, in [0, 1]. It is 1
// for a repair, and only then.
func (j Judgement) Score() float64 {
	switch {
	case j.Resolved:
		return 1
	case j.Status == "":
		return 0
	}
	return min(j.FailToPass.share()*j.PassToPass.share(), maxUnresolved)
}

// maxUnresolved bounds the score of what is no repair: a test whose status the graders put into no list
// may hide behind full shares.
const maxUnresolved = 0.99

// maxNamed bounds the failed tests that a summary names, maxShown the output that it shows.
const (
	maxNamed = 20
	maxShown = 8000
)

// Summary says in words what was found, for feedback and logs.
func (j Judgement) Summary() string {
	if j.Status == "" {
		return "The patch could not be evaluated: " + j.Problem
	}
	verdict := "does not resolve"
	if j.Resolved {
		verdict = "resolves"
	}
	f, p := j.FailToPass, j.PassToPass
	var b strings.Builder
	fmt.Fprintf(&b, "The patch %s the issue: %d of %d tests that had to be repaired pass, and %d of %d that had to stay.",
		verdict, f.Passed, f.Passed+len(f.Failed), p.Passed, p.Passed+len(p.Failed))
	nameFailed(&b, "Still failing", f.Failed)
	nameFailed(&b, "Broken", p.Failed)
	return b.String()
}

func nameFailed(b *strings.Builder, title string, names []string) {
	if len(names) == 0 {
		return
	}
	more := ""
	if len(names) > maxNamed {
		more = fmt.Sprintf(", and %d more", len(names)-maxNamed)
		names = names[:maxNamed]
	}
	fmt.Fprintf(b, "\n%s: %s%s", title, strings.Join(names, ", "), more)
}

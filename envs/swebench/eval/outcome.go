package eval

import (
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/grade"
)

// Kind says what became of a patch.
type Kind string

// The kinds. All but the last are the patch's own doing and stay as they are; an infrastructure failure
// says nothing of the patch, and is evaluated anew the next time.
const (
	Graded         Kind = "graded"         // the tests ran and their log was read
	EmptyPatch     Kind = "empty_patch"    // there is nothing to evaluate
	UnsafePatch    Kind = "unsafe_patch"   // it reaches for .git, or out of the repository
	LargePatch     Kind = "large_patch"    // it is above the bound
	NotApplied     Kind = "not_applied"    // no command of the chain could apply it
	TimedOut       Kind = "timed_out"      // the tests did not end in time
	LogTooLarge    Kind = "log_too_large"  // the tests printed more than can be graded
	DiskFull       Kind = "disk_full"      // the tests wrote more than a container may
	Infrastructure Kind = "infrastructure" // the machine failed
)

// Kinds lists the kinds in the order in which they are shown.
var Kinds = []Kind{Graded, EmptyPatch, UnsafePatch, LargePatch, NotApplied, TimedOut, LogTooLarge, DiskFull, Infrastructure}

// Outcome is what became of one patch in one run of its tests.
type Outcome struct {
	InstanceID string           `json:"instance_id"`
	Model      string           `json:"model_name_or_path"`
	Repeat     int              `json:"repeat"` // which run of the same tests; the first is 1
	Kind       Kind             `json:"kind"`
	Resolved   bool             `json:"resolved"`
	Status     grade.Resolution `json:"status,omitempty"` // "" where the log describes no run
	Detail     string           `json:"detail,omitempty"` // in a line: why it is not graded, or what the grade says

	ApplyFailure swebench.ApplyFailure `json:"apply_failure,omitempty"` // in which way it does not apply
	AppliedBy    string                `json:"applied_by,omitempty"`    // the command that applied it
	FailToPass   [2]int                `json:"fail_to_pass"`            // as they should be, and not
	PassToPass   [2]int                `json:"pass_to_pass"`
	Infra        *grade.Infra          `json:"infra,omitempty"`   // what in the log hints at a broken environment
	Remarks      []string              `json:"remarks,omitempty"` // what makes one look twice; it changes no verdict

	Image   string   `json:"image,omitempty"`
	ImageID string   `json:"image_id,omitempty"`
	Relaxed []string `json:"relaxed,omitempty"` // limits that were given up
	Tries   int      `json:"tries"`             // containers that it took
	Seconds float64  `json:"seconds"`           // of the tests
	Cached  bool     `json:"-"`                 // it was there already

	// Err is the cause of an infrastructure failure.
	Err error `json:"-"`
}

// Verdict is what the run report must know of an outcome.
func (o Outcome) Verdict() swebench.Verdict {
	v := swebench.Verdict{Completed: o.Kind == Graded, Resolved: o.Resolved, Infra: o.Infra}
	if o.Kind == Infrastructure {
		v.Infra = &grade.Infra{Reason: "container_unavailable", Environment: true}
	}
	return v
}

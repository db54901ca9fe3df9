package harness

import (
	"errors"
	"fmt"
)

// FailureKind says whose fault a failure is, which decides how it is retried.
type FailureKind string

// The kinds of failure.
const (
	FailEnv     FailureKind = "environment"  // the environment broke: the episode starts over in a fresh one
	FailServer  FailureKind = "model_server" // the model server did not answer properly: the call is repeated
	FailAgent   FailureKind = "agent"        // the agent's own configuration cannot work (a prompt template that does not render)
	FailBudget  FailureKind = "budget"       // a limit that the user set does not allow to go on
	FailHarness FailureKind = "harness"      // our own bug or our own machine (disk full, panic)
)

// Failure is a typed failure of an episode or an attempt. It is recorded and never becomes a reward.
type Failure struct { //nolint:errname // "failure" is the vocabulary: an error is what the environment itself broke with
	Kind      FailureKind
	Op        string // what was being done, e.g. "step 4"
	Retryable bool   // whether another try can help
	Err       error
}

// Error prints "kind: op: cause".
func (f *Failure) Error() string {
	return fmt.Sprintf("%s failure: %s: %v", f.Kind, f.Op, f.Err)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Fail wraps err as a retryable failure of the given kind; an error that already carries a Failure
// keeps it. Fail(…, nil) is nil.
func Fail(kind FailureKind, op string, err error) error {
	if err == nil {
		return nil
	}
	if f := (*Failure)(nil); errors.As(err, &f) {
		return err
	}
	return &Failure{Kind: kind, Op: op, Retryable: true, Err: err}
}

// FailFinal is Fail for failures that no retry can mend.
func FailFinal(kind FailureKind, op string, err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Kind: kind, Op: op, Err: err}
}

// KindOf returns the kind of the Failure inside err, and FailHarness for an error without one: what
// nobody typed is ours to mend.
func KindOf(err error) FailureKind {
	if f := (*Failure)(nil); errors.As(err, &f) {
		return f.Kind
	}
	return FailHarness
}

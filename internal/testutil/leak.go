package testutil

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// leakWait is how long goroutines may take to end after the last test. Its length costs nothing where
// none is left over, and a busy machine can take long to say that a connection or a process has ended.
const leakWait = time.Minute

// RunAndFindLeaks is for TestMain: it runs the tests, and reports goroutines that are left over, which
// goleak's own VerifyTestMain does too, after less than half a second. It returns the exit code.
func RunAndFindLeaks(m *testing.M, options ...goleak.Option) int {
	code := m.Run()
	if code != 0 {
		return code
	}
	if err := FindLeaks(leakWait, options...); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines leaked:", err)
		return 1
	}
	return 0
}

// FindLeaks returns what goleak finds, once it has not gone away for so long.
func FindLeaks(wait time.Duration, options ...goleak.Option) error {
	for until := time.Now().Add(wait); ; {
		err := goleak.Find(options...) // tries again for a while by itself
		if err == nil || time.Now().After(until) {
			return err
		}
	}
}

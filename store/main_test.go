package store

import (
	"fmt"
	"os"
	"testing"

	"github.com/hindsightrl/harness/internal/testutil"
)

// childEnv makes the test binary play another process instead of running tests.
const childEnv = "HARNESS_STORE_TEST_CHILD"

var children = map[string]func(args []string) error{
	"record": childRecord,
	"read":   childRead,
	"open":   childOpen,
}

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		if err := children[role](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testutil.RunAndFindLeaks(m))
}

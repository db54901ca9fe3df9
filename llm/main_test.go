package llm_test

import (
	"os"
	"testing"

	"github.com/hindsightrl/harness/internal/testutil"
)

// TestMain fails the package where a goroutine outlives its test.
func TestMain(m *testing.M) { os.Exit(testutil.RunAndFindLeaks(m)) }

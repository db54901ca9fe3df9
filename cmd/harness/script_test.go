package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hindsightrl/harness/internal/testutil"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"harness": main})
}

// TestScripts runs one transcript per behaviour of the command line. Scripts that need the reference
// data start with [!shared] skip.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			if dir, ok := testutil.SharedDir(); ok {
				env.Setenv("SHARED", dir)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "shared" {
				_, ok := testutil.SharedDir()
				return ok, nil
			}
			return false, os.ErrInvalid
		},
		RequireExplicitExec: true,
	})
}

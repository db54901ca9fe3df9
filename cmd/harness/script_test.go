package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hindsightrl/harness/envs/webshop/browser"
	"github.com/hindsightrl/harness/internal/testutil"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"harness": main})
}

// TestScripts runs one transcript per behaviour of the command line. Scripts that need the reference
// data start with [!shared] skip.
func TestScripts(t *testing.T) {
	t.Parallel()
	llama, noLlama := findGGUF(os.Getenv("HARNESS_LLAMA_LIB"))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			if dir, ok := testutil.SharedDir(); ok {
				env.Setenv("SHARED", dir)
				env.Setenv("STORIES", filepath.Join(dir, "data/models/stories260K.gguf"))
			}
			env.Setenv("LLAMA", llama)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			_, shared := testutil.SharedDir()
			switch cond {
			case "shared":
				return shared, nil
			case "browser":
				_, err := browser.Find("")
				return err == nil, nil
			case "gguf": // a model, and llama.cpp to run it: `harness model install`
				return shared && noLlama == nil, nil
			}
			return false, os.ErrInvalid
		},
		RequireExplicitExec: true,
	})
}

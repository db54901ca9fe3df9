// Package testutil finds what tests share: the reference data that lies beside a checkout and is
// never part of it.
package testutil

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Shared returns the path of a file or folder of the reference data and skips the test with a clear
// line where it is absent. The data is looked for in $HARNESS_SHARED, else in ../shared beside the
// repository.
func Shared(tb testing.TB, rel string) string {
	tb.Helper()
	path := filepath.Join(sharedRoot(), filepath.FromSlash(rel))
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("reference data %s is absent (set HARNESS_SHARED to the folder that holds data/, truth/ and vectors/)", path)
	}
	return path
}

func sharedRoot() string {
	if dir := os.Getenv("HARNESS_SHARED"); dir != "" {
		return dir
	}
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "shared"
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "shared")
}

// SharedDir returns the folder of the reference data, and whether it is there.
func SharedDir() (string, bool) {
	dir := sharedRoot()
	info, err := os.Stat(dir)
	return dir, err == nil && info.IsDir()
}

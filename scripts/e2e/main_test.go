package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module whose tests pass, fail, skip and do not compile is reported so.
func TestReport(t *testing.T) {
	files := map[string]string{
		"go.mod":         "module github.com/hindsightrl/harness\n\ngo 1.24\n",
		"a/a_test.go":    "package a\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n\nfunc TestIdle(t *testing.T) { t.Run(\"part\", func(t *testing.T) { t.Skip(\"no engine:\\nstart one\") }) }\n",
		"a/e2e_test.go":  "//go:build e2e\n\npackage a\n\nimport \"testing\"\n\nfunc TestHeavy(t *testing.T) {}\n\nfunc TestMute(t *testing.T) { t.SkipNow() }\n",
		"b/b_test.go":    "package b\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"broken in b\") }\n",
		"c/c_test.go":    "package c\n\nfunc broken() int { return nothing }\n",
		"d/none.go":      "package d\n",
		"e/main_test.go": "package e\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(3) }\n",
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	report := func(packages string) (string, error) {
		var out strings.Builder
		err := run(t.Context(), []string{packages}, &out)
		return out.String(), err
	}
	out, err := report("./...")
	if err == nil {
		t.Error("failures end well")
	}
	for _, want := range []string{
		"ok    a ", "FAIL  b TestBad ", "broken in b", "undefined: nothing", "FAIL  e ",
		"\n3 passed, ", " 2 skipped in ", "a TestIdle/part: a_test.go:7: no engine: start one\n", "a TestMute: it does not say why\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out, err := report("./a"); err != nil || !strings.Contains(out, "3 passed, 0 failed, 2 skipped") {
		t.Errorf("%v\n%s", err, out)
	}
}

package eval

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestUnsafePaths(t *testing.T) {
	t.Parallel()
	hunk := "@@ -1 +1 @@\n-a\n+b\n"
	tests := []struct{ name, patch, want string }{
		{"plain", "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n" + hunk, ""},
		{"like git's", "diff --git a/.gitignore b/.github/x\n--- a/.gitignore\n+++ b/.github/x\n" + hunk, ""},
		{"git's", "diff --git a/.git/hooks/x b/.git/hooks/x\nnew file mode 100755\n--- /dev/null\n+++ b/.git/hooks/x\n" + hunk, ".git/hooks/x"},
		{"a submodule's", "--- a/sub/.git/config\n+++ b/sub/.git/config\n" + hunk, "a/sub/.git/config"},
		{"in capitals, without git's header", "--- a/.GIT/config\n+++ b/.GIT/config\n" + hunk, "a/.GIT/config"},
		{"with a dot", "--- a/x\n+++ b/.git./config\n" + hunk, "b/.git./config"},
		{"behind a backslash", "--- a/x\n+++ b/y\\.git\\config\n" + hunk, `b/y\.git\config`},
		{"quoted", "--- a/x\n+++ \"b/\\056git/config\"\n" + hunk, "b/.git/config"},
		{"quoted, unreadable", "--- a/x\n+++ \"b/\\9\"\n" + hunk, `"b/\9"`},
		{"above", "--- a/../x\n+++ b/../x\n" + hunk, "a/../x"},
		{"absolute", "--- /etc/passwd\n+++ /etc/passwd\n" + hunk, "/etc/passwd"},
		{"with a date", "--- a/.git/x\t2020-01-01\n+++ b/y\n" + hunk, "a/.git/x"},
		{"renamed", "diff --git a/x b/x\nsimilarity index 100%\nrename from x\nrename to .git/x\n", ".git/x"},
		{"an empty file", "diff --git a/.git/x b/.git/x\nnew file mode 100644\nindex 0000000..e69de29\n", ".git/x"},
		{"a context diff", "*** a/.git/x\n--- a/.git/x\n***************\n", "a/.git/x"},
		{"an index line", "Index: .git/config\n", ".git/config"},
		{"text that looks like a header", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/.git/x\n-y\n+++ b/.git/x\n+y\n", ""},
		{"a header behind a hunk", "--- a/x\n+++ b/x\n" + hunk + "--- a/.git/x\n+++ b/.git/x\n" + hunk, "a/.git/x"},
		{"a header in a hunk that lies", "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/q b/q\n--- a/.git/x\n+++ b/.git/x\n" + hunk, ".git/x"},
		{"no newline at the end", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n--- a/.git/x\n", "a/.git/x"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		if got := unsafePath(tt.patch); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whatever stands in a hunk that keeps its counts, the file behind it is looked at.
func TestNoHunkHidesAFile(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	lines := []string{" x", "-y", "+z", "-- a/.git/q", "++ b/.git/q", "", `\ No newline at end of file`}
	for range 2000 {
		var body strings.Builder
		before, after := 0, 0
		for range rng.IntN(8) {
			line := lines[rng.IntN(len(lines))]
			body.WriteString(line + "\n")
			switch {
			case line == "" || line[0] == ' ':
				before++
				after++
			case line[0] == '-':
				before++
			case line[0] == '+':
				after++
			}
		}
		patch := "--- a/x\n+++ b/x\n@@ -1," + itoa(before) + " +1," + itoa(after) + " @@\n" + body.String() + "--- a/y\n+++ b/.git/y\n@@ -1 +1 @@\n-a\n+b\n"
		if got := unsafePath(patch); got != "b/.git/y" {
			t.Fatalf("seed %d: got %q of\n%s", seed, got, patch)
		}
	}
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

func FuzzUnsafePath(f *testing.F) {
	f.Add("--- a/.git/x\n+++ \"b/\\056git\"\n@@ -1,2 +1 @@\n-a\n")
	f.Add("diff --git \"a/x b/x\n*** \nIndex: \"\n")
	f.Fuzz(func(t *testing.T, patch string) {
		if got := unsafePath(patch); got != "" && !isUnsafe(got) && !strings.HasPrefix(got, `"`) {
			t.Errorf("%q is not unsafe", got)
		}
	})
}

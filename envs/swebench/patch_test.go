package swebench_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/swebench"
)

func TestNormalizePatch(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "a": "a\n", "a\n": "a\n", "a\r\n\n": "a\r\n\n", " \xff": " \xff\n"} {
		if got := swebench.NormalizePatch(in); got != want {
			t.Errorf("%q gives %q", in, got)
		}
	}
}

func TestPatchFiles(t *testing.T) {
	t.Parallel()
	type file struct {
		Old, New string
		Binary   bool
	}
	tests := []struct {
		name, patch string
		want        []file
	}{
		{"changed, added", testPatch, []file{{"tests/test_a.py", "tests/test_a.py", false}, {"", "tests/test_new.py", false}, {"", "tests/data.json", false}}},
		{"removed", "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", []file{{"x", "", false}}},
		{"renamed", "diff --git a/x y b/z\nsimilarity index 100%\nrename from x y\nrename to z\n", []file{{"x y", "z", false}}},
		{"copied", "diff --git a/x b/y\ncopy from x\ncopy to y\n", []file{{"x", "y", false}}},
		{"blanks", "diff --git a/x y b/x y\n--- a/x y\t\n+++ b/x y\t\n@@ -1 +1 @@\n-a\n+b\n", []file{{"x y", "x y", false}}},
		{"quoted", `diff --git "a/\303\251\t.py" "b/\303\251\t.py"` + "\n" + `--- "a/\303\251\t.py"` + "\n" + `+++ "b/\303\251\t.py"` + "\n", []file{{"é\t.py", "é\t.py", false}}},
		{"mode only", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", []file{{"x", "x", false}}},
		{"binary", "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZ\n\ndiff --git a/y b/y\nBinary files a/y and b/y differ\n", []file{{"x", "x", true}, {"y", "y", true}}},
		{"a header inside of a hunk", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-diff --git a/y b/y\n+ diff --git a/z b/z\n", []file{{"x", "x", false}}},
		{"text before", "Subject: x\n\ndiff --git a/x b/x\n", []file{{"x", "x", false}}},
		{"a hunk with file headers", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a/y\n+++ b/y\n", []file{{"x", "x", false}}},
		{"no prefixes", "diff --git x x\n--- x\n+++ x\n", []file{{"x", "x", false}}},
		{"line ends", "diff --git a/x b/x\r\nnew file mode 100644\r\n--- /dev/null\r\n+++ b/x\r\n", []file{{"", "x", false}}},
		{"nothing", "no diff\n", nil},
	}
	for _, tt := range tests {
		var got []file
		end := 0
		for _, f := range swebench.PatchFiles(tt.patch) {
			got = append(got, file{f.Old, f.New, f.Binary})
			if !strings.HasPrefix(tt.patch[f.Start:], "diff --git ") || end > 0 && f.Start != end {
				t.Errorf("%s: section %d to %d", tt.name, f.Start, f.End)
			}
			end = f.End
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got != nil && end != len(tt.patch) {
			t.Errorf("%s: the last section ends at %d of %d", tt.name, end, len(tt.patch))
		}
	}
}

func section(name, body string) string {
	return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n" + body
}

func TestBoundPatch(t *testing.T) {
	t.Parallel()
	limits := swebench.PatchLimits{Total: 1000, Lock: 200, Binary: 200, Artifact: 200}
	fix := section("src/a.py", "+"+strings.Repeat("x", 300)+"\n")
	flood := "+" + strings.Repeat("y", 900) + "\n"
	tests := []struct {
		name, patch, want string
		left              []string
	}{
		{"within limits", "preface\n" + fix, "preface\n" + fix, nil},
		{"a small lock file stays", fix + section("go.sum", "+a\n"), fix + section("go.sum", "+a\n"), nil},
		{"a flood is left out", "p\n" + section("web/package-lock.json", flood) + fix + section("node_modules/x/y.js", flood), "p\n" + fix, []string{"lock file", "artifact"}},
		{"a binary file", "diff --git a/x.png b/x.png\nGIT binary patch\n" + strings.Repeat("z", 900) + "\n" + fix, fix, []string{"binary file"}},
		{"compiled", section("a/__pycache__/x.pyc", flood) + fix, fix, []string{"artifact"}},
		{"everything", section("core", flood), "", []string{"artifact"}},
		{"empty", "", "", nil},
	}
	for _, tt := range tests {
		got, left, err := swebench.BoundPatch(tt.patch, limits)
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
		var whys []string
		for _, l := range left {
			whys = append(whys, l.Why)
			if l.Bytes < 900 || l.Path == "" {
				t.Errorf("%s: %+v", tt.name, l)
			}
		}
		if diff := cmp.Diff(tt.left, whys); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if _, _, err := swebench.BoundPatch(section("src/a.py", strings.Repeat(flood, 2)), limits); !errors.Is(err, swebench.ErrPatchTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, _, err := swebench.BoundPatch("x", swebench.PatchLimits{}); err == nil {
		t.Error("limits that allow nothing were taken")
	}
	huge := strings.Repeat(section("package-lock.json", flood), 100_000) + fix
	if got, left, err := swebench.BoundPatch(huge, swebench.DefaultPatchLimits); err == nil || len(left) != 0 || got != "" {
		t.Errorf("100 MB of small sections: %d left, %v", len(left), err)
	}
}

func FuzzPatch(f *testing.F) {
	f.Add(testPatch, 100)
	f.Add(`diff --git "a/\303" "b/\`, 1)
	f.Add("diff --git \ndiff --git a b/c\nGIT binary patch\n", 10)
	f.Fuzz(func(t *testing.T, patch string, limit int) {
		limit = max(limit, 0) % 1000
		covered := 0
		for _, file := range swebench.PatchFiles(patch) {
			if file.Start >= file.End || file.End > len(patch) {
				t.Fatalf("section %+v of %d bytes", file, len(patch))
			}
			covered += file.End - file.Start
		}
		limits := swebench.PatchLimits{Total: 1 << 20, Lock: limit, Binary: limit, Artifact: limit}
		got, left, err := swebench.BoundPatch(patch, limits)
		if err != nil {
			return
		}
		gone := 0
		for _, l := range left {
			gone += l.Bytes
		}
		if covered > len(patch) || len(got)+gone != len(patch) || gone == 0 && got != patch {
			t.Errorf("%d bytes kept, %d left out, of %d", len(got), gone, len(patch))
		}
	})
}

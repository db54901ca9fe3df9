package pathmatch

import (
	"errors"
	"testing"
)

func match(t *testing.T, pattern, path string) bool {
	t.Helper()
	p, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return p.Match(path)
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"*.go", "main.go", true},
		{"*.go", "cmd/main.go", false},
		{"m*n.*o", "main.go", true},
		{"m*n.*o", "main.god", false},
		{"?.txt", "é.txt", true},
		{"?.txt", "ab.txt", false},
		{`\*.txt`, "*.txt", true},
		{`\*.txt`, "a.txt", false},
	} {
		if got := match(t, c.pattern, c.path); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.path, got)
		}
	}
}

func TestBraces(t *testing.T) {
	for _, path := range []string{"a.c", "a.h", "a.cpp"} {
		if !match(t, "*.{c{,pp},h}", path) {
			t.Errorf("%q does not match", path)
		}
	}
	if match(t, "*.{c{,pp},h}", "a.hpp") {
		t.Error("a.hpp matches")
	}
	for _, pattern := range []string{"{a", "{a,{b}", `a\`} {
		if _, err := Compile(pattern); !errors.Is(err, ErrPattern) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestFolders(t *testing.T) {
	for _, path := range []string{"src/a/x.go", "src/a/b/c/x.go"} {
		t.Run(path, func(t *testing.T) {
			if !match(t, "src/**/x.go", path) {
				t.Error("no match")
			}
		})
	}
	if match(t, "src/**/x.go", "lib/a/x.go") {
		t.Error("another folder matches")
	}
}

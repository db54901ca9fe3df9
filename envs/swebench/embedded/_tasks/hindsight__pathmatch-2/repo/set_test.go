package pathmatch

import (
	"strings"
	"testing"
)

const ignoreFile = `
# what tools leave behind
*.tmp
build/**
!build/keep.txt
`

func TestSet(t *testing.T) {
	s, err := ReadSet(strings.NewReader(ignoreFile))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"x.tmp": true, "x.go": false, "build/out.o": true, "build/a/b.o": true, "build/keep.txt": false,
	} {
		if got := s.Ignores(path); got != want {
			t.Errorf("%s is ignored: %v", path, got)
		}
	}
}

func TestSetNamesTheLine(t *testing.T) {
	_, err := ReadSet(strings.NewReader("*.go\n{a\n"))
	if err == nil || err.Error() != "line 2: malformed pattern" {
		t.Errorf("got %v", err)
	}
}

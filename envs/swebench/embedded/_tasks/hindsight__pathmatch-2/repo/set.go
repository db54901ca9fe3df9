package pathmatch

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Set is the patterns of an ignore file.
type Set struct{ rules []rule }

type rule struct {
	pattern *Pattern
	keep    bool // the line began with "!"
}

// ReadSet reads patterns, one a line. Empty lines, and lines that begin with "#", say nothing.
func ReadSet(r io.Reader) (*Set, error) {
	s := &Set{}
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		keep := strings.HasPrefix(line, "!")
		p, err := Compile(strings.TrimPrefix(line, "!"))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		s.rules = append(s.rules, rule{p, keep})
	}
	return s, lines.Err()
}

// Ignores reports whether the last pattern that matches the path is one that ignores.
func (s *Set) Ignores(path string) bool {
	ignored := false
	for _, r := range s.rules {
		if r.pattern.Match(path) {
			ignored = !r.keep
		}
	}
	return ignored
}

// Package pathmatch matches slash-separated paths against patterns.
package pathmatch

import (
	"strings"
	"unicode/utf8"
)

// Pattern is a pattern that was read.
type Pattern struct {
	source string
	forms  [][]string // without braces, cut at the slashes
}

// Compile reads a pattern.
func Compile(pattern string) (*Pattern, error) {
	plain, err := expand(pattern)
	if err != nil {
		return nil, err
	}
	p := &Pattern{source: pattern}
	for _, form := range plain {
		p.forms = append(p.forms, strings.Split(form, "/"))
	}
	return p, nil
}

// String returns the pattern as it was given.
func (p *Pattern) String() string { return p.source }

// Match reports whether the whole path matches.
func (p *Pattern) Match(path string) bool {
	names := strings.Split(path, "/")
	for _, form := range p.forms {
		if matchNames(form, names) {
			return true
		}
	}
	return false
}

// matchNames matches a path's names one by one. Two stars stand for any number of names.
func matchNames(form, names []string) bool {
	for len(form) > 0 {
		if form[0] == "**" {
			for skip := 1; skip <= len(names); skip++ {
				if matchNames(form[1:], names[skip:]) {
					return true
				}
			}
			return false
		}
		if len(names) == 0 || !matchName(form[0], names[0]) {
			return false
		}
		form, names = form[1:], names[1:]
	}
	return len(names) == 0
}

// matchName matches one name. A star is tried short first; where the rest fails, the last star takes one
// character more.
func matchName(form, name string) bool {
	star, retry := -1, 0
	f, n := 0, 0
	for n < len(name) {
		r, size := utf8.DecodeRuneInString(name[n:])
		switch {
		case f < len(form) && form[f] == '*':
			star, retry = f, n
			f++
			continue
		case f < len(form) && form[f] == '?':
			f++
			n += size
			continue
		case f < len(form):
			c, width := literal(form[f:])
			if c == r {
				f += width
				n += size
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size = utf8.DecodeRuneInString(name[retry:])
		retry += size
		f, n = star+1, retry
	}
	for f < len(form) && form[f] == '*' {
		f++
	}
	return f == len(form)
}

// literal reads one character of a form, which a backslash may precede.
func literal(form string) (r rune, width int) {
	if form[0] == '\\' && len(form) > 1 {
		r, size := utf8.DecodeRuneInString(form[1:])
		return r, 1 + size
	}
	return utf8.DecodeRuneInString(form)
}

package pathmatch

import "errors"

// ErrPattern is returned for a pattern whose braces do not close, or that ends in a backslash.
var ErrPattern = errors.New("malformed pattern")

// expand replaces the first group of braces by each of its alternatives, and so on, until none is left.
func expand(pattern string) ([]string, error) {
	open, end, err := firstGroup(pattern)
	if err != nil {
		return nil, err
	}
	if open < 0 {
		return []string{pattern}, nil
	}
	var all []string
	for _, choice := range alternatives(pattern[open+1 : end]) {
		more, err := expand(pattern[:open] + choice + pattern[end+1:])
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// firstGroup returns the offsets of the first opening brace and of the one that closes it, -1 where
// there is none.
func firstGroup(pattern string) (open, end int, err error) {
	open = -1
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			if i++; i == len(pattern) {
				return 0, 0, ErrPattern
			}
		case '{':
			if depth++; open < 0 {
				open = i
			}
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth == 0 {
				return open, i, nil
			}
		}
	}
	if depth > 0 {
		return 0, 0, ErrPattern
	}
	return -1, -1, nil
}

// alternatives splits the inside of a group at its own commas.
func alternatives(group string) []string {
	var all []string
	depth, start := 0, 0
	for i := 0; i < len(group); i++ {
		switch group[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				all = append(all, group[start:i])
				start = i + 1
			}
		}
	}
	return append(all, group[start:])
}

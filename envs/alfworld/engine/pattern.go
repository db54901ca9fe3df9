package engine

import "strings"

func quoteName(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "..."
	}
	return "\"" + strings.ToValidUTF8(s, "\uFFFD") + "\""
}

// part is a piece of a simple template: literal text, or a parameter's name where slot >= 0.
type part struct {
	text string
	slot int
}

// patternOf turns a template into parts. ok is false for a template that is more than text and names.
func patternOf(t node) (parts []part, ok bool) {
	switch n := t.(type) {
	case textNode:
		return []part{{string(n), -1}}, true
	case attrNode:
		return []part{{"", n.slot}}, n.attr == attrName
	case *listNode:
		return patternOf(n.body)
	case *eachNode:
		return patternOf(n.body)
	case seqNode:
		for _, m := range n {
			sub, ok := patternOf(m)
			if !ok {
				return nil, false
			}
			parts = append(parts, sub...)
		}
		return parts, true
	}
	return nil, false
}

func slotsOf(parts []part) []int {
	var out []int
	for _, p := range parts {
		if p.slot >= 0 {
			out = append(out, p.slot)
		}
	}
	return out
}

// matchPattern finds the ways in which a command fits a pattern: the text at each name.
func matchPattern(parts []part, command string) [][]string {
	if len(parts) == 0 {
		if command == "" {
			return [][]string{nil}
		}
		return nil
	}
	p, rest := parts[0], parts[1:]
	if p.slot < 0 {
		after, ok := strings.CutPrefix(command, p.text)
		if !ok {
			return nil
		}
		return matchPattern(rest, after)
	}
	if len(rest) == 0 {
		if command == "" {
			return nil
		}
		return [][]string{{command}}
	}
	var out [][]string
	if rest[0].slot >= 0 || rest[0].text == "" {
		return nil // nothing separates two names
	}
	const most = 8 // readings of one command
	for at := 0; len(out) < most; {
		n := strings.Index(command[at:], rest[0].text)
		if n < 0 {
			break
		}
		at += n
		for _, m := range matchPattern(rest, command[at:]) {
			out = append(out, append([]string{command[:at]}, m...))
		}
		at++
	}
	return out
}

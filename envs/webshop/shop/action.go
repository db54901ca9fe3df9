package shop

import "strings"

// ParseAction splits "name[argument]" as the original's pattern (.+)\[(.+)\] does: the name reaches to
// the last bracket that leaves an argument, neither holds a line break, what follows the closing
// bracket does not count. hasArg is false where the pattern does not match; name is then the action.
func ParseAction(action string) (name, arg string, hasArg bool) {
	line, _, _ := strings.Cut(action, "\n")
	end := strings.LastIndexByte(line, ']')
	for open := strings.LastIndexByte(line, '['); open > 0; open = strings.LastIndexByte(line[:open], '[') {
		if end > open+1 {
			return line[:open], line[open+1 : end], true
		}
	}
	return action, "", false
}

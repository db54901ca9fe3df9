package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// longLine is where a line in a table is cut; the whole text is in --json.
const longLine = 120

// firstLine is the first line of s, cut to fit a table.
func firstLine(s string) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if utf8.RuneCountInString(line) > longLine {
		line, more = string([]rune(line)[:longLine]), true
	}
	if more {
		line += " …"
	}
	return line
}

// meanOf prints a mean over n values with three decimals, and "-" where there are none.
func meanOf(v float64, n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// plural prints "1 step", "2 steps".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

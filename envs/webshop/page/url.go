package page

import "strings"

// QueryEscape is how werkzeug 2.1 writes a value of a query.
func QueryEscape(s string) string { return quote(s, " ", "+") }

// PathEscape is how werkzeug 2.1 writes a part of a path: slashes stay, so a value with one is not
// found again.
func PathEscape(s string) string { return quote(s, "/:", "") }

const alwaysSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~$!'()*+,;"

// quote escapes all bytes but the always safe and the safe ones, and unsafe ones too.
func quote(s, safe, unsafe string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case strings.IndexByte(unsafe, c) >= 0 || strings.IndexByte(alwaysSafe, c) < 0 && strings.IndexByte(safe, c) < 0:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		case c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

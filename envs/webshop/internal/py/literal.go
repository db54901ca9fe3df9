package py

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting that Literal reads.
const maxDepth = 64

// Literal is ast.literal_eval for what addresses of the shop hold: strings, numbers, None, True, False,
// and lists, tuples and dicts of them. Dict keys must be strings.
func Literal(s string) (any, error) {
	l := &literal{s: s}
	// Python strips leading spaces and tabs and takes a trailing line break.
	l.i = len(s) - len(strings.TrimLeft(s, " \t"))
	v, err := l.value(0)
	if err == nil {
		l.space()
		if l.i < len(l.s) {
			err = l.errorf("%q follows the value", l.s[l.i:min(len(l.s), l.i+10)])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read Python literal: %w", err)
	}
	return v, nil
}

type literal struct {
	s string
	i int
}

func (l *literal) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", l.i, fmt.Sprintf(format, args...))
}

func (l *literal) space() {
	for l.i < len(l.s) && strings.IndexByte(" \t\n\r\f", l.s[l.i]) >= 0 {
		l.i++
	}
}

// peek is the next byte after space, or 0.
func (l *literal) peek() byte {
	l.space()
	if l.i < len(l.s) {
		return l.s[l.i]
	}
	return 0
}

func (l *literal) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, l.errorf("nested too deeply")
	}
	switch c := l.peek(); {
	case c == '\'' || c == '"':
		return l.strings()
	case c == '[':
		l.i++
		list, _, err := l.list(']', depth)
		return list, err
	case c == '(':
		l.i++
		list, comma, err := l.list(')', depth)
		if err == nil && len(list) == 1 && !comma {
			return list[0], nil
		}
		return Tuple(list), err
	case c == '{':
		l.i++
		return l.dict(depth)
	case c == '-' || c == '+' || c == '.' || '0' <= c && c <= '9':
		return l.number()
	}
	for name, v := range map[string]any{"None": nil, "True": true, "False": false} {
		if rest, ok := strings.CutPrefix(l.s[l.i:], name); ok && (rest == "" || !isNameByte(rest[0])) {
			l.i += len(name)
			return v, nil
		}
	}
	return nil, l.errorf("no value")
}

func isNameByte(c byte) bool {
	return c == '_' || c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (l *literal) list(end byte, depth int) (list []any, comma bool, err error) {
	list = []any{}
	for l.peek() != end {
		if len(list) > 0 && !comma {
			return nil, false, l.errorf("no comma")
		}
		v, err := l.value(depth + 1)
		if err != nil {
			return nil, false, err
		}
		list = append(list, v)
		if comma = l.peek() == ','; comma {
			l.i++
		}
	}
	l.i++
	return list, comma, nil
}

func (l *literal) dict(depth int) (any, error) {
	d, comma := Dict{}, true
	for l.peek() != '}' {
		if !comma {
			return nil, l.errorf("no comma")
		}
		k, err := l.value(depth + 1)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok {
			return nil, l.errorf("a key that is no string")
		}
		if l.peek() != ':' {
			return nil, l.errorf("no colon")
		}
		l.i++
		v, err := l.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d = d.Set(key, v)
		if comma = l.peek() == ','; comma {
			l.i++
		}
	}
	l.i++
	return d, nil
}

func (l *literal) number() (any, error) {
	start := l.i
	for l.i < len(l.s) && strings.IndexByte("+-.0123456789eE_", l.s[l.i]) >= 0 {
		l.i++
	}
	text := l.s[start:l.i]
	if n, err := strconv.Atoi(text); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, l.errorf("%q is no number", text)
	}
	return f, nil
}

// strings reads one or more adjacent string literals, which Python joins.
func (l *literal) strings() (any, error) {
	var b strings.Builder
	for c := l.peek(); c == '\'' || c == '"'; c = l.peek() {
		if err := l.string(&b, c); err != nil {
			return nil, err
		}
	}
	return b.String(), nil
}

func (l *literal) string(b *strings.Builder, quote byte) error {
	l.i++
	for l.i < len(l.s) {
		switch c := l.s[l.i]; c {
		case quote:
			l.i++
			return nil
		case '\n':
			return l.errorf("a line break in a string")
		case '\\':
			l.i++
			if err := l.escape(b); err != nil {
				return err
			}
		default:
			b.WriteByte(c)
			l.i++
		}
	}
	return l.errorf("a string without end")
}

var simpleEscapes = map[byte]string{
	'\\': "\\", '\'': "'", '"': "\"", 'n': "\n", 'r': "\r", 't': "\t", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\n': "",
}

func (l *literal) escape(b *strings.Builder) error {
	if l.i >= len(l.s) {
		return errors.New("a string without end")
	}
	c := l.s[l.i]
	l.i++
	if s, ok := simpleEscapes[c]; ok {
		b.WriteString(s)
		return nil
	}
	digits, ok := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	switch {
	case ok:
		if l.i+digits > len(l.s) {
			return l.errorf("a cut-off escape")
		}
		n, err := strconv.ParseUint(l.s[l.i:l.i+digits], 16, 32)
		if err != nil || n > utf8.MaxRune {
			return l.errorf("a bad escape")
		}
		l.i += digits
		b.WriteRune(rune(n))
	case '0' <= c && c <= '7':
		n := int(c - '0')
		for k := 0; k < 2 && l.i < len(l.s) && '0' <= l.s[l.i] && l.s[l.i] <= '7'; k++ {
			n = n*8 + int(l.s[l.i]-'0')
			l.i++
		}
		b.WriteRune(rune(n))
	default: // Python keeps the backslash of an unknown escape
		b.WriteByte('\\')
		b.WriteByte(c)
	}
	return nil
}

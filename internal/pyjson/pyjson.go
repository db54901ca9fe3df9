// Package pyjson writes JSON as Python's json.dumps does: members in the given order, non-ASCII
// characters escaped, and Python's indentation. Reports in an official layout stay comparable byte for
// byte that way.
package pyjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Member is one key of an object.
type Member struct {
	Key   string
	Value any
}

// Object is a dict: its members in insertion order.
type Object []Member

// Indent is json.dumps(v, indent=n). v may be an Object, []string, []any, string, bool, int, int64 or
// nil; any other type panics, for it is a mistake of the caller.
func Indent(v any, n int) []byte {
	w := writer{indent: n}
	w.value(v, 0)
	return []byte(w.b.String())
}

type writer struct {
	b      strings.Builder
	indent int
}

func (w *writer) value(v any, depth int) {
	switch t := v.(type) {
	case nil:
		w.b.WriteString("null")
	case bool:
		w.b.WriteString(strconv.FormatBool(t))
	case int:
		w.b.WriteString(strconv.Itoa(t))
	case int64:
		w.b.WriteString(strconv.FormatInt(t, 10))
	case string:
		w.b.WriteString(Quote(t))
	case []string:
		w.list(len(t), '[', ']', depth, func(i int) { w.b.WriteString(Quote(t[i])) })
	case []any:
		w.list(len(t), '[', ']', depth, func(i int) { w.value(t[i], depth+1) })
	case Object:
		w.list(len(t), '{', '}', depth, func(i int) {
			w.b.WriteString(Quote(t[i].Key))
			w.b.WriteString(": ")
			w.value(t[i].Value, depth+1)
		})
	default:
		panic(fmt.Sprintf("pyjson: no form for a %T", v))
	}
}

func (w *writer) list(n int, open, end byte, depth int, item func(i int)) {
	w.b.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.newline(depth + 1)
		item(i)
	}
	if n > 0 {
		w.newline(depth)
	}
	w.b.WriteByte(end)
}

func (w *writer) newline(depth int) {
	w.b.WriteByte('\n')
	for range depth * w.indent {
		w.b.WriteByte(' ')
	}
}

// Quote is json.dumps of a string. Bytes that are no UTF-8 become U+FFFD.
func Quote(s string) string { return string(AppendQuote(make([]byte, 0, len(s)+2), s)) }

// AppendQuote appends what Quote returns.
func AppendQuote(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r >= ' ' && r < utf8.RuneSelf: // also DEL, which Python leaves as it is
			b = append(b, byte(r))
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}

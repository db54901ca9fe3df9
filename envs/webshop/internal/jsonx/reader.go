package jsonx

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting bounds the depth that Skip follows.
const maxNesting = 200

// Kind is what a value is, by its first byte.
type Kind byte

// The kinds of values.
const (
	Null   Kind = 'n'
	Bool   Kind = 't'
	Number Kind = '0'
	String Kind = '"'
	Array  Kind = '['
	Object Kind = '{'
	None   Kind = 0 // no value begins here
)

// Reader walks one JSON value.
type Reader struct {
	b []byte
	i int
}

// NewReader reads b.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

func (r *Reader) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", r.i, fmt.Sprintf(format, args...))
}

func (r *Reader) peek() byte {
	for r.i < len(r.b) {
		switch c := r.b[r.i]; c {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return c
		}
	}
	return 0
}

// Kind tells what comes next.
func (r *Reader) Kind() Kind {
	switch c := r.peek(); {
	case c == 'n', c == '"', c == '[', c == '{':
		return Kind(c)
	case c == 't' || c == 'f':
		return Bool
	case c == '-' || '0' <= c && c <= '9' || c == 'N' || c == 'I':
		return Number // NaN and Infinity too, which Python writes
	}
	return None
}

// End reports an error if anything follows.
func (r *Reader) End() error {
	if c := r.peek(); c != 0 || r.i < len(r.b) {
		return r.errorf("%q after the value", c)
	}
	return nil
}

// Object calls f at the value of each key in order; f must read it.
func (r *Reader) Object(f func(key string) error) error {
	if r.peek() != '{' {
		return r.errorf("no object")
	}
	r.i++
	if r.peek() == '}' {
		r.i++
		return nil
	}
	for {
		key, err := r.String()
		if err != nil {
			return err
		}
		if r.peek() != ':' {
			return r.errorf("no colon after key %q", key)
		}
		r.i++
		if err := f(key); err != nil {
			return err
		}
		switch r.peek() {
		case ',':
			r.i++
		case '}':
			r.i++
			return nil
		default:
			return r.errorf("no comma in an object")
		}
	}
}

// Array calls f at each value in order; f must read it.
func (r *Reader) Array(f func() error) error {
	if r.peek() != '[' {
		return r.errorf("no array")
	}
	r.i++
	if r.peek() == ']' {
		r.i++
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		switch r.peek() {
		case ',':
			r.i++
		case ']':
			r.i++
			return nil
		default:
			return r.errorf("no comma in an array")
		}
	}
}

// Strings reads an array of strings.
func (r *Reader) Strings() ([]string, error) {
	var out []string
	err := r.Array(func() error {
		s, err := r.String()
		out = append(out, s)
		return err
	})
	return out, err
}

// Skip passes over a value.
func (r *Reader) Skip() error { return r.skip(0) }

func (r *Reader) skip(depth int) error {
	if depth > maxNesting {
		return r.errorf("nested too deeply")
	}
	switch r.Kind() {
	case String:
		return r.skipString()
	case Object:
		return r.Object(func(string) error { return r.skip(depth + 1) })
	case Array:
		return r.Array(func() error { return r.skip(depth + 1) })
	case Number:
		return r.number()
	case Bool, Null:
		return r.word()
	}
	return r.errorf("no value")
}

func (r *Reader) number() error {
	start := r.i
	for r.i < len(r.b) && bytes.IndexByte([]byte("+-.0123456789eENaInfity"), r.b[r.i]) >= 0 {
		r.i++
	}
	if _, err := strconv.ParseFloat(string(r.b[start:r.i]), 64); err != nil && !errors.Is(err, strconv.ErrRange) {
		return r.errorf("a bad number")
	}
	return nil
}

func (r *Reader) word() error {
	for _, w := range []string{"null", "true", "false"} {
		if bytes.HasPrefix(r.b[r.i:], []byte(w)) {
			r.i += len(w)
			return nil
		}
	}
	return r.errorf("no value")
}

func (r *Reader) skipString() error {
	for i := r.i + 1; i < len(r.b); i++ {
		switch r.b[i] {
		case '\\':
			i++
		case '"':
			r.i = i + 1
			return nil
		}
	}
	return r.errorf("a string without end")
}

// String reads a string. What is not UTF-8, and half of a surrogate pair, becomes U+FFFD.
func (r *Reader) String() (string, error) {
	if r.peek() != '"' {
		return "", r.errorf("no string")
	}
	start := r.i + 1
	for i := start; i < len(r.b); i++ {
		switch c := r.b[i]; {
		case c == '"':
			r.i = i + 1
			return text(r.b[start:i]), nil
		case c == '\\':
			return r.escaped(start, i)
		case c < ' ':
			r.i = i
			return "", r.errorf("a control character in a string")
		}
	}
	return "", r.errorf("a string without end")
}

// text copies bytes, and replaces what is not UTF-8.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// escaped reads on from the first backslash, at i.
func (r *Reader) escaped(start, i int) (string, error) {
	out := append(make([]byte, 0, 2*(i-start)+64), r.b[start:i]...)
	for i < len(r.b) {
		c := r.b[i]
		switch {
		case c == '"':
			r.i = i + 1
			return text(out), nil
		case c < ' ':
			r.i = i
			return "", r.errorf("a control character in a string")
		case c != '\\':
			out = append(out, c)
			i++
			continue
		}
		if i+1 >= len(r.b) {
			break
		}
		i += 2
		switch e := r.b[i-1]; e {
		case '"', '\\', '/':
			out = append(out, e)
		case 'b', 'f', 'n', 'r', 't':
			out = append(out, map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[e])
		case 'u':
			u, ok := hex4(r.b, i)
			if !ok {
				r.i = i
				return "", r.errorf("a bad \\u escape")
			}
			i += 4
			if utf16.IsSurrogate(u) {
				low := rune(0)
				if i+6 <= len(r.b) && r.b[i] == '\\' && r.b[i+1] == 'u' {
					low, _ = hex4(r.b, i+2)
				}
				if u = utf16.DecodeRune(u, low); u != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, u)
		default:
			r.i = i
			return "", r.errorf("a bad escape")
		}
	}
	return "", r.errorf("a string without end")
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[i:i+4]), 16, 32)
	return rune(n), err == nil
}

package jsonx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
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

	views bool   // strings share the memory of b or of spare
	spare []byte // strings with escapes, without them
}

// NewReader reads b. Its strings are copies.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// NewViews reads b without copying its strings: they are valid while b is not written to and until the
// next Reset.
func NewViews(b []byte) *Reader { return &Reader{b: b, views: true} }

// Reset turns to another value and takes the memory of the strings read so far.
func (r *Reader) Reset(b []byte) { r.b, r.i, r.spare = b, 0, r.spare[:0] }

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

// Strings reads an array of strings; nil where it is empty.
func (r *Reader) Strings() ([]string, error) { return r.AppendStrings(nil) }

// AppendStrings reads an array of strings and appends them to list.
func (r *Reader) AppendStrings(list []string) ([]string, error) {
	err := r.Array(func() error {
		s, err := r.String()
		list = append(list, s)
		return err
	})
	return list, err
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
		if i = plain(r.b, i, 0); i >= len(r.b) {
			break
		}
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

// The lowest and the highest bit of each byte of eight.
const (
	lowest  = 0x0101010101010101
	highest = 0x8080808080808080
)

// plain returns the first byte from i on that is a quote, a backslash or below the given one, or the end.
func plain(b []byte, i int, below byte) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^lowest*'"', w^lowest*'\\'
		// A byte that is zero, or below the limit, borrows and so sets its highest bit. One above it may
		// set it too, by the borrow, but the first one is right.
		found := (quote-lowest)&^quote | (slash-lowest)&^slash | (w-lowest*uint64(below))&^w
		if found &= highest; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= below; i++ {
	}
	return i
}

// String reads a string. What is not UTF-8, and half of a surrogate pair, becomes U+FFFD.
func (r *Reader) String() (string, error) {
	if r.peek() != '"' {
		return "", r.errorf("no string")
	}
	start := r.i + 1
	i := plain(r.b, start, ' ')
	switch {
	case i >= len(r.b):
		return "", r.errorf("a string without end")
	case r.b[i] == '"':
		r.i = i + 1
		return r.text(r.b[start:i]), nil
	case r.b[i] == '\\':
		return r.escaped(start, i)
	}
	r.i = i
	return "", r.errorf("a control character in a string")
}

// text copies bytes, where strings are copies, and replaces what is not UTF-8.
func (r *Reader) text(b []byte) string {
	if !utf8.Valid(b) {
		return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	if r.views {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return string(b)
}

// simple are the escapes of one letter.
var simple = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped reads on from the first backslash, at i.
func (r *Reader) escaped(start, i int) (string, error) {
	begin := len(r.spare)
	out := append(r.spare, r.b[start:i]...)
	for i < len(r.b) {
		c := r.b[i]
		switch {
		case c == '"':
			r.i = i + 1
			if r.spare = out; !r.views {
				r.spare = out[:begin]
			}
			return r.text(out[begin:]), nil
		case c < ' ':
			r.i = i
			return "", r.errorf("a control character in a string")
		case c != '\\':
			next := max(plain(r.b, i, ' '), i+1)
			out = append(out, r.b[i:next]...)
			i = next
			continue
		}
		if i+1 >= len(r.b) {
			break
		}
		i += 2
		e := r.b[i-1]
		switch {
		case simple[e] != 0:
			out = append(out, simple[e])
		case e == 'u':
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

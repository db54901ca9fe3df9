package jsonx

import (
	"errors"
	"fmt"
	"io"
)

// maxElement bounds one element of a file, in bytes.
const maxElement = 64 << 20

// Splitter cuts a top-level array or object into its elements.
type Splitter struct {
	r    io.Reader
	buf  []byte
	at   int   // next byte to look at
	base int64 // offset of buf[0] in the input
	eof  bool

	end   byte // ']' or '}'; 0 before the first element
	count int
	done  bool
}

// NewSplitter reads from r.
func NewSplitter(r io.Reader) *Splitter {
	return &Splitter{r: r, buf: make([]byte, 0, 1<<20)}
}

// Element is one value of the file. Raw is valid until the next call of Next.
type Element struct {
	Key    string // of a pair of an object; "" in an array
	Raw    []byte
	Offset int64 // of Raw in the file
}

// Next returns the next element; io.EOF after the last. Any other error names the byte and the number
// of the element at which the file stops being JSON.
func (s *Splitter) Next() (Element, error) {
	e, err := s.next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("byte %d, in element %d: %w", s.base+int64(s.at), s.count, err)
	}
	return e, err
}

func (s *Splitter) next() (e Element, err error) {
	if s.done {
		return e, io.EOF
	}
	c, err := s.token()
	if err != nil {
		return e, err
	}
	switch {
	case s.end == 0 && (c == '[' || c == '{'):
		s.end = c + 2 // the closing bracket in ASCII
		s.at++
		if c, err = s.token(); err != nil {
			return e, err
		}
		if c == s.end {
			return e, s.finish()
		}
	case s.end == 0:
		return e, errors.New("the file holds neither an array nor an object")
	case c == s.end:
		return e, s.finish()
	case c == ',':
		s.at++
		if _, err = s.token(); err != nil {
			return e, err
		}
	default:
		return e, fmt.Errorf("%q where a comma should be", c)
	}
	if s.end == '}' {
		if e.Key, err = s.key(); err != nil {
			return e, err
		}
	}
	e.Raw, err = s.value()
	e.Offset = s.base + int64(s.at-len(e.Raw))
	s.count++
	return e, err
}

// finish checks that nothing follows the closing bracket.
func (s *Splitter) finish() error {
	s.done = true
	s.at++
	c, err := s.token()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.EOF
	case err != nil:
		return err
	}
	return fmt.Errorf("%q after the end of the list", c)
}

// key reads `"key":` and stands at the value.
func (s *Splitter) key() (string, error) {
	raw, err := s.value()
	if err != nil {
		return "", err
	}
	key, err := NewReader(raw).String()
	if err != nil {
		return "", err
	}
	if c, err := s.token(); err != nil || c != ':' {
		return "", fmt.Errorf("no colon after key %q", key)
	}
	s.at++
	_, err = s.token()
	return key, err
}

// token skips white space and returns the byte there.
func (s *Splitter) token() (byte, error) {
	for {
		for s.at < len(s.buf) {
			switch c := s.buf[s.at]; c {
			case ' ', '\t', '\n', '\r':
				s.at++
			default:
				return c, nil
			}
		}
		if err := s.fill(s.at); err != nil {
			return 0, err
		}
	}
}

// fill reads more, and keeps the buffer from byte keep on; s.at and what else points into the buffer
// moves keep bytes down.
func (s *Splitter) fill(keep int) error {
	if s.eof {
		return io.ErrUnexpectedEOF
	}
	rest := copy(s.buf, s.buf[keep:])
	s.buf = s.buf[:rest]
	s.base += int64(keep)
	s.at -= keep
	if len(s.buf) == cap(s.buf) {
		if len(s.buf) >= maxElement {
			return fmt.Errorf("an element of more than %d bytes", maxElement)
		}
		s.buf = append(make([]byte, 0, 2*cap(s.buf)), s.buf...)
	}
	n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	switch {
	case errors.Is(err, io.EOF):
		s.eof = true
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
	case err != nil:
		return err
	}
	return nil
}

// value finds the end of the value that starts at s.at and moves behind it. Only brackets and strings
// are looked at: whoever walks the value finds what is wrong in it.
func (s *Splitter) value() ([]byte, error) {
	depth, inString, i := 0, false, s.at
	for {
		end, more := 0, false
		if end, i, depth, inString, more = scan(s.buf, i, depth, inString); !more {
			raw := s.buf[s.at:end]
			s.at = end
			return raw, nil
		}
		keep := s.at
		if err := s.fill(keep); err != nil {
			return nil, err
		}
		i -= keep
	}
}

// scan looks for the end of a value from byte i on, in the given state. more says that it is not in the
// buffer; the state is then the one in which to go on.
func scan(buf []byte, i, depth int, inString bool) (end, at, d int, in, more bool) {
	for i < len(buf) {
		if inString {
			if i = plain(buf, i, 0); i >= len(buf) {
				return 0, len(buf), depth, true, true
			}
			if buf[i] == '\\' {
				if i+1 >= len(buf) {
					return 0, i, depth, true, true // the escaped byte is not here yet
				}
				i += 2
				continue
			}
			inString = false
			if i++; depth == 0 {
				return i, i, 0, false, false
			}
			continue
		}
		switch buf[i] {
		case '"':
			inString = true
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i, i, 0, false, false // the end of a number or word
			}
			if depth--; depth == 0 {
				return i + 1, i + 1, 0, false, false
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i, i, 0, false, false
			}
		}
		i++
	}
	return 0, i, depth, inString, true
}

package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// maxJSONDepth bounds nesting, so that a hostile reply cannot exhaust the stack.
const maxJSONDepth = 64

var errNotNumber = errors.New("NaN or Infinity where JSON has a number")

// jsonReader pulls values out of a reply in one strict pass without building a tree: a scored prompt
// of 2,200 tokens is a quarter of a megabyte of small maps, on which encoding/json spends several
// milliseconds per call. The first error sticks; after it every method returns zero values.
type jsonReader struct {
	b     []byte
	p     int
	depth int
	err   error
}

// fail records the first error with its offset.
func (r *jsonReader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("offset %d of %d: %w", r.p, len(r.b), err)
	}
}

func (r *jsonReader) space() {
	for r.p < len(r.b) {
		if c := r.b[r.p]; c > ' ' || (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
			return
		}
		r.p++
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	r.space()
	if r.p >= len(r.b) {
		return 0
	}
	return r.b[r.p]
}

// want consumes one byte that must come next.
func (r *jsonReader) want(c byte) bool {
	if r.err != nil {
		return false
	}
	got := r.peek()
	if got == c {
		r.p++
		return true
	}
	if r.p >= len(r.b) {
		r.fail(errors.New("the reply ends in the middle of a value"))
	} else {
		r.fail(fmt.Errorf("%q where %q is due", got, c))
	}
	return false
}

// literal consumes a word such as null where it comes next, and reports whether it did.
func (r *jsonReader) literal(word string) bool {
	if r.err != nil {
		return false
	}
	r.space()
	if len(r.b)-r.p < len(word) || string(r.b[r.p:r.p+len(word)]) != word {
		return false
	}
	r.p += len(word)
	return true
}

// null consumes a null where one comes next.
func (r *jsonReader) null() bool { return r.literal("null") }

// object walks an object; member stands before each value and may leave it alone, which skips it.
// A null has no members.
func (r *jsonReader) object(member func(key []byte)) {
	if r.null() || !r.want('{') || !r.enter() {
		return
	}
	defer func() { r.depth-- }()
	if r.peek() == '}' {
		r.p++
		return
	}
	for r.err == nil {
		key := r.str()
		if !r.want(':') {
			return
		}
		r.space()
		at := r.p
		member(key)
		if r.err == nil && r.p == at {
			r.skip()
		}
		if r.peek() == ',' {
			r.p++
			continue
		}
		r.want('}')
		return
	}
}

// array walks an array; element stands before the i-th value and may leave it alone, which skips it.
// A null has no elements.
func (r *jsonReader) array(element func(i int)) {
	if r.null() || !r.want('[') || !r.enter() {
		return
	}
	defer func() { r.depth-- }()
	if r.peek() == ']' {
		r.p++
		return
	}
	for i := 0; r.err == nil; i++ {
		r.space()
		at := r.p
		element(i)
		if r.err == nil && r.p == at {
			r.skip()
		}
		if r.peek() == ',' {
			r.p++
			continue
		}
		r.want(']')
		return
	}
}

func (r *jsonReader) enter() bool {
	if r.depth++; r.depth > maxJSONDepth {
		r.fail(fmt.Errorf("nested deeper than %d", maxJSONDepth))
		r.depth--
		return false
	}
	return true
}

// str reads a string. The bytes may alias the reply: they are valid until the reply is dropped.
func (r *jsonReader) str() []byte {
	if !r.want('"') {
		return nil
	}
	b, start, p, escaped := r.b, r.p, r.p, false
	for p < len(b) {
		switch c := b[p]; {
		case c == '"':
			r.p = p + 1
			if !escaped {
				return b[start:p]
			}
			return r.unescape(b[start-1 : p+1])
		case c == '\\':
			escaped = true
			p += 2
		case c < ' ':
			r.p = p
			r.fail(errors.New("control character in a string"))
			return nil
		default:
			p++
		}
	}
	r.p = len(b)
	r.fail(errors.New("the reply ends in the middle of a string"))
	return nil
}

// unescape leaves escapes and surrogates to encoding/json: only text has them, never numbers.
func (r *jsonReader) unescape(quoted []byte) []byte {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		r.fail(err)
		return nil
	}
	return []byte(s)
}

// text reads a string or null as a string of its own.
func (r *jsonReader) text() string {
	if r.null() {
		return ""
	}
	return string(r.str())
}

// number consumes a number and returns its bytes.
func (r *jsonReader) number() []byte {
	if r.err != nil {
		return nil
	}
	c := r.peek()
	if c == 'N' || c == 'I' || (c == '-' && r.p+1 < len(r.b) && r.b[r.p+1] == 'I') {
		r.fail(errNotNumber)
		return nil
	}
	end := numberEnd(r.b, r.p)
	if end < 0 {
		r.fail(errors.New("a number is due"))
		return nil
	}
	num := r.b[r.p:end]
	r.p = end
	return num
}

// numberEnd returns where the number at p ends, −1 where none stands by JSON's grammar:
// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func numberEnd(b []byte, p int) int {
	digits := func() bool {
		from := p
		for p < len(b) && b[p]-'0' <= 9 {
			p++
		}
		return p > from
	}
	at := func(c byte) bool { return p < len(b) && b[p] == c }
	if at('-') {
		p++
	}
	if at('0') {
		p++
		if p < len(b) && b[p]-'0' <= 9 {
			return -1
		}
	} else if !digits() {
		return -1
	}
	if at('.') {
		p++
		if !digits() {
			return -1
		}
	}
	if at('e') || at('E') {
		p++
		if at('+') || at('-') {
			p++
		}
		if !digits() {
			return -1
		}
	}
	return p
}

// float32 reads a number rounded once, to the nearest float32. Numbers beyond float32's range become
// infinities; null is NaN, so that the caller decides what a missing value means.
func (r *jsonReader) float32() float32 {
	if r.null() {
		return float32(math.NaN())
	}
	num := r.number()
	if r.err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(num), 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		r.fail(err)
	}
	return float32(v)
}

// int reads an integer; null is 0.
func (r *jsonReader) int() int {
	if r.null() {
		return 0
	}
	num := r.number()
	if r.err != nil {
		return 0
	}
	v, err := strconv.Atoi(string(num))
	if err != nil {
		r.fail(fmt.Errorf("integer %q: %w", num, err))
	}
	return v
}

// tokenID reads a token id.
func (r *jsonReader) tokenID() int32 {
	v := r.int()
	if v < 0 || v > math.MaxInt32 {
		r.fail(fmt.Errorf("token id %d out of range", v))
		return 0
	}
	return int32(v)
}

// tokenIDs reads a list of token ids; null is nil, [] is empty and not nil.
func (r *jsonReader) tokenIDs() []int32 {
	if r.null() {
		return nil
	}
	ids := make([]int32, 0, 256)
	r.array(func(int) { ids = append(ids, r.tokenID()) })
	return ids
}

// label reads a version label, which servers send as a string or a number; null is "".
func (r *jsonReader) label() string {
	switch r.peek() {
	case '"':
		return string(r.str())
	case 'n':
		r.null()
		return ""
	default:
		return string(r.number())
	}
}

// parseReply walks the object that a whole reply must be and reports the first error, with nothing
// allowed after it.
func parseReply(body []byte, member func(r *jsonReader, key string)) error {
	r := &jsonReader{b: body}
	if r.peek() != '{' {
		r.fail(errors.New("the reply is not a JSON object"))
		return r.err
	}
	r.object(func(key []byte) { member(r, string(key)) })
	if r.space(); r.err == nil && r.p < len(r.b) {
		r.fail(errors.New("text after the reply's end"))
	}
	return r.err
}

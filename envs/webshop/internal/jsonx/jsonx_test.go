package jsonx

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// elements reads everything, a byte at a time or all at once.
func elements(r io.Reader) (out []string, err error) {
	for s := NewSplitter(r); ; {
		e, err := s.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, e.Key+"="+string(e.Raw))
	}
}

func TestSplitter(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`[]`: "", ` [ ] `: "", `{}`: "",
		`[1, "a]\"" ,{"b":[1,{}]},null]`:           `=1|="a]\""|={"b":[1,{}]}|=null`,
		`{"a": 1, "b\"c" : {"d": [ ]} , "e":"\\"}`: `a=1|b"c={"d": [ ]}|e="\\"`,
		`["\\\\"]`: `="\\\\"`,
	} {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
			got, err := elements(r)
			if err != nil || strings.Join(got, "|") != want {
				t.Errorf("%s: %q, %v, want %s", in, got, err, want)
			}
		}
	}
	for in, want := range map[string]string{
		``: "unexpected EOF", `12`: "neither", `[1`: "unexpected EOF", `[1 2]`: "comma", `["a`: "unexpected EOF", `[1] x`: "after the end",
		`{"a" 1}`: "colon", `{"a": 1`: "unexpected EOF", `[{"a": 1]`: "unexpected EOF",
	} {
		if got, err := elements(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
	}
}

// Elements larger than the buffer, with offsets that point at them.
func TestLargeElements(t *testing.T) {
	t.Parallel()
	file := []byte("[")
	for i := range 5 {
		if i > 0 {
			file = append(file, ',')
		}
		file = append(file, `{"x":"`+strings.Repeat("y", 1<<20)+`"}`...)
	}
	file = append(file, ']')
	s := NewSplitter(bytes.NewReader(file))
	for n := 0; ; n++ {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			if n != 5 {
				t.Errorf("%d elements", n)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file[e.Offset:e.Offset+int64(len(e.Raw))], e.Raw) {
			t.Errorf("element %d is not at byte %d", n, e.Offset)
		}
	}
}

func TestStringsAsEncodingJSONReadsThem(t *testing.T) {
	t.Parallel()
	for _, s := range []string{`"a"`, `"\u00e9\ud83d\ude00 \"\\\/\b\f\n\r\t"`, `"\ud83d x"`, "\"\xff\"", `"é"`, `""`} {
		var want string
		if err := json.Unmarshal([]byte(s), &want); err != nil {
			t.Fatal(err)
		}
		if got, err := NewReader([]byte(s)).String(); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", s, got, err, want)
		}
	}
}

// FuzzReader: whatever encoding/json takes, this takes too, with the same strings; what it refuses,
// this refuses, except the words that Python's json writes.
func FuzzReader(f *testing.F) {
	for _, s := range []string{`{"a": [1, -2.5e3, "x", null, true, {}]}`, `[NaN]`, `"\u12"`, `{"a":}`, `[1,]`, "\"\x01\"", `01`, `[[[[]]]]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := NewReader([]byte(s))
		err := r.Skip()
		if err == nil {
			err = r.End()
		}
		if json.Valid([]byte(s)) && err != nil && strings.Count(s, "[")+strings.Count(s, "{") < maxNesting {
			t.Fatalf("%q is JSON: %v", s, err)
		}
		var want string
		if json.Unmarshal([]byte(s), &want) == nil && r.b[0] == '"' {
			if got, err := NewReader([]byte(s)).String(); err != nil || got != want {
				t.Fatalf("%q: %q, %v, want %q", s, got, err, want)
			}
		}
		_, _ = elements(strings.NewReader(s))
	})
}

// Views read the same strings as copies do, and keep them until the next Reset.
func TestViews(t *testing.T) {
	t.Parallel()
	const raw = `{"plain": "a long text without any escape", "escaped": "\u00e9 \"x\" and more", "bad": "` + "\xff" + `", "empty": "", "list": ["1", "\n2", "3"]}`
	walk := func(r *Reader) (out []string) {
		err := r.Object(func(key string) error {
			out = append(out, key)
			if r.Kind() == Array {
				list, err := r.AppendStrings([]string{"0"})
				out = append(out, list...)
				return err
			}
			s, err := r.String()
			out = append(out, s)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := walk(NewReader([]byte(raw)))
	r := NewViews(nil)
	for range 2 {
		r.Reset([]byte(raw))
		if got := walk(r); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	b := []byte(`"shared"`)
	r.Reset(b)
	s, err := r.String()
	if b[1] = 'S'; err != nil || s != "Shared" {
		t.Errorf("a view is %q, %v", s, err)
	}
}

// plain finds what a look at each byte finds.
func TestPlain(t *testing.T) {
	t.Parallel()
	b := make([]byte, 300)
	for i := range b {
		b[i] = byte(i*7 + i/256)
	}
	for i := range b {
		for _, below := range []byte{0, ' '} {
			want := i
			for want < len(b) && b[want] != '"' && b[want] != '\\' && b[want] >= below {
				want++
			}
			if got := plain(b, i, below); got != want {
				t.Errorf("from %d below %d: %d, want %d", i, below, got, want)
			}
		}
	}
}

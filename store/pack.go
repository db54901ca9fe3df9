package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hindsightrl/harness"
)

// Lists are packed without a count, so that a list which grew at its end keeps its old bytes as a
// head: 0x00 for nil, else 0x01 followed by the items, each string as uvarint(length) bytes. A
// message is two strings, role and content.

const (
	packNil  = 0
	packList = 1
)

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func cutString(b []byte) (string, []byte, error) {
	n, rest, err := uvarint(b)
	if err != nil || n > uint64(len(rest)) {
		return "", nil, badBlob("packed string is cut off")
	}
	return string(rest[:n]), rest[n:], nil
}

func packMessages(dst []byte, ms []harness.Message) []byte {
	if ms == nil {
		return append(dst, packNil)
	}
	dst = append(dst, packList)
	for _, m := range ms {
		dst = appendString(appendString(dst, m.Role), m.Content)
	}
	return dst
}

func unpackMessages(b []byte) ([]harness.Message, error) {
	rest, isNil, err := packHead(b)
	if err != nil || isNil {
		return nil, err
	}
	ms := []harness.Message{}
	for len(rest) > 0 {
		var m harness.Message
		if m.Role, rest, err = cutString(rest); err != nil {
			return nil, err
		}
		if m.Content, rest, err = cutString(rest); err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	return ms, nil
}

func packStrings(dst []byte, ss []string) []byte {
	if ss == nil {
		return append(dst, packNil)
	}
	dst = append(dst, packList)
	for _, s := range ss {
		dst = appendString(dst, s)
	}
	return dst
}

func unpackStrings(b []byte) ([]string, error) {
	rest, isNil, err := packHead(b)
	if err != nil || isNil {
		return nil, err
	}
	ss := []string{}
	for len(rest) > 0 {
		var s string
		if s, rest, err = cutString(rest); err != nil {
			return nil, err
		}
		ss = append(ss, s)
	}
	return ss, nil
}

func packHead(b []byte) (rest []byte, isNil bool, err error) {
	switch {
	case len(b) == 1 && b[0] == packNil:
		return nil, true, nil
	case len(b) >= 1 && b[0] == packList:
		return b[1:], false, nil
	}
	return nil, false, badBlob("list has no head")
}

// spansText writes spans as JSON pairs, [[start,end],…], which SQL's json functions can read.
func spansText(spans []harness.Span) any {
	if spans == nil {
		return nil
	}
	b := []byte{'['}
	for i, s := range spans {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '['), int64(s.Start), 10)
		b = append(strconv.AppendInt(append(b, ','), int64(s.End), 10), ']')
	}
	return string(append(b, ']'))
}

func spansOf(v any) ([]harness.Span, error) {
	if v == nil {
		return nil, nil
	}
	s, ok := v.(string)
	if !ok {
		return nil, badBlob("spans are a %T", v)
	}
	var pairs [][]int
	if err := json.Unmarshal([]byte(s), &pairs); err != nil || pairs == nil {
		return nil, badBlob("spans %q", s)
	}
	spans := make([]harness.Span, len(pairs))
	for i, p := range pairs {
		if len(p) != 2 {
			return nil, badBlob("spans %q", s)
		}
		spans[i] = harness.Span{Start: p[0], End: p[1]}
	}
	return spans, nil
}

// checkSpans reports a span that is no part of the response.
func checkSpans(spans []harness.Span, response string) error {
	for _, s := range spans {
		if s.Start < 0 || s.End < s.Start || s.End > len(response) {
			return fmt.Errorf("span [%d, %d) is outside the response of %d bytes", s.Start, s.End, len(response))
		}
	}
	return nil
}

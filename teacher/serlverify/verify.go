// Package serlverify checks contexts, action spans and projections against files of what the reference
// implementation (OliverLeeXZ/SERL@5a2a85b) answered.
//
// It owns the files' JSON forms. A file is an array of cases of one kind, plain or gzipped, and its kind
// is told from what its cases contain. Token weights belong to package credit/creditverify.
package serlverify

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hindsightrl/harness/teacher"
)

// ErrUnknownKind is returned for a file whose cases are of no kind that this package knows.
var ErrUnknownKind = errors.New("its fields are those of no known kind of SERL vectors")

// kind is one form of vector file: the fields that tell it and the check of one case, which returns the
// first difference, "" where there is none.
type kind struct {
	name   string
	fields []string
	check  func(raw []byte, t *teacher.Templates) (difference string, err error)
}

func kinds() []kind {
	return []kind{
		{"teacher contexts", []string{"config", "rows", "messages", "mask"}, checkContexts},
		{"action spans", []string{"text", "spans_codepoints"}, checkSpans},
		{"projections", []string{"text", "alfworld", "webshop"}, checkProjections},
	}
}

// Verify checks every case of the vector file r; contexts are written with templates. Each case that
// differs is reported as one line with its first difference; report may be nil. It returns how many cases
// passed and failed; the error is for files that cannot be read, and wraps ErrUnknownKind for those of
// another kind.
func Verify(name string, r io.Reader, templates *teacher.Templates, report func(string)) (passed, failed int, err error) {
	cases, err := readCases(r)
	if err != nil {
		return 0, 0, fmt.Errorf("verify %s: %w", name, err)
	}
	for i, raw := range cases {
		k, err := kindOf(raw)
		if err != nil {
			return passed, failed, fmt.Errorf("verify %s: case %d: %w", name, i, err)
		}
		difference, err := k.check(raw, templates)
		if err != nil {
			return passed, failed, fmt.Errorf("verify %s: %s, case %d: %w", name, k.name, i, err)
		}
		if difference == "" {
			passed++
			continue
		}
		failed++
		if report != nil {
			report(fmt.Sprintf("%s: %s, case %d: %s", name, k.name, i, difference))
		}
	}
	return passed, failed, nil
}

// readCases splits the file into its cases, after unzipping it where it starts like a gzip stream.
func readCases(r io.Reader) ([]json.RawMessage, error) {
	buffered := bufio.NewReader(r)
	var src io.Reader = buffered
	if magic, err := buffered.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		zipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("unzip: %w", err)
		}
		defer zipped.Close()
		src = zipped
	}
	data, err := io.ReadAll(src)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	var cases []json.RawMessage
	if err := json.Unmarshal(data, &cases); err != nil {
		return nil, fmt.Errorf("decode the array of cases: %w", err)
	}
	if len(cases) == 0 {
		return nil, errors.New("the file has no cases")
	}
	return cases, nil
}

func kindOf(raw []byte) (kind, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return kind{}, fmt.Errorf("decode: %w", err)
	}
next:
	for _, k := range kinds() {
		for _, f := range k.fields {
			if _, ok := fields[f]; !ok {
				continue next
			}
		}
		return k, nil
	}
	return kind{}, ErrUnknownKind
}

// decode reads a case.
func decode(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

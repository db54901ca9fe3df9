// Package creditverify checks package credit against files of reference vectors.
//
// It owns the files' JSON forms and the tolerances; package credit knows neither. A file is an array of
// cases of one kind, plain or gzipped, and its kind is told from what its cases contain.
package creditverify

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// kind is one form of vector file: the fields that tell it and the check of one case.
type kind struct {
	name   string
	fields []string
	check  func(raw []byte, c *comparer) error
}

func kinds() []kind {
	return []kind{
		{"group advantages", []string{"token_rewards", "response_mask", "out"}, checkGroup},
		{"GiGPO and HGPO", []string{"anchor", "discounted_returns"}, checkAnchors},
		{"entropy credit", []string{"mean_entropy", "alpha_group"}, checkEntropy},
		{"SERL weights", []string{"student_logprobs", "teacher_logprobs", "serl_mask"}, checkSERL},
	}
}

// Verify checks every case of the vector file r. Each mismatch is reported as one line that starts
// with name; report may be nil. It returns how many cases passed and failed; the error is for files
// that cannot be read or are of no known kind.
func Verify(name string, r io.Reader, report func(string)) (passed, failed int, err error) {
	cases, err := readCases(r)
	if err != nil {
		return 0, 0, fmt.Errorf("verify %s: %w", name, err)
	}
	for i, raw := range cases {
		k, err := kindOf(raw)
		if err != nil {
			return passed, failed, fmt.Errorf("verify %s: case %d: %w", name, i, err)
		}
		c := &comparer{report: func(line string) {
			if report != nil {
				report(fmt.Sprintf("%s: %s, case %d: %s", name, k.name, i, line))
			}
		}}
		if err := k.check(raw, c); err != nil {
			return passed, failed, fmt.Errorf("verify %s: %s, case %d: %w", name, k.name, i, err)
		}
		if c.finish() {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed, nil
}

// readCases splits the file into its cases, after unzipping it where it starts like a gzip stream.
func readCases(r io.Reader) ([]json.RawMessage, error) {
	buffered := bufio.NewReader(r)
	var src io.Reader = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
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
	return kind{}, errors.New("its fields are those of no known kind of credit vectors")
}

// decode reads a case.
func decode(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// sameLength reports columns of a case that disagree in length, which credit would refuse or, worse,
// which the comparison would run past.
func sameLength(want int, columns map[string]int) error {
	for name, got := range columns {
		if got != want {
			return fmt.Errorf("%s has %d values, want %d", name, got, want)
		}
	}
	return nil
}

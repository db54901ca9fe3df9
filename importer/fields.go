package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// BadRecordError is what a file holds that cannot be read.
type BadRecordError struct {
	File  string
	Line  int    // 1-based; where the record begins, or where its JSON breaks
	Where string // path of the value inside the record: "nodes[3].logprobs"; "" = the whole
	Err   error
}

// Error prints "file:line: path: cause".
func (b *BadRecordError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s:%d: ", b.File, b.Line)
	if b.Where != "" {
		s.WriteString(b.Where + ": ")
	}
	s.WriteString(b.Err.Error())
	return s.String()
}

// Unwrap returns the cause.
func (b *BadRecordError) Unwrap() error { return b.Err }

// place is an error of a value at a path inside its record.
type place struct {
	where string
	err   error
}

func (p *place) Error() string { return p.where + ": " + p.err.Error() }
func (p *place) Unwrap() error { return p.err }

// at puts err at a path; an error that has a place already is inside of it.
func at(where string, err error) error {
	if err == nil {
		return nil
	}
	if p, ok := err.(*place); ok { //nolint:errorlint // only the outermost place is extended
		sep := "."
		if strings.HasPrefix(p.where, "[") {
			sep = ""
		}
		return &place{where + sep + p.where, p.err}
	}
	return &place{where, err}
}

// record makes an error one of a file's record.
func record(file string, line int, err error) error {
	if err == nil {
		return nil
	}
	if p, ok := err.(*place); ok { //nolint:errorlint // it is made here
		return &BadRecordError{file, line, p.where, p.err}
	}
	return &BadRecordError{file, line, "", err}
}

// fields is a JSON object from which values are taken one by one. What nobody took is what has no place.
type fields map[string]json.RawMessage

// object reads an object.
func object(raw json.RawMessage) (fields, error) {
	var f fields
	if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) {
		return nil, fmt.Errorf("%s is no object", kind(raw))
	}
	err := json.Unmarshal(raw, &f)
	return f, err
}

// take reads a value and removes it; given is false where there is none, or null.
func (f fields) take(name string, into any) (given bool, err error) {
	given, err = f.peek(name, into)
	delete(f, name)
	return given, err
}

// peek is take without removing.
func (f fields) peek(name string, into any) (given bool, err error) {
	raw, ok := f[name]
	if !ok || string(bytes.TrimSpace(raw)) == "null" {
		return false, nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		if t := (*json.UnmarshalTypeError)(nil); asType(err, &t) {
			return false, at(name, fmt.Errorf("%s is no %s", t.Value, wanted(t)))
		}
		return false, at(name, err)
	}
	return true, nil
}

func asType(err error, t **json.UnmarshalTypeError) bool {
	e, ok := err.(*json.UnmarshalTypeError) //nolint:errorlint // json returns it bare
	*t = e
	return ok
}

// wanted names a Go type in JSON's words.
func wanted(t *json.UnmarshalTypeError) string {
	switch t.Type.Kind().String() {
	case "string":
		return "text"
	case "bool":
		return "truth value"
	case "slice":
		return "list"
	case "map", "struct":
		return "object"
	case "int", "int32", "int64":
		return "whole number (of 32 bits, for a token)"
	}
	return "number"
}

// prune removes what says nothing: null, "", [], {}.
func (f fields) prune() {
	maps.DeleteFunc(f, func(_ string, raw json.RawMessage) bool {
		switch string(bytes.TrimSpace(raw)) {
		case "null", `""`, "[]", "{}":
			return true
		}
		return false
	})
}

// names are the keys, sorted.
func (f fields) names() []string { return slices.Sorted(maps.Keys(f)) }

// kind names what a value is.
func kind(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "a list"
	case raw[0] == '"':
		return "text"
	case raw[0] == 't', raw[0] == 'f':
		return "a truth value"
	case raw[0] == 'n':
		return "null"
	}
	return "a number"
}

package webshop

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Kind is what a file of recorded answers holds.
type Kind string

// The kinds of files, told apart by their content.
const (
	KindEpisodes Kind = "episodes"     // of the text environment, step by step
	KindGoals    Kind = "goals"        // the ordered list
	KindPrices   Kind = "prices"       // of all products, and the draws of the next resets
	KindSearch   Kind = "search"       // queries with terms and hits
	KindAnalyzer Kind = "analyzer"     // documents' terms
	KindFuzz     Kind = "fuzzy ratios" // of pairs of phrases
	KindColors   Kind = "colours"
	KindActions  Kind = "actions"
	KindRandom   Kind = "random streams"
	KindSite     Kind = "site requests"
	KindSiteLog  Kind = "site log"
	KindLog      Kind = "recorded episodes" // transcripts that other people recorded
	KindNouns    Kind = "noun table"
)

// Case is one recorded answer, or one episode.
type Case struct {
	Kind Kind
	Name string
	Note string // what is remarkable though it agrees
	Err  error  // nil if everything agreed; *MismatchError for a difference
}

// MismatchError is the first difference of a case.
type MismatchError struct {
	Step   int
	Action string
	Field  string
	Got    string
	Want   string
}

// Error prints the step, the field and both values.
func (m *MismatchError) Error() string {
	where := ""
	if m.Action != "" {
		where = fmt.Sprintf("step %d, action %q: ", m.Step, m.Action)
	}
	return fmt.Sprintf("%s%s differs\n got: %s\nwant: %s", where, m.Field, m.Got, m.Want)
}

// differ is nil for equal values.
func differ[T comparable](field string, got, want T) error {
	if got == want {
		return nil
	}
	return &MismatchError{Field: field, Got: fmt.Sprintf("%#v", got), Want: fmt.Sprintf("%#v", want)}
}

// differText shows the place where two texts part.
func differText(field, got, want string) error {
	if got == want {
		return nil
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	around := func(s string) string { return s[min(max(0, i-40), len(s)):min(i+80, len(s))] }
	return &MismatchError{Field: fmt.Sprintf("%s at byte %d", field, i), Got: fmt.Sprintf("%q", around(got)), Want: fmt.Sprintf("%q", around(want))}
}

// differJSON compares values by their JSON.
func differJSON(field string, got any, want json.RawMessage) error {
	raw, err := json.Marshal(got)
	if err != nil {
		return err
	}
	var a, b any
	if err := errors.Join(json.Unmarshal(raw, &a), json.Unmarshal(want, &b)); err != nil {
		return err
	}
	x, errX := json.Marshal(a) // sorted keys
	y, errY := json.Marshal(b)
	if err := errors.Join(errX, errY); err != nil {
		return err
	}
	return differText(field, string(x), string(y))
}

// run is one file being checked.
type run struct {
	*Library
	name           string
	kind           Kind
	report         func(Case)
	passed, failed int
}

func (r *run) add(name string, err error) { r.note(name, "", err) }

func (r *run) note(name, note string, err error) {
	if err == nil {
		r.passed++
	} else {
		r.failed++
	}
	if r.report != nil {
		r.report(Case{Kind: r.kind, Name: name, Note: note, Err: err})
	}
}

// Verify compares a file of the original's recorded answers with this package's, value by value. The
// file is JSON or JSON lines, plain or gzipped; what it holds is told by its content, and, where it does
// not say with which seed it was made, by its name or by trying seeds. report is called once for each
// case, in order, and may be nil. An error means that the file cannot be checked at all.
func Verify(ctx context.Context, name string, r io.Reader, l *Library, report func(Case)) (passed, failed int, err error) {
	values, err := readValues(r)
	if err != nil {
		return 0, 0, fmt.Errorf("read %q: %w", name, err)
	}
	kind, err := kindOf(values)
	if err != nil {
		return 0, 0, fmt.Errorf("read %q: %w", name, err)
	}
	v := &run{Library: l, name: filepath.Base(name), kind: kind, report: report}
	check := map[Kind]func(context.Context, []json.RawMessage) error{
		KindEpisodes: v.episodes, KindGoals: v.goals, KindPrices: v.prices, KindSearch: v.search, KindAnalyzer: v.analyzer,
		KindFuzz: v.fuzz, KindColors: v.colors, KindActions: v.actions, KindRandom: v.random, KindSite: v.siteRequests,
		KindSiteLog: v.siteLog, KindLog: v.logs, KindNouns: v.nounTable,
	}[kind]
	if err := check(ctx, values); err != nil {
		return v.passed, v.failed, fmt.Errorf("check %s of %q: %w", kind, name, err)
	}
	return v.passed, v.failed, ctx.Err()
}

// readValues reads one JSON value after another; the elements of a single list count as values.
func readValues(r io.Reader) ([]json.RawMessage, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	if magic, err := br.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, err
		}
		defer zr.Close()
		br = bufio.NewReaderSize(zr, 1<<16)
	}
	var out []json.RawMessage
	for dec := json.NewDecoder(br); ; {
		var v json.RawMessage
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", len(out)+1, err)
		}
		out = append(out, v)
	}
	if len(out) == 1 && bytes.HasPrefix(bytes.TrimSpace(out[0]), []byte("[")) {
		var list []json.RawMessage
		if err := json.Unmarshal(out[0], &list); err != nil {
			return nil, err
		}
		out = list
	}
	return out, nil
}

// marks are the keys by which kinds are told, most telling first.
var marks = []struct {
	kind Kind
	keys []string
}{
	{KindEpisodes, []string{"variant", "steps", "reset"}},
	{KindLog, []string{"transcript"}},
	{KindLog, []string{"steps", "instruction_text"}},
	{KindSiteLog, []string{"page", "url", "goal"}},
	{KindSite, []string{"method", "url", "status"}},
	{KindActions, []string{"action", "name", "arg"}},
	{KindPrices, []string{"prices"}},
	{KindSearch, []string{"query", "hits"}},
	{KindAnalyzer, []string{"id", "tokens"}},
	{KindFuzz, []string{"s1", "s2"}},
	{KindRandom, []string{"mt"}},
	{KindGoals, []string{"asin", "instruction_text", "price_upper"}},
}

func kindOf(values []json.RawMessage) (Kind, error) {
	if len(values) == 0 {
		return "", errors.New("no record in it")
	}
	var first map[string]json.RawMessage
	if err := json.Unmarshal(values[0], &first); err != nil {
		return "", fmt.Errorf("want objects: %w", err)
	}
	for _, m := range marks {
		all := true
		for _, k := range m.keys {
			_, ok := first[k]
			all = all && ok
		}
		if all {
			return m.kind, nil
		}
	}
	var texts map[string]string
	var lists map[string][]string
	switch {
	case len(values) > 1 || len(first) == 0:
	case json.Unmarshal(values[0], &texts) == nil:
		return KindColors, nil
	case json.Unmarshal(values[0], &lists) == nil:
		return KindNouns, nil
	}
	return "", errors.New("no known kind of record")
}

// decode reads each value into a T and hands it on.
func decode[T any](ctx context.Context, values []json.RawMessage, f func(i int, v *T) error) error {
	for i, raw := range values {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := new(T)
		if err := json.Unmarshal(raw, v); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		if err := f(i, v); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	return nil
}

// KindOfFile tells what a file of recorded answers holds.
func KindOfFile(r io.Reader) (Kind, error) {
	values, err := readValues(r)
	if err != nil {
		return "", err
	}
	return kindOf(values)
}

package swebench

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

// Instance is one row of a dataset: an issue of a repository, the tests that show it is fixed, and how
// to run and read them.
type Instance struct {
	ID               string
	Repo             string // "owner/name"
	BaseCommit       string
	Version          string // of the repository, as the dataset writes it; chooses the install commands
	ProblemStatement string
	Hints            string
	CreatedAt        string
	Patch            string // the gold patch; an agent never sees it
	TestPatch        string // adds or changes the tests; an agent never sees it
	FailToPass       []string
	PassToPass       []string
	SetupCommit      string // environment_setup_commit
	Difficulty       string

	// The fields that release 5 added. Where a row lacks them they are filled in by repository.
	Image      string         // "" where the row names none: see Images
	EvalScript string         // "" where the row has none and it cannot be rebuilt
	LogParser  string         // name in testlog's registry
	EvalType   grade.EvalType // pass_and_fail or fail_only
	Assets     []Asset        // binary files that the text of the test patch cannot carry
	Rebuilt    bool           // EvalScript was rebuilt, not read
}

// Asset is a binary file that belongs to a patch.
type Asset struct {
	Path string `json:"path"` // in the repository
	URL  string `json:"url"`
}

// Grading returns what package grade must know of the instance.
func (in *Instance) Grading() grade.Spec {
	return grade.Spec{
		InstanceID: in.ID, Version: in.Version, Parser: in.LogParser, EvalType: in.EvalType,
		FailToPass: in.FailToPass, PassToPass: in.PassToPass,
	}
}

// RowError is a row that cannot be used: where it is, and which field of it is wrong.
type RowError struct {
	Row   int    // 1-based in its file
	ID    string // instance_id, "" where that is what is wrong
	Field string
	Err   error
}

// Error prints "row n (id): field "f": cause".
func (e *RowError) Error() string {
	id := ""
	if e.ID != "" {
		id = " (" + e.ID + ")"
	}
	return fmt.Sprintf("row %d%s: field %q: %v", e.Row, id, e.Field, e.Err)
}

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// ErrMissing is the cause of a RowError for a field that is absent, null or empty.
var ErrMissing = errors.New("missing")

// row is a record of a dataset file before it is checked: field names to strings, lists of strings, or
// what JSON has else. A null is absent.
type row map[string]any

// reader takes fields out of a row and keeps the first thing that is wrong.
type reader struct {
	row row
	err *RowError
}

func (r *reader) fail(field string, err error) {
	if r.err == nil {
		r.err = &RowError{Field: field, Err: err}
	}
}

// text reads a string field.
func (r *reader) text(field string, required bool) string {
	v, ok := r.row[field]
	if !ok || v == nil {
		if required {
			r.fail(field, ErrMissing)
		}
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.fail(field, fmt.Errorf("%T where a string belongs", v))
	}
	if required && strings.TrimSpace(s) == "" {
		r.fail(field, ErrMissing)
	}
	return s
}

// tests reads a list of test names, either as such or as JSON text.
func (r *reader) tests(field string) []string {
	v, ok := r.row[field]
	if !ok || v == nil {
		r.fail(field, ErrMissing)
		return nil
	}
	switch t := v.(type) {
	case []string:
		return t
	case string:
		var list []string
		if err := json.Unmarshal([]byte(t), &list); err != nil {
			r.fail(field, fmt.Errorf("read it as a JSON list of test names: %w", err))
		}
		if list == nil {
			r.fail(field, errors.New("no list of test names"))
		}
		return list
	case []any:
		list := make([]string, len(t))
		for i, e := range t {
			s, ok := e.(string)
			if !ok {
				r.fail(field, fmt.Errorf("element %d is a %T where a test name belongs", i, e))
			}
			list[i] = s
		}
		return list
	}
	r.fail(field, fmt.Errorf("%T where a list of test names belongs", v))
	return nil
}

// assets reads image_assets, an object or its JSON text, keyed by the patch that the files belong to.
func (r *reader) assets() []Asset {
	v := r.row["image_assets"]
	text, isText := v.(string)
	if v == nil || isText && strings.TrimSpace(text) == "" {
		return nil
	}
	if !isText {
		b, err := json.Marshal(v)
		if err != nil {
			r.fail("image_assets", err)
			return nil
		}
		text = string(b)
	}
	// Other keys (the pictures) need not be lists of files, and are not looked at.
	var byPatch map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &byPatch); err != nil {
		r.fail("image_assets", err)
		return nil
	}
	var all []Asset
	for _, key := range [...]string{"test_patch", "patch"} {
		if byPatch[key] == nil {
			continue
		}
		var list []Asset
		if err := json.Unmarshal(byPatch[key], &list); err != nil {
			r.fail("image_assets", fmt.Errorf("%s: %w", key, err))
		}
		for _, a := range list {
			if a.Path != "" {
				all = append(all, a)
			}
		}
	}
	return all
}

// newInstance checks a row and fills in what a release before 5 left out.
func newInstance(number int, fields row) (*Instance, error) {
	r := &reader{row: fields}
	in := &Instance{
		ID:               r.text("instance_id", true),
		Repo:             r.text("repo", true),
		BaseCommit:       r.text("base_commit", true),
		Version:          r.text("version", false),
		ProblemStatement: r.text("problem_statement", true),
		Hints:            r.text("hints_text", false),
		CreatedAt:        r.text("created_at", false),
		Patch:            r.text("patch", false),
		TestPatch:        r.text("test_patch", false),
		FailToPass:       r.tests("FAIL_TO_PASS"),
		PassToPass:       r.tests("PASS_TO_PASS"),
		SetupCommit:      r.text("environment_setup_commit", false),
		Difficulty:       r.text("difficulty", false),
		EvalScript:       r.text("eval_script", false),
		LogParser:        r.text("log_parser", false),
		Assets:           r.assets(),
	}
	for _, field := range [...]string{"image", "image_name", "docker_image"} {
		if in.Image == "" {
			in.Image = r.text(field, false)
		}
	}
	evalType, err := grade.ParseEvalType(r.text("eval_type", false))
	if err != nil {
		r.fail("eval_type", err)
	}
	in.EvalType = evalType
	if r.err == nil {
		in.complete(r)
	}
	if r.err != nil {
		r.err.Row, r.err.ID = number, in.ID
		return nil, r.err
	}
	return in, nil
}

// complete fills in the fields of release 5 by repository.
func (in *Instance) complete(r *reader) {
	if in.LogParser == "" {
		in.LogParser = repoParsers[strings.ToLower(in.Repo)]
		if in.LogParser == "" {
			r.fail("log_parser", fmt.Errorf("%w, and repository %s is not known", ErrMissing, in.Repo))
		}
	} else if !testlog.Known(in.LogParser) {
		r.fail("log_parser", fmt.Errorf("%q: %w", in.LogParser, testlog.ErrUnknownParser))
	}
	if _, ok := r.row["eval_type"].(string); !ok && failOnlyRepos[strings.ToLower(in.Repo)] {
		in.EvalType = grade.FailOnly
	}
	if in.EvalScript != "" {
		return
	}
	// Without a script a row still serves to grade logs; running it says what is missing.
	if script, err := RebuildEvalScript(in, testlog.V502); err == nil {
		in.EvalScript, in.Rebuilt = script, true
	}
}

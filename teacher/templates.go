package teacher

import (
	"crypto/sha256"
	_ "embed" // the default wording
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pyformat"
	"github.com/hindsightrl/harness/internal/templatefile"
)

//go:embed templates.yaml
var defaultFile []byte

// agentPrefix begins the keys that are package agent's: the same file may hold both.
const agentPrefix = "agent_"

// Templates are the strings that contexts are made of, parsed and checked: immutable, safe for
// concurrent use. Start from DefaultTemplates.
type Templates struct {
	byKey map[string]*pyformat.Template
	hash  string
}

var defaultTemplates = mustDefault()

// DefaultTemplates returns the project's own wording.
func DefaultTemplates() *Templates { return defaultTemplates }

// mustDefault parses the embedded file; that it parses is checked by the package's tests.
func mustDefault() *Templates {
	texts, err := templatefile.Decode(defaultFile)
	if err != nil {
		panic(err)
	}
	t, err := (&Templates{}).with(texts)
	if err != nil {
		panic(err)
	}
	for key := range placeholders {
		if t.byKey[key] == nil {
			panic("no default for template " + key)
		}
	}
	return t
}

// ParseTemplates reads a JSON or YAML file of strings that replace the defaults of the same keys. Keys
// that start with "_" are comments, keys that start with "agent_" are package agent's. An unknown key,
// an unknown placeholder and a missing one that the text cannot do without are errors that name the
// nearest valid one.
func ParseTemplates(file []byte) (*Templates, error) {
	texts, err := templatefile.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("parse templates: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if strings.HasPrefix(key, agentPrefix) {
			delete(texts, key)
			continue
		}
		if _, known := placeholders[key]; !known {
			near := templatefile.Nearest(key, slices.Sorted(maps.Keys(placeholders)))
			return nil, errext.WithHint(fmt.Errorf("parse templates: unknown key %q", key), fmt.Sprintf("the nearest key is %q", near))
		}
	}
	t, err := defaultTemplates.with(texts)
	if err != nil {
		return nil, fmt.Errorf("parse templates: %w", err)
	}
	return t, nil
}

func (t *Templates) with(texts map[string]string) (*Templates, error) {
	out := &Templates{byKey: maps.Clone(t.byKey)}
	if out.byKey == nil {
		out.byKey = make(map[string]*pyformat.Template, len(texts))
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		parsed, err := parseTemplate(key, texts[key])
		if err != nil {
			return nil, err
		}
		out.byKey[key] = parsed
	}
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(out.byKey)) {
		text := out.byKey[key].Source()
		fmt.Fprintf(h, "%d:%s%d:%s", len(key), key, len(text), text)
	}
	out.hash = hex.EncodeToString(h.Sum(nil))
	return out, nil
}

// Hash is the SHA-256 over all strings with their keys, hex: equal hashes write equal contexts.
func (t *Templates) Hash() string { return t.hash }

// Keys lists the keys in order.
func (t *Templates) Keys() []string { return slices.Sorted(maps.Keys(t.byKey)) }

// Text returns the string of a key as it was read, "" where there is none.
func (t *Templates) Text(key string) string {
	if p := t.byKey[key]; p != nil {
		return p.Source()
	}
	return ""
}

// fieldKind is what a placeholder is filled with.
type fieldKind int

const (
	fieldText fieldKind = iota
	fieldInt
	fieldFloat // printed with as many decimals as the placeholder says: {reward:.4f}
)

// placeholder is one that a text may have; required, if it must.
type placeholder struct {
	name     string
	kind     fieldKind
	required bool
}

// placeholders lists the keys with what each may hold.
var placeholders = map[string][]placeholder{
	"context":                            {{"prompt", fieldText, true}, {"privileged_context", fieldText, true}},
	"section":                            {{"title", fieldText, false}, {"content", fieldText, true}},
	"section_separator":                  nil,
	"title_successful_trajectory":        nil,
	"title_immediate_feedback":           nil,
	"title_next_observation":             nil,
	"title_future_trajectory":            nil,
	"title_anchor_candidates":            nil,
	"title_trajectory_judge":             nil,
	"title_privileged":                   nil,
	"trajectory_step_response":           {{"step", fieldInt, false}, {"response", fieldText, true}},
	"trajectory_step_observation_action": {{"step", fieldInt, false}, {"observation", fieldText, true}, {"action", fieldText, true}},
	"trajectory_step_separator":          nil,
	"trajectory_omitted":                 {{"count", fieldInt, false}},
	"trajectory_skipped":                 {{"count", fieldInt, false}},
	"candidate": {
		{"action", fieldText, true},
		{"count", fieldInt, false},
		{"successes", fieldInt, false},
		{"average_return", fieldFloat, false},
	},
	"candidate_best":           {{"outcome", fieldText, false}},
	"candidate_worst":          {{"outcome", fieldText, false}},
	"outcome":                  {{"label", fieldText, false}, {"reward", fieldFloat, false}},
	"outcome_success":          nil,
	"outcome_failure":          nil,
	"outcome_unavailable":      nil,
	"candidate_best_feedback":  nil,
	"candidate_worst_feedback": nil,
	"candidate_best_next":      nil,
	"candidate_worst_next":     nil,
	"candidate_success_future": nil,
	"candidate_failed_future":  nil,
	"candidate_no_future":      nil,
	"candidate_separator":      nil,
	"candidates_skipped":       {{"count", fieldInt, false}},
	"anchor_feedback_line":     {{"action", fieldText, true}, {"feedback", fieldText, true}},
	"empty_action":             nil,
	"text_cut":                 {{"count", fieldInt, false}},

	"judge_system":              nil,
	"judge_prompt":              {{"task", fieldText, true}, {"trajectory", fieldText, true}, {"outcome", fieldText, true}},
	"judge_prompt_on_success":   {{"task", fieldText, true}, {"trajectory", fieldText, true}, {"outcome", fieldText, true}, {"reference", fieldText, true}},
	"judge_reference":           {{"trajectory", fieldText, true}, {"outcome", fieldText, true}},
	"judge_outcome":             {{"solved", fieldText, false}, {"reward", fieldFloat, false}, {"steps", fieldInt, false}},
	"judge_outcome_observation": {{"observation", fieldText, true}},
	"judge_outcome_feedback":    {{"feedback", fieldText, true}},
	"judge_solved":              nil,
	"judge_not_solved":          nil,
}

func parseTemplate(key, text string) (*pyformat.Template, error) {
	p, err := pyformat.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("template %q: %w", key, err)
	}
	allowed := placeholders[key]
	for _, f := range p.Fields() {
		i := slices.IndexFunc(allowed, func(a placeholder) bool { return a.name == f.Name })
		if i < 0 {
			return nil, unknownField(key, text, f, allowed)
		}
		switch kind := allowed[i].kind; {
		case kind == fieldText && f.Precision >= 0:
			return nil, fmt.Errorf("template %q: placeholder %q is a text and takes no format", key, f.Name)
		case kind == fieldFloat && f.Precision < 0:
			return nil, errext.WithHint(fmt.Errorf("template %q: placeholder %q needs a number of decimals", key, f.Name),
				fmt.Sprintf("write {%s:.4f}", f.Name))
		}
	}
	for _, a := range allowed {
		if a.required && !p.Has(a.name) {
			return nil, errext.WithHint(fmt.Errorf("template %q: placeholder %q is missing", key, a.name),
				fmt.Sprintf("put {%s} where it belongs in the text", a.name))
		}
	}
	return p, nil
}

func unknownField(key, text string, f pyformat.Field, allowed []placeholder) error {
	line := 1 + strings.Count(text[:f.Offset], "\n")
	err := fmt.Errorf("template %q: line %d: unknown placeholder %q", key, line, f.Name)
	if len(allowed) == 0 {
		return errext.WithHint(err, "this string has no placeholders; write {{ and }} for braces")
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = a.name
	}
	return errext.WithHint(err, fmt.Sprintf("the nearest valid placeholder is {%s}", templatefile.Nearest(f.Name, names)))
}

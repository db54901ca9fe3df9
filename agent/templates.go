package agent

import (
	_ "embed" // the default wording
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pyformat"
	"github.com/hindsightrl/harness/internal/templatefile"
)

//go:embed prompts/default.yaml
var defaultPrompts []byte

//go:embed prompts/swebench.yaml
var swebenchPrompts []byte

//go:embed prompts/swebench_compact.yaml
var swebenchCompactPrompts []byte

//go:embed prompts/compact.yaml
var compactPrompts []byte

//go:embed prompts/qa.yaml
var qaPrompts []byte

//go:embed prompts/qa_compact.yaml
var qaCompactPrompts []byte

// BuiltinTemplates are the names that NamedTemplates knows, with a line of explanation each.
var BuiltinTemplates = [][2]string{
	{"default", "the project's own wording"},
	{"compact", "short prompts without the list of commands, for models with a context of a few hundred tokens"},
}

// NamedTemplates returns a built-in set of templates; ok is false for any other name.
func NamedTemplates(name string) (t *Templates, ok bool) {
	switch name {
	case "default":
		return defaultTemplates, true
	case "compact":
		return compactTemplates, true
	}
	return nil, false
}

// Template keys that every format uses; the prompts of an environment have keys of their own
// (Format.First and Format.Later).
const (
	keyHistoryLine      = "agent_history_line"
	keyHistorySeparator = "agent_history_separator"
	keyPrefix           = "agent_"
)

// promptFields are the placeholders that a prompt may use.
var promptFields = []string{
	"task_description", "step_count", "history_length", "action_history", "current_step",
	"current_observation", "admissible_actions", "available_actions",
}

var historyFields = []string{"step", "observation", "action"}

// Templates are the strings that prompts are made of, parsed and checked. The zero value has none;
// start from DefaultTemplates. Templates are immutable and safe for concurrent use.
type Templates struct {
	byKey map[string]*pyformat.Template
}

// DefaultTemplates returns the project's own wording.
func DefaultTemplates() *Templates { return defaultTemplates }

var (
	defaultTemplates = mustTemplates(mustTemplates(mustTemplates(new(Templates), defaultPrompts), qaPrompts), swebenchPrompts)
	compactTemplates = mustTemplates(mustTemplates(mustTemplates(defaultTemplates, compactPrompts), qaCompactPrompts), swebenchCompactPrompts)
)

// mustTemplates parses an embedded file on top of base; that it parses is checked by the package's tests.
func mustTemplates(base *Templates, file []byte) *Templates {
	texts, err := templatefile.Decode(file)
	if err != nil {
		panic(err)
	}
	t, err := base.With(texts)
	if err != nil {
		panic(err)
	}
	return t
}

// ParseTemplates reads a JSON or YAML file of strings and puts those whose key starts with "agent_" in
// place of the defaults. Keys that start with "_" are comments; all other keys are the teacher's, which
// reads the same file, and are checked there. An unknown agent_ key, an unknown placeholder, and a
// missing one that a prompt cannot do without are errors that name the nearest valid one.
func ParseTemplates(file []byte) (*Templates, error) {
	texts, err := templatefile.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("parse templates: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if !strings.HasPrefix(key, keyPrefix) {
			if near := templatefile.Misspelt(key, defaultTemplates.Keys()); near != "" {
				return nil, errext.WithHint(fmt.Errorf("parse templates: unknown key %q", key), fmt.Sprintf("did you mean %q?", near))
			}
			delete(texts, key)
			continue
		}
		if _, known := defaultTemplates.byKey[key]; !known {
			near := templatefile.Nearest(key, defaultTemplates.Keys())
			return nil, errext.WithHint(fmt.Errorf("parse templates: unknown key %q", key), fmt.Sprintf("the nearest key is %q", near))
		}
	}
	t, err := defaultTemplates.With(texts)
	if err != nil {
		return nil, fmt.Errorf("parse templates: %w", err)
	}
	return t, nil
}

// With returns a copy in which texts replace or join the strings: the way for a new environment to
// bring prompts of its own under "agent_<name>_first", "agent_<name>" and "agent_<name>_turn".
func (t *Templates) With(texts map[string]string) (*Templates, error) {
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
	return out, nil
}

// Keys lists the keys in order.
func (t *Templates) Keys() []string { return slices.Sorted(maps.Keys(t.byKey)) }

// Text returns the string of a key as it was read, "" where there is none.
func (t *Templates) Text(key string) string {
	if p := t.byKey[key]; p != nil {
		return p.Source()
	}
	return ""
}

func parseTemplate(key, text string) (*pyformat.Template, error) {
	p, err := pyformat.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("template %q: %w", key, err)
	}
	allowed, required := fieldsOf(key)
	for _, f := range p.Fields() {
		if !slices.Contains(allowed, f.Name) {
			return nil, unknownField(key, text, f, allowed)
		}
		if f.Precision >= 0 {
			return nil, fmt.Errorf("template %q: placeholder %q takes no format", key, f.Name)
		}
	}
	for _, name := range required {
		if !p.Has(name) {
			return nil, errext.WithHint(fmt.Errorf("template %q: placeholder %q is missing", key, name),
				fmt.Sprintf("put {%s} where it belongs in the text", name))
		}
	}
	return p, nil
}

// fieldsOf says which placeholders a key may and must use. A prompt without the observation is no
// prompt, and one for later steps without the history would not differ from the first one's.
func fieldsOf(key string) (allowed, required []string) {
	switch {
	case key == keyHistorySeparator:
		return nil, nil
	case key == keyHistoryLine:
		return historyFields, []string{"observation", "action"}
	case strings.HasSuffix(key, "_first"), strings.HasSuffix(key, "_turn"):
		return promptFields, []string{"current_observation"}
	}
	return promptFields, []string{"current_observation", "action_history"}
}

func unknownField(key, text string, f pyformat.Field, allowed []string) error {
	line := 1 + strings.Count(text[:f.Offset], "\n")
	err := fmt.Errorf("template %q: line %d: unknown placeholder %q", key, line, f.Name)
	if len(allowed) == 0 {
		return errext.WithHint(err, "this string has no placeholders; write {{ and }} for braces")
	}
	return errext.WithHint(err, fmt.Sprintf("the nearest valid placeholder is {%s}", templatefile.Nearest(f.Name, allowed)))
}

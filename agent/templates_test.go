package agent

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/templatefile"
	"github.com/hindsightrl/harness/internal/testutil"
)

func TestDefaultTemplatesServeEveryFormat(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, k := range DefaultTemplates().Keys() {
		keys[k] = true
		if strings.TrimSpace(DefaultTemplates().Text(k)) == "" && k != keyHistorySeparator {
			t.Errorf("template %q is empty", k)
		}
	}
	for env, f := range DefaultFormats() {
		if !keys[f.First] || !keys[f.Later] {
			t.Errorf("format %q: no templates %q and %q", env, f.First, f.Later)
		}
		if f.MaxSteps < 1 {
			t.Errorf("format %q: %d steps", env, f.MaxSteps)
		}
	}
	if got := DefaultTemplates().Text("agent_nothing"); got != "" {
		t.Errorf("text of an unknown key: %q", got)
	}
}

// The compact prompts serve every format that the default ones do, hold what an agent cannot do without,
// and are shorter.
func TestCompactTemplates(t *testing.T) {
	t.Parallel()
	compact, ok := NamedTemplates("compact")
	if !ok || !slices.Equal(compact.Keys(), DefaultTemplates().Keys()) {
		t.Fatalf("keys %v", compact.Keys())
	}
	scene := Scene{
		Task: "heat an egg", Observation: harness.Observation{Text: "You see an egg 1.", Admissible: []string{"take egg 1", "look"}},
		History: []Past{{"You are at home.", "go to fridge 1"}}, Window: 1,
	}
	for env, f := range DefaultFormats() {
		if env == "qa" {
			continue // asked once, and answered in a box: TestPromptQA
		}
		for _, window := range []int{0, 1} {
			s := scene
			s.Window = window
			short, err := f.Prompt(compact, s)
			if err != nil {
				t.Fatal(err)
			}
			long, err := f.Prompt(DefaultTemplates(), s)
			if err != nil {
				t.Fatal(err)
			}
			text := short[0].Content
			if !strings.Contains(text, "heat an egg") || !strings.Contains(text, "You see an egg 1.") || !strings.Contains(text, "<action>") && !f.Conversation {
				t.Errorf("%s, window %d: %q", env, window, text)
			}
			if strings.Contains(text, "take egg 1") || strings.Contains(text, "go to fridge 1") != (window > 0) {
				t.Errorf("%s, window %d: %q", env, window, text)
			}
			if 2*len(text) > len(long[0].Content) {
				t.Errorf("%s: %d bytes, the default prompt has %d", env, len(text), len(long[0].Content))
			}
		}
	}
	if d, ok := NamedTemplates("default"); !ok || d != DefaultTemplates() {
		t.Error("default is another set")
	}
	if _, ok := NamedTemplates("file.yaml"); ok {
		t.Error("a file is a name")
	}
	for _, b := range BuiltinTemplates {
		if _, ok := NamedTemplates(b[0]); !ok {
			t.Errorf("%q is listed and unknown", b[0])
		}
	}
}

func TestReferenceTemplatesLoad(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(testutil.Shared(t, "vectors/serl/templates.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseTemplates(file)
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	readJSON(t, "vectors/serl/templates.json", &texts)
	for _, key := range got.Keys() {
		if want, ok := texts[key]; ok && got.Text(key) != want {
			t.Errorf("%s = %q, want %q", key, got.Text(key), want)
		}
	}
	if got.Text("agent_generic") != DefaultTemplates().Text("agent_generic") {
		t.Error("a key that the file does not have lost its default")
	}
}

func TestParseTemplates(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"json":     `{"_about": {"any": 1}, "title_feedback": "{whatever}", "agent_history_separator": "|", "agent_history_line": "{observation}\u2011{action} {{}} \ud83d\ude42"}`,
		"yaml":     "_about: [1]\ntitle_feedback: \"{whatever}\"\nagent_history_separator: '|'\nagent_history_line: \"{observation}\\u2011{action} {{}} \U0001F642\"\n",
		"with bom": "\ufeff" + `{"agent_history_separator": "|", "agent_history_line": "{observation}‑{action} {{}} 🙂"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseTemplates([]byte(file))
			if err != nil {
				t.Fatal(err)
			}
			text, err := got.history([]Past{{"o{step}", "a"}, {"p", "b"}}, 0)
			if want := "o{step}\u2011a {} 🙂|p\u2011b {} 🙂"; err != nil || text != want {
				t.Errorf("history %q, %v, want %q", text, err, want)
			}
		})
	}
}

func TestParseTemplatesErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, want, hint string }{
		{"unknown key", `{"agent_alfwrld": "x"}`, `parse templates: unknown key "agent_alfwrld"`, `the nearest key is "agent_alfworld"`},
		{"slip in the prefix", `{"agnt_webshop": "x"}`, `parse templates: unknown key "agnt_webshop"`, `did you mean "agent_webshop"?`},
		{
			"unknown placeholder", `{"agent_webshop_first": "a\n{curent_observation}"}`,
			`parse templates: template "agent_webshop_first": line 2: unknown placeholder "curent_observation"`, "the nearest valid placeholder is {current_observation}",
		},
		{
			"placeholder in the separator", `{"agent_history_separator": "{step}"}`,
			`parse templates: template "agent_history_separator": line 1: unknown placeholder "step"`, "this string has no placeholders; write {{ and }} for braces",
		},
		{
			"missing observation", `{"agent_alfworld_first": "{admissible_actions}"}`,
			`parse templates: template "agent_alfworld_first": placeholder "current_observation" is missing`, "put {current_observation} where it belongs in the text",
		},
		{
			"missing history", `{"agent_alfworld": "{current_observation}"}`,
			`parse templates: template "agent_alfworld": placeholder "action_history" is missing`, "put {action_history} where it belongs in the text",
		},
		{
			"missing action", `{"agent_history_line": "{observation}"}`,
			`parse templates: template "agent_history_line": placeholder "action" is missing`, "put {action} where it belongs in the text",
		},
		{"number format", `{"agent_history_line": "{step:.2f}{observation}{action}"}`, `parse templates: template "agent_history_line": placeholder "step" takes no format`, ""},
		{"brace", `{"agent_history_line": "}"}`, `parse templates: template "agent_history_line": line 1: a single '}' (write '}}' for a brace)`, ""},
		{"not a string", `{"agent_alfworld": 3}`, `parse templates: key "agent_alfworld": not a string`, ""},
		{"yaml number", "agent_alfworld: 3", `parse templates: line 1: key "agent_alfworld": not a string`, ""},
		{"twice", `{"a": "", "a": ""}`, `parse templates: key "a" occurs twice`, ""},
		{"yaml list", "- a", "parse templates: the file is not a mapping of keys to strings", ""},
		{"empty", "", "parse templates: the file is empty", ""},
		{"two documents", "a: b\n---\na: c\n", "parse templates: the file holds more than one document", ""},
		{"tail", `{} x`, "parse templates: something follows the closing brace", ""},
		{"not utf-8", "a: \xff", "parse templates: the file is not UTF-8", ""},
		{"too long", strings.Repeat("#", templatefile.MaxBytes+1), "parse templates: the file has 4194305 bytes, more than 4194304", ""},
		{"cut json", `{"a": "b"`, "parse templates: EOF", ""},
		{"bad json value", `{"a": }`, `parse templates: key "a": invalid character '}' looking for beginning of value`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseTemplates([]byte(c.file))
			if err == nil || err.Error() != c.want || errext.Hint(err) != c.hint {
				t.Errorf("error %v (hint %q), want %s (hint %q)", err, errext.Hint(err), c.want, c.hint)
			}
		})
	}
}

func TestWithBringsNewKeys(t *testing.T) {
	t.Parallel()
	more, err := DefaultTemplates().With(map[string]string{"agent_maze_first": "{current_observation}", "agent_maze": "{action_history}{current_observation}"})
	if err != nil {
		t.Fatal(err)
	}
	f := plainFormat
	f.First, f.Later = "agent_maze_first", "agent_maze"
	scene := Scene{Window: 1, History: []Past{{"dark", "n"}}}
	scene.Observation.Text = "light"
	got, err := f.Prompt(more, scene)
	if err != nil {
		t.Fatal(err)
	}
	if want := "(1) saw: dark\n(1) did: nlight"; got[0].Content != want {
		t.Errorf("prompt %q, want %q", got[0].Content, want)
	}
	if diff := cmp.Diff(DefaultTemplates().Keys(), defaultTemplates.Keys()); diff != "" || DefaultTemplates().Text("agent_maze") != "" {
		t.Errorf("With changed its receiver: %s", diff)
	}
	if _, err := f.Prompt(DefaultTemplates(), scene); err == nil || err.Error() != `no prompt template "agent_maze"` {
		t.Errorf("prompt without its template: %v", err)
	}
}

// What loads can be rendered for any scene.
func FuzzParseTemplates(f *testing.F) {
	f.Add([]byte(`{"agent_alfworld": "{current_observation}{action_history}", "_x": 1}`))
	f.Add([]byte("agent_history_line: '{action} {observation}'\n"))
	f.Add([]byte("a: &x b\nc: *x\n"))
	f.Add([]byte("{"))
	f.Add(defaultPrompts)
	f.Fuzz(func(t *testing.T, file []byte) {
		templates, err := ParseTemplates(file)
		if err != nil {
			return
		}
		scene := Scene{Task: "t", Window: 2, History: []Past{{"o", "a"}, {"{", "}"}}}
		for env, format := range DefaultFormats() {
			if _, err := format.Prompt(templates, scene); err != nil {
				t.Fatalf("%s: %v", env, err)
			}
		}
	})
}

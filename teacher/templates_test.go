package teacher

import (
	"os"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/templatefile"
	"github.com/hindsightrl/harness/internal/testutil"
)

func TestReferenceFileLoadsAsItIs(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(testutil.Shared(t, "vectors/serl/templates.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseTemplates(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash() == DefaultTemplates().Hash() || got.Text("empty_action") != "(empty action)" {
		t.Errorf("nothing was replaced: %q", got.Text("empty_action"))
	}
	texts, err := templatefile.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range texts {
		if len(text) > 20 && text == DefaultTemplates().Text(key) {
			t.Errorf("the default of %s is not the project's own: %q", key, text)
		}
	}
}

func TestTemplateFilesAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, want, hint string }{
		{`{"contxt": "x"}`, `unknown key "contxt"`, `the nearest key is "context"`},
		{`{"context": "{prompt}"}`, `template "context": placeholder "privileged_context" is missing`, "put {privileged_context} where it belongs in the text"},
		{`{"context": "\n{promt}{privileged_context}"}`, `template "context": line 2: unknown placeholder "promt"`, "the nearest valid placeholder is {prompt}"},
		{`{"section_separator": "{x}"}`, `template "section_separator": line 1: unknown placeholder "x"`, "this string has no placeholders; write {{ and }} for braces"},
		{`{"outcome": "{reward}"}`, `template "outcome": placeholder "reward" needs a number of decimals`, "write {reward:.4f}"},
		{`{"outcome": "{label:.2f}"}`, `template "outcome": placeholder "label" is a text and takes no format`, ""},
		{`{"outcome": "{"}`, `template "outcome": line 1: a '{' that is never closed (write '{{' for a brace)`, ""},
		{`{"context": 3}`, `key "context": not a string`, ""},
	} {
		_, err := ParseTemplates([]byte(c.file))
		if err == nil || err.Error() != "parse templates: "+c.want || errext.Hint(err) != c.hint {
			t.Errorf("%s: got %v (hint %q)", c.file, err, errext.Hint(err))
		}
	}
	if _, err := ParseTemplates([]byte(`{"agent_alfworld": "anything", "_note": 1}`)); err != nil {
		t.Errorf("keys of the agent and comments: %v", err)
	}
}

func TestEveryStringCanBeReplaced(t *testing.T) {
	t.Parallel()
	for key := range placeholders {
		text := DefaultTemplates().Text(key) + "!"
		got, err := DefaultTemplates().with(map[string]string{key: text})
		if err != nil || got.Text(key) != text || got.Hash() == DefaultTemplates().Hash() {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// What loads can be written.
func FuzzParseTemplates(f *testing.F) {
	f.Add([]byte(`{"context": "{privileged_context}{prompt}{prompt}", "candidate": "{action}{average_return:.1f}{count:.2f}"}`))
	f.Add([]byte("text_cut: '{count}{count}'\ntrajectory_step_response: '{{{response}}}'\n"))
	f.Add(defaultFile)
	rows := household(1, 1, 3, 3)
	f.Fuzz(func(t *testing.T, file []byte) {
		templates, err := ParseTemplates(file)
		if err != nil {
			return
		}
		for _, mode := range Modes() {
			b, err := Build(rows, DefaultConfig(mode), templates)
			if err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				if c := b.Context(i); c.Available && !strings.Contains(c.Messages[0].Content, rows[i].Prompt[0].Content[:10]) {
					t.Fatalf("%s: the prompt is gone", mode)
				}
			}
		}
	})
}

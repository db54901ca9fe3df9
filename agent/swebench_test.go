package agent

import (
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
)

func TestPromptSWEBench(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]string{SWEBenchBash: "```bash", SWEBenchTools: "<function="} {
		f, err := SWEBenchFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range BuiltinTemplates {
			templates, _ := NamedTemplates(set[0])
			scene := Scene{Task: "THE ISSUE", Observation: harness.Observation{Text: "THE START"}}
			first, err := f.Prompt(templates, scene)
			if err != nil {
				t.Fatal(err)
			}
			scene.History, scene.Observation.Text = []Past{{"THE START", "ls"}}, "<returncode>0</returncode>"
			next, err := f.Continue(templates, first, "THE RESPONSE", scene)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"THE ISSUE", "THE START", call} {
				if !strings.Contains(first[0].Content, want) {
					t.Errorf("%s, %s: the first prompt has no %q", name, set[0], want)
				}
			}
			if len(next) != 3 || next[0] != first[0] || next[1].Content != "THE RESPONSE" || next[2].Content != "<returncode>0</returncode>\n" {
				t.Errorf("%s, %s: the conversation goes on as %q", name, set[0], next)
			}
			scene.Window = 1
			later, err := f.Prompt(templates, scene)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"THE ISSUE", "THE START", "ls", "<returncode>0</returncode>", call[:4]} {
				if !strings.Contains(later[0].Content, want) {
					t.Errorf("%s, %s: the later prompt has no %q", name, set[0], want)
				}
			}
		}
	}
	if _, err := SWEBenchFormat("voice"); err == nil || !strings.Contains(err.Error(), `"voice"`) {
		t.Errorf("an unknown interface: %v", err)
	}
}

// What a scripted policy says is what its interface understands.
func TestSWEBenchResponsesAreUnderstood(t *testing.T) {
	t.Parallel()
	const call = "<function=finish>\n  <parameter=command>submit</parameter>\n</function>"
	for name, action := range map[string]string{SWEBenchBash: "cat <<'X' > a\n```\nX", SWEBenchTools: call} {
		f, err := SWEBenchFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == SWEBenchBash {
			action = "ls -la && git status"
		}
		response := f.Respond("I look around.", action)
		if got, valid := f.Project(response); got != action || !valid {
			t.Errorf("%s: %q is read as %q, %v", name, response, got, valid)
		}
		spans := f.Spans(response)
		if len(spans) != 1 || response[spans[0].Start:spans[0].End] != action {
			t.Errorf("%s: spans %v", name, spans)
		}
		if got, valid := f.Project("I am done."); valid || f.Spans("I am done.") != nil {
			t.Errorf("%s: a response without a call is %q, %v", name, got, valid)
		}
	}
}

package agent

import (
	"strings"
	"testing"

	"github.com/hindsightrl/harness"
)

func TestProjectQA(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		response, action string
		valid            bool
	}{
		{`So \boxed{42}.`, "42", true},
		{"<think>6 times 7</think><action>42</action>", "42", true},
		{"The final answer is (B).", "(B)", true},
		{"6 times 7 makes 42", "42", false},
		{"I do not know", "", false},
		{"", "", false},
		{"\\boxed{\xff}", "\uFFFD", false},
	} {
		action, valid := Project("qa", c.response)
		if action != c.action || valid != c.valid {
			t.Errorf("%q: %q, %v, want %q, %v", c.response, action, valid, c.action, c.valid)
		}
		spans := DefaultFormats().For("qa").Spans(c.response)
		if (len(spans) == 0) != (c.action == "") {
			t.Errorf("%q: spans %v for the action %q", c.response, spans, c.action)
		}
		for _, s := range spans {
			if got := strings.ToValidUTF8(c.response[s.Start:s.End], "\uFFFD"); got != action {
				t.Errorf("%q: the span holds %q", c.response, got)
			}
		}
	}
}

func TestPromptQA(t *testing.T) {
	t.Parallel()
	f, o := DefaultFormats().For("qa"), harness.Observation{Text: "What is 6 · 7?\n(A) 41\n(B) 42", Task: "What is 6 · 7?"}
	compact, _ := NamedTemplates("compact")
	for name, templates := range map[string]*Templates{"default": DefaultTemplates(), "compact": compact} {
		first, err := f.Prompt(templates, Scene{Task: f.Task(o), Observation: o})
		if err != nil || len(first) != 1 || !strings.HasPrefix(first[0].Content, o.Text) || !strings.Contains(first[0].Content, `\boxed{`) {
			t.Errorf("%s: first prompt %+v, %v", name, first, err)
		}
		after, err := f.Prompt(templates, Scene{
			Task: f.Task(o), Window: 2, History: []Past{{o.Text, "42"}}, Observation: harness.Observation{Text: "Right."},
		})
		if err != nil || !strings.Contains(after[0].Content, "42") || !strings.Contains(after[0].Content, "Right.") {
			t.Errorf("%s: the prompt after the answer %+v, %v", name, after, err)
		}
	}
	if f.MaxSteps != 1 {
		t.Errorf("a question takes %d steps", f.MaxSteps)
	}
}

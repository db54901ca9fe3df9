package sweaction_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/internal/sweaction"
)

func TestBash(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		response, action string
		valid            bool
	}{
		"one":               {"THOUGHT: look\n\n```bash\nls -la\n```", "ls -la", true},
		"text after it":     {"```bash\nls\n```\nThat is all.", "ls", true},
		"several lines":     {"```bash\n\n  a &&\n  b\n\n```", "a &&\n  b", true},
		"space after bash":  {"```bash \t\u2003\nls\n```", "ls", true},
		"empty":             {"```bash\n\n```", "", true},
		"another language":  {"```python\nprint()\n```\n```bash\nls\n```", "ls", true},
		"none":              {"I think that ls is right.", "# malformed response: 0 bash blocks where one belongs", false},
		"not closed":        {"```bash\nls", "# malformed response: 0 bash blocks where one belongs", false},
		"closed in line":    {"```bash\nls```", "# malformed response: 0 bash blocks where one belongs", false},
		"no newline":        {"```bash ls\n```", "# malformed response: 0 bash blocks where one belongs", false},
		"two":               {"```bash\nls\n```\n```bash\npwd\n```", "# malformed response: 2 bash blocks where one belongs", false},
		"no UTF-8":          {"```bash\necho \xff\n```", "echo \uFFFD", false},
		"no UTF-8 before":   {"\xff```bash\nls\n```", "ls", false},
		"empty text":        {"", "# malformed response: 0 bash blocks where one belongs", false},
		"carriage returns":  {"```bash\r\nls\r\n```", "ls", true},
		"here-document":     {"```bash\ncat <<'E' > a.md\n```\nE\n```", "cat <<'E' > a.md", true}, // as the original cuts it
		"tilde fence":       {"~~~bash\nls\n~~~", "# malformed response: 0 bash blocks where one belongs", false},
		"other words after": {"```bashrc\nls\n```", "# malformed response: 0 bash blocks where one belongs", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			action, valid := sweaction.Bash(c.response)
			if action != c.action || valid != c.valid {
				t.Errorf("got %q, %v, want %q, %v", action, valid, c.action, c.valid)
			}
			spans := sweaction.BashSpans(c.response)
			_, found, ok := sweaction.ParseBash(action)
			if !ok != strings.HasPrefix(c.action, "# malformed") {
				t.Errorf("the environment reads %q as %d, %v", action, found, ok)
			}
			if ok && c.action != "" {
				if len(spans) != 1 || strings.ToValidUTF8(c.response[spans[0].Start:spans[0].End], "\uFFFD") != action {
					t.Errorf("spans %v", spans)
				}
			} else if spans != nil {
				t.Errorf("spans %v of no command", spans)
			}
		})
	}
	if command, _, ok := sweaction.ParseBash("# malformed response: many"); !ok || command == "" {
		t.Error("a comment of the agent's own is no command")
	}
	if _, found, ok := sweaction.ParseBash("# malformed response: 3 bash blocks where one belongs"); ok || found != 3 {
		t.Errorf("found %d, %v", found, ok)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	view := sweaction.Call{Function: "file_editor", Params: map[string]string{"command": "view", "path": "/testbed/a.py"}}
	for name, c := range map[string]struct {
		response string
		call     sweaction.Call
		problem  string // "" is a valid call
	}{
		"one": {
			"I look.\n<function=file_editor>\n  <parameter=command>view</parameter>\n  <parameter=path> /testbed/a.py\n</parameter>\n</function>", view, "",
		},
		"the first counts": {
			"<function=file_editor><parameter=command>view</parameter><parameter=path>/testbed/a.py</parameter></function><function=finish></function>", view, "",
		},
		"text counts exactly": {
			"<function=file_editor><parameter=command>create</parameter><parameter=path>/a</parameter><parameter=file_text>\n\n  x < y > z\n\n</parameter></function>",
			sweaction.Call{Function: "file_editor", Params: map[string]string{"command": "create", "path": "/a", "file_text": "\n  x < y > z\n"}},
			"",
		},
		"another name": {
			"<function=bash><parameter=command>ls</parameter></function>", sweaction.Call{Function: "execute_bash", Params: map[string]string{"cmd": "ls"}}, "",
		},
		"finish": {
			"<function=finish></function>", sweaction.Call{Function: "finish", Params: map[string]string{"command": "submit"}}, "",
		},
		"space in tags": {
			"<function = search ></function>", sweaction.Call{}, "there is no function call", // the original's first expression has no space
		},
		"none":            {"I am done.", sweaction.Call{}, "there is no function call"},
		"not closed":      {"<function=finish>", sweaction.Call{}, "there is no function call"},
		"unknown":         {"<function=fly></function>", sweaction.Call{}, `there is no function "fly"; there are file_editor, search, execute_bash and finish`},
		"missing":         {"<function=search></function>", sweaction.Call{}, `the function search needs the parameter "search_term"`},
		"another's":       {"<function=search><parameter=search_term>x</parameter><parameter=b>1</parameter><parameter=a>1</parameter></function>", sweaction.Call{}, `the function search has no parameter "a"; it has search_term, path`},
		"parameter's end": {"<function=search><parameter=search_term>x</function>", sweaction.Call{}, `the function search needs the parameter "search_term"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			action, valid := sweaction.Tools(c.response)
			if valid != (c.problem == "") {
				t.Errorf("%q is valid: %v", action, valid)
			}
			got, err := sweaction.ParseTools(action)
			if c.problem != "" {
				if err == nil || err.Error() != c.problem {
					t.Errorf("problem %v, want %s", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.call, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if spans := sweaction.ToolsSpans(c.response); len(spans) != 1 || c.response[spans[0].Start:spans[0].End] != action {
				t.Errorf("spans %v", spans)
			}
		})
	}
	if _, valid := sweaction.Tools("\xff<function=finish></function>"); valid {
		t.Error("a response that is no UTF-8 is valid")
	}
	if _, err := sweaction.ParseTools(""); !errors.As(err, &sweaction.NoCallError{}) {
		t.Errorf("no call: %v", err)
	}
}

func TestCallsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []sweaction.Call{
		{Function: "file_editor", Params: map[string]string{"command": "str_replace", "path": "/testbed/a b.py", "old_str": "  x\n\n", "new_str": ""}},
		{Function: "file_editor", Params: map[string]string{"command": "insert", "path": "/a", "insert_line": "0", "new_str": "\n"}},
		{Function: "search", Params: map[string]string{"search_term": "def f(", "path": "/testbed"}},
		{Function: "execute_bash", Params: map[string]string{"cmd": "for i in 1 2; do\n  echo $i\ndone"}},
		{Function: "finish", Params: map[string]string{"command": "submit"}},
	} {
		got, err := sweaction.ParseTools(c.String())
		if err != nil {
			t.Errorf("%v: %v", c, err)
		}
		if d := cmp.Diff(c, got); d != "" {
			t.Errorf("(-written +read):\n%s", d)
		}
	}
}

func FuzzResponses(f *testing.F) {
	for _, seed := range []string{
		"", "```bash\nls\n```", "```bash\n```bash\nls\n```\n```", "<function=finish></function>", "<function=search><parameter=search_term>x</parameter></function>",
		"<function=<function=x></function>", "\xff\xfe", "# malformed response: 2 bash blocks where one belongs", "<parameter=a><parameter=b></parameter>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, response string) {
		bash, _ := sweaction.Bash(response)
		tools, valid := sweaction.Tools(response)
		if !utf8.ValidString(bash) || !utf8.ValidString(tools) {
			t.Fatalf("%q gives actions that are no UTF-8", response)
		}
		for _, s := range append(sweaction.BashSpans(response), sweaction.ToolsSpans(response)...) {
			if s.Start < 0 || s.Start >= s.End || s.End > len(response) {
				t.Fatalf("%q: span %v", response, s)
			}
		}
		c, err := sweaction.ParseTools(tools)
		if valid && err != nil {
			t.Fatalf("%q is valid and not understood: %v", response, err)
		}
		if again, valid := sweaction.Tools(tools); err == nil && (again != tools || !valid) {
			t.Fatalf("%q is taken out of itself as %q", tools, again)
		}
		_ = c.String()
	})
}

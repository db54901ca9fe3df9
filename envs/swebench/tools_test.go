package swebench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/internal/sweaction"
)

// call writes a function call: name, then parameters and values.
func call(name string, params ...string) string {
	c := sweaction.Call{Function: name, Params: map[string]string{}}
	for i := 0; i < len(params); i += 2 {
		c.Params[params[i]] = params[i+1]
	}
	return c.String()
}

func edit(params ...string) string { return call("file_editor", params...) }

func TestToolsInAContainer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("some forty calls in a container")
	}
	env, _, _ := inContainer(t, 0, swebench.Config{Interface: swebench.Tools, StepTimeout: 20 * time.Second})
	long := strings.Repeat("x", 3000)
	for i, c := range []struct{ action, want string }{
		{"", "\nYou forgot to use a function call in your response. \nYOU MUST USE A FUNCTION CALL IN EACH RESPONSE."},
		{"<function=fly></function>", `The call could not be understood: there is no function "fly"; there are file_editor, search, execute_bash and finish.`},
		{call("execute_bash", "cmd", "echo out; echo err >&2"), "Exit code: 0\nExecution output of [execute_bash]:\n[STDOUT]\n\nout\n\n[STDERR]\n\nerr"},
		{call("execute_bash", "cmd", "exit 3"), "Exit code: Error: Exit code 3\nExecution output of [execute_bash]:\nError executing command:\n\n[STDOUT]\n\n\n\n[STDERR]\n\n"},
		{call("execute_bash", "cmd", "cd /tmp && ls"), "Exit code: Error: Exit code 1\nExecution output of [execute_bash]:\nBash command 'cd' is not allowed. Please use a different command or tool."},
		{
			call("execute_bash", "cmd", "seq 500"),
			"37\n38\n--------------------------------------------------\n<Observation truncated in middle for saving context>\n--------------------------------------------------\n465",
		},
		{call("execute_bash", "cmd", "kill -9 $PPID; sleep 5"), "Exit code: Error: Exit code 137"},
		{call("execute_bash", "cmd", "pwd; python3 --version"), "/testbed\nPython 3"},
		{call("execute_bash", "cmd", "sleep 1000"), "Exit code: -1\nExecution output of [execute_bash]:\nThe command ran longer than 20s and was ended"},
		{call("search", "search_term", "def merge("), `Found "def merge(" in 1 files in /testbed:` + "\n./shiftplan/interval.py (1 match)"},
		{call("search", "search_term", "merge", "path", "/testbed/shiftplan"), "./__init__.py (2 matches)\n./interval.py (7 matches)\n./roster.py (2 matches)"},
		{call("search", "search_term", "def ", "path", "/testbed/shiftplan/clock.py"), "Matches for \"def\" in /testbed/shiftplan/clock.py:\n6:def parse_time(text):\n17:def format_time(minutes):"},
		{call("search", "search_term", "-e"), "No matches found for"},
		{call("search", "search_term", "x", "path", "/nowhere"), "There is no file or folder /nowhere."},
		{edit("command", "view", "path", "/testbed"), "Here's the files and directories up to 2 levels deep in /testbed, excluding hidden items:\n/testbed\n/testbed/README.md\n/testbed/shiftplan\n/testbed/shiftplan/__init__.py"},
		{edit("command", "view", "path", "/testbed/shiftplan/clock.py", "view_range", "[3, 4]"), "Here's the result of running `cat -n` on /testbed/shiftplan/clock.py:\n     3\tMINUTES_PER_DAY = 24 * 60\n     4\t\n"},
		{edit("command", "view", "path", "/testbed/shiftplan/clock.py", "view_range", "[20, -1]"), "    21\t    return f\"{minutes // 60:02d}:{minutes % 60:02d}\"\n"},
		{edit("command", "view", "path", "/testbed/shiftplan/clock.py", "view_range", "[90, 99]"), "The view_range [90, 99] is not within the file's lines, 1 to 22."},
		{edit("command", "view", "path", "/testbed/none"), "There is no file or folder /testbed/none."},
		{edit("command", "view", "path", "README.md"), `The path "README.md" is not an absolute path, such as /testbed/README.md.`},
		{edit("command", "burn", "path", "/testbed/README.md"), `There is no command "burn"; there are view, create`},
		{edit("command", "create", "path", "/testbed/new dir/a.txt", "file_text", "one\ntwo\ntwo"), "File created successfully at: /testbed/new dir/a.txt"},
		{edit("command", "create", "path", "/testbed/new dir/a.txt", "file_text", ""), "There is a file at /testbed/new dir/a.txt already."},
		{edit("command", "create", "path", "/testbed/README.md/x", "file_text", "x"), "cannot be written"},
		{edit("command", "str_replace", "path", "/testbed/new dir/a.txt", "old_str", "two", "new_str", "2"), "Multiple occurrences of old_str `two` in lines [2 3]. Please ensure it is unique."},
		{edit("command", "str_replace", "path", "/testbed/new dir/a.txt", "old_str", "three", "new_str", "3"), "No replacement was performed, old_str `three` did not appear verbatim in /testbed/new dir/a.txt."},
		{edit("command", "str_replace", "path", "/testbed/new dir/a.txt", "old_str", "  one  ", "new_str", "1"), "     1\t1\n     2\ttwo\n     3\ttwo\nReview the changes"},
		{edit("command", "insert", "path", "/testbed/new dir/a.txt", "insert_line", "1", "new_str", "1.5"), "     1\t1\n     2\t1.5\n     3\ttwo\n"},
		{edit("command", "insert", "path", "/testbed/new dir/a.txt", "insert_line", "9", "new_str", "x"), "The insert_line 9 is not within the file's lines, 0 to 4."},
		{edit("command", "insert", "path", "/testbed/new dir/a.txt", "insert_line", "x", "new_str", "x"), "needs the parameters insert_line, a number, and new_str"},
		{call("execute_bash", "cmd", "cat 'new dir/a.txt'"), "1\n1.5\ntwo\ntwo\n"},
		{edit("command", "undo_edit", "path", "/testbed/new dir/a.txt"), "Last edit to /testbed/new dir/a.txt undone successfully."},
		{edit("command", "undo_edit", "path", "/testbed/README.md"), "No edit of /testbed/README.md is remembered."},
		{call("execute_bash", "cmd", "cat 'new dir/a.txt'; git status --short"), "1\ntwo\ntwo\n"},
		{call("execute_bash", "cmd", "ln -s ../shiftplan/clock.py link.py && chmod 755 shiftplan/clock.py; printf 'a\\xff' > bytes; head -c 5000000 /dev/zero > big; echo "+long+" > long; mkdir -p shut; mkfifo pipe"), "Exit code: 0"},
		{edit("command", "view", "path", "/testbed/bytes"), "The file /testbed/bytes is not text in UTF-8."},
		{edit("command", "view", "path", "/testbed/big"), "The file /testbed/big has more than 4194304 bytes."},
		{edit("command", "view", "path", "/testbed/long"), "xxx[line cut]"},
		{edit("command", "view", "path", "/testbed/pipe"), "There is no file or folder /testbed/pipe."},
		{call("execute_bash", "cmd", "rm big; git mv shiftplan/clock.py shiftplan/time.py && ln -sf shiftplan/time.py link.py"), "Exit code: 0"},
		{edit("command", "str_replace", "path", "/testbed/link.py", "old_str", "MINUTES_PER_DAY = 24 * 60", "new_str", "MINUTES_PER_DAY = 1440"), "has been edited"},
		{call("execute_bash", "cmd", "stat -c %a shiftplan/time.py; test -L link.py && grep -c 1440 shiftplan/time.py"), "755\n1"},
		{call("finish", "command", "submit"), "<<< Finished >>>"},
	} {
		tr := step(t, env, c.action)
		if got := tr.Observation.Text; !strings.Contains(got, c.want) {
			t.Errorf("%d %.200s:\n got %.1500q\nwant %q", i, c.action, got, c.want)
		}
		if tr.Done != strings.HasPrefix(c.action, "<function=finish>") {
			t.Errorf("%d: done %v", i, tr.Done)
		}
	}
	patch := artifact(t, finish(t, env), swebench.FilePatch)
	for _, want := range []string{"new file mode 100755", "+MINUTES_PER_DAY = 1440", "b/new dir/a.txt", "new file mode 120000", "b/bytes"} {
		if !strings.Contains(patch, want) {
			t.Errorf("the patch has no %q:\n%.1000s", want, patch)
		}
	}
}

// patchCase is what an agent does before its episode ends, and what the patch must be.
type patchCase struct {
	name     string
	commands []string
	has, not []string
	problem  string
	empty    bool
	source   string
}

var patchCases = []patchCase{
	{name: "nothing", commands: []string{"ls"}, empty: true},
	{name: "only ignored files", commands: []string{"mkdir -p a/__pycache__; echo x > a/__pycache__/b.pyc"}, empty: true},
	{
		name:     "its own commits and stages",
		commands: []string{"sed -i 's/9/8/' README.md && git -c user.name=a -c user.email=b commit -qam x; echo y > new; git add new; git checkout -qb other; touch .git/index.lock"},
		has:      []string{"b/README.md", "b/new", "+y"},
	},
	{
		name:     "settings that change what git prints",
		commands: []string{"git config diff.noprefix true; git config diff.external /bin/false; git config core.pager false; git config color.ui always; echo '*.md diff=x' > .git/info/attributes; git config diff.x.textconv 'tr a-z A-Z'; mkdir -p .git/hooks; sed -i s/Plans/Planned/ README.md"},
		has:      []string{"diff --git a/README.md b/README.md", "\n-Plans who", "\n+Planned who"},
	},
	{
		name:     "no newline, other bytes",
		commands: []string{`printf 'a\xff\r\nb' > odd.txt; printf 'x\0y' > odd.bin; sed -i '$s/$/ More/' README.md; truncate -s -1 README.md`},
		has:      []string{"+a\xff\r\n", "GIT binary patch", "\\ No newline at end of file"},
	},
	{
		name:     "a flood of generated files",
		commands: []string{"seq 100000 > package-lock.json; mkdir node_modules; seq 100000 > node_modules/x.js; head -c 3000000 /dev/urandom > model.bin; head -c 40000000 /dev/zero > 'hu ge[1].bin'; echo x > kept.txt"},
		has:      []string{"b/kept.txt"},
		not:      []string{"package-lock.json", "node_modules", "model.bin", "hu ge"},
	},
	{name: "more than a patch may have", commands: []string{"seq 3000000 > list.txt"}, problem: "too large", empty: true},
	{name: "no repository any more", commands: []string{"rm -rf .git; echo x >> README.md"}, problem: "git cannot say", empty: true},
	{name: "the start is gone", commands: []string{"echo x >> README.md; git checkout -q --orphan z; git -c user.name=a -c user.email=b commit -qam x; git reflog expire --expire=now --all; git branch -D main; git tag -d v0.2.0 v0.1.0; git gc -q --prune=now"}, problem: "git cannot say", empty: true},
	{
		name:     "the patch that it prints",
		commands: []string{"echo x >> README.md; echo junk > junk; git diff -- README.md > /tmp/p", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat /tmp/p"},
		has:      []string{"+x\n"}, not: []string{"junk"}, source: "submitted",
	},
	{
		name:     "words instead of a patch",
		commands: []string{"echo x >> README.md", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo done"},
		has:      []string{"+x\n"},
	},
}

func TestPatchesAreTaken(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a container each")
	}
	for _, c := range patchCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env, _, _ := inContainer(t, 0, swebench.Config{})
			for _, command := range c.commands {
				t.Log(step(t, env, command).Observation.Text)
			}
			e := finish(t, env)
			patch, info := artifact(t, e, swebench.FilePatch), artifact(t, e, swebench.FilePatchInfo)
			for _, want := range c.has {
				if !strings.Contains(patch, want) {
					t.Errorf("the patch has no %q:\n%.2000q", want, patch)
				}
			}
			for _, never := range c.not {
				if strings.Contains(patch, never) {
					t.Errorf("the patch has %q", never)
				}
				if !strings.Contains(info+c.source, strings.TrimSpace(never)) && c.source == "" {
					t.Errorf("%s does not say that %q was left out", info, never)
				}
			}
			if (patch == "") != c.empty || patch != "" && !strings.HasSuffix(patch, "\n") {
				t.Errorf("the patch is %.2000q", patch)
			}
			if want := fmt.Sprintf(`"empty":%v`, c.empty); !strings.Contains(info, want) || !strings.Contains(info, c.problem) || c.source != "" && !strings.Contains(info, c.source) {
				t.Errorf("%s says neither %s nor %s nor %s", info, want, c.problem, c.source)
			}
			if e.Reward != 0 || e.Won {
				t.Errorf("without a judge the ending is %+v", e)
			}
		})
	}
}

package swebench

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/internal/sweaction"
)

func TestHunksOf(t *testing.T) {
	t.Parallel()
	const head = "diff --git a/a b/a\n--- a/a\n+++ b/a\n"
	for name, c := range map[string]struct {
		section string
		want    []hunk
		ok      bool
	}{
		"one":        {head + "@@ -1,3 +1,3 @@ def f():\n a\n-b\n+c\n d\n", []hunk{{"a\nb\nd", "a\nc\nd"}}, true},
		"two":        {head + "@@ -1 +1 @@\n-a\n+b\n@@ -9 +9,2 @@\n c\n+d\n", []hunk{{"a", "b"}, {"c", "c\nd"}}, true},
		"empty line": {head + "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", []hunk{{"a\n\nb", "a\n\nc"}}, true},
		"new file":   {head + "@@ -0,0 +1,2 @@\n+a\n+b\n", []hunk{{"", "a\nb"}}, true},
		"no newline": {head + "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", nil, false},
		"binary":     {"diff --git a/a b/a\nGIT binary patch\nliteral 1\n", nil, false},
		"a mode":     {"diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", nil, false},
	} {
		got, ok := hunksOf(c.section)
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(hunk{})); ok != c.ok || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, ok, d)
		}
	}
}

// advised plays the expert's way in a fake box that holds one file, and returns the actions.
func advised(t *testing.T, i Interface, patch, file string) []string {
	t.Helper()
	old := fakeInstance
	in := old
	in.Patch = patch
	data, err := NewDataset([]*Instance{&in})
	if err != nil {
		t.Fatal(err)
	}
	b := &fakeBoxes{images: []string{fakeImage}, exec: func(_ context.Context, c container.Command) (container.Result, error) {
		if c.Args[0] == "git" {
			return container.Result{Output: []byte(file)}, nil
		}
		if strings.Contains(strings.Join(c.Args, " "), SubmitLine) {
			return container.Result{Output: []byte(SubmitLine + "\n")}, nil
		}
		return container.Result{}, nil
	}}
	s, err := newSuite(b, data, Config{Interface: i})
	if err != nil {
		t.Fatal(err)
	}
	env, err := s.NewEnv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.Reset(t.Context(), TaskOf(&in)); err != nil {
		t.Fatal(err)
	}
	var actions []string
	for range 10 {
		a, err := env.(*Env).Advise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again, err := env.(*Env).Advise(t.Context())
		if err != nil || again != a {
			t.Fatalf("asked again the expert says %q, %v", again, err)
		}
		actions = append(actions, a)
		tr, err := env.Step(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if tr.Done {
			return actions
		}
	}
	t.Fatalf("no end after %q", actions)
	return nil
}

func TestExpertPlans(t *testing.T) {
	t.Parallel()
	const change = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n a\n-x\n+y\n"
	const added = "diff --git a/b.py b/b.py\nnew file mode 100644\n--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+z\n"
	submit := call(sweaction.Finish, "command", "submit")
	shell := func(patch string) []string {
		return []string{call(sweaction.ExecuteBash, "cmd", applyCommand(patch)), submit}
	}
	for name, c := range map[string]struct {
		patch, file string
		want        []string
	}{
		"edits": {
			change + added, "a\nx\n",
			[]string{
				call(sweaction.FileEditor, "command", "str_replace", "path", "/testbed/a.py", "old_str", "a\nx", "new_str", "a\ny"),
				call(sweaction.FileEditor, "command", "create", "path", "/testbed/b.py", "file_text", "z"), submit,
			},
		},
		"a text that occurs twice": {change, "a\nx\na\nx\n", shell(change)},
		"another file":             {change, "b\n", shell(change)},
		"no text":                  {change, "a\nx\n\xff", shell(change)},
		"a program":                {strings.Replace(added, "100644", "100755", 1), "", shell(strings.Replace(added, "100644", "100755", 1))},
	} {
		if d := cmp.Diff(c.want, advised(t, Tools, c.patch, c.file)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	want := []string{"git apply - <<'END_OF_PATCH_'\n" + change + "+END_OF_PATCH\nEND_OF_PATCH_", "git diff --stat", "echo " + SubmitLine}
	if d := cmp.Diff(want, advised(t, Bash, change+"+END_OF_PATCH\n", "")); d != "" {
		t.Errorf("bash (-want +got):\n%s", d)
	}
}

// An episode that is resumed has taken some of the expert's actions before the expert is asked.
func TestExpertGoesOn(t *testing.T) {
	t.Parallel()
	env := fakeEpisode(t, &fakeBoxes{}, Config{})
	for _, a := range []string{applyCommand(fakeInstance.Patch), "ls", "git diff --stat"} {
		if _, err := env.Step(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := env.Advise(t.Context()); err != nil || a != "echo "+SubmitLine {
		t.Errorf("the expert says %q, %v", a, err)
	}
}

func call(name string, params ...string) string {
	c := sweaction.Call{Function: name, Params: map[string]string{}}
	for i := 0; i < len(params); i += 2 {
		c.Params[params[i]] = params[i+1]
	}
	return c.String()
}

func TestExpertWithoutARepair(t *testing.T) {
	t.Parallel()
	if _, err := new(Env).Advise(t.Context()); !errors.Is(err, errNoEpisode) {
		t.Errorf("before an episode: %v", err)
	}
	env := fakeEpisode(t, &fakeBoxes{}, Config{})
	in := fakeInstance
	in.Patch = ""
	env.in = &in
	if _, err := env.Advise(t.Context()); err == nil || !strings.Contains(err.Error(), "no repair of owner__name-1") {
		t.Errorf("without a repair: %v", err)
	}
}

func FuzzHunksOf(f *testing.F) {
	for _, seed := range []string{"", "\n@@ ", "x\n@@ -1 +1 @@\n-a\n+b\n", "x\n@@ \n\n\n@@ \n\\", fakeInstance.Patch} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, section string) {
		all, ok := hunksOf(section)
		if !ok && all != nil {
			t.Fatalf("%q is no sequence of hunks, and has %v", section, all)
		}
	})
}

package swebench_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
	"github.com/hindsightrl/harness/internal/errext"
)

// wantScript is the script of flask 2.3 around the parts that differ between releases.
func wantScript(reset, before, after string) string {
	return `#!/bin/bash
set -uxo pipefail
source /opt/miniconda3/bin/activate
conda activate testbed
cd /testbed
git config --global --add safe.directory /testbed
cd /testbed
git status
git show
git -c core.fileMode=false diff abc
source /opt/miniconda3/bin/activate
conda activate testbed
python -m pip install -e .
` + reset + `
git apply -v - <<'EOF_114329324912'
` + testPatch + `
EOF_114329324912
: '>>>>> Start Test Output'
pytest -rA tests/test_a.py tests/test_new.py
` + before + `: '>>>>> End Test Output'
` + after + reset + "\n"
}

func TestEvalScriptOfBothReleases(t *testing.T) {
	t.Parallel()
	in := instance(t, nil)
	tests := []struct {
		release testlog.Release
		want    string
	}{
		{testlog.V502, wantScript("git checkout abc tests/test_a.py tests/test_new.py tests/data.json",
			"SWEBENCH_TEST_EXIT_CODE=$?\n", "echo \">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE\"\n")},
		{testlog.V410, wantScript("git checkout abc tests/test_a.py", "", "")},
	}
	for _, tt := range tests {
		got, err := swebench.EvalScript(in, tt.release)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.release, diff)
		}
	}
	rebuilt, err := swebench.RebuildEvalScript(in, testlog.V502)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantScript("git checkout abc tests/test_a.py tests/test_new.py tests/data.json", "", ""), rebuilt); diff != "" {
		t.Errorf("as a row has it (-want +got):\n%s", diff)
	}
}

func TestEvalScriptOfNewFilesOnlyResetsNothing(t *testing.T) {
	t.Parallel()
	_, added, _ := strings.Cut(testPatch, "+x = 2\n")
	in := instance(t, map[string]any{"test_patch": added})
	got, err := swebench.EvalScript(in, testlog.V410)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got, "git checkout") || strings.Count(got, `echo "No test files to reset"`) != 2 {
		t.Errorf("got\n%s", got)
	}
}

func TestEvalScriptDirectivesOfDjango(t *testing.T) {
	t.Parallel()
	in := instance(t, map[string]any{"repo": "django/django", "version": "3.1", "test_patch": strings.ReplaceAll(testPatch, "tests/", "tests/admin/")})
	got, err := swebench.EvalScript(in, testlog.V502)
	if err != nil {
		t.Fatal(err)
	}
	want := "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 admin.test_a admin.test_new\n"
	if !strings.Contains(got, want) || !strings.Contains(got, "cd /testbed\nsed -i '/en_US.UTF-8/s/^# //g'") {
		t.Errorf("got\n%s", got)
	}
}

func TestEvalScriptOfARow(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script, want string }{
		{
			"the head is written anew", "\n#!/bin/bash\nset -uxo pipefail\nmake\n\n",
			"#!/bin/bash\nset -uxo pipefail\nmake\n",
		},
		{
			"the last end marker counts", "cat <<'E'\n+ >>>>> End Test Output\n#!/bin/bash\nE\n: '>>>>> End Test Output'\nx",
			"#!/bin/bash\nset -uxo pipefail\ncat <<'E'\n+ >>>>> End Test Output\n#!/bin/bash\nE\nSWEBENCH_TEST_EXIT_CODE=$?\n" +
				": '>>>>> End Test Output'\necho \">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE\"\nx\n",
		},
	}
	for _, tt := range tests {
		got, err := swebench.EvalScript(instance(t, map[string]any{"eval_script": tt.script}), testlog.V502)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestEvalScriptRestoresAssets(t *testing.T) {
	t.Parallel()
	assets := `{"test_patch": [{"path": "a/b c.png", "url": "u"}, {"path": "d.png", "url": "u"}]}`
	got, err := swebench.EvalScript(instance(t, map[string]any{"eval_script": "x\n: '>>>>> Start Test Output'\ny", "image_assets": assets}), testlog.V410)
	if err != nil {
		t.Fatal(err)
	}
	want := "#!/bin/bash\nset -uxo pipefail\nx\n" +
		"mkdir -p $(dirname 'a/b c.png') && cp '/image_assets/a__b c.png' 'a/b c.png'\n" +
		"mkdir -p $(dirname d.png) && cp /image_assets/d.png d.png\n: '>>>>> Start Test Output'\ny\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = swebench.EvalScript(instance(t, map[string]any{"eval_script": "x", "image_assets": assets}), testlog.V410)
	if err != nil || !strings.HasSuffix(got, "cp /image_assets/d.png d.png\n") {
		t.Errorf("without a marker: %q, %v", got, err)
	}
}

func TestEvalScriptsThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		changes map[string]any
		text    string
	}{
		{"another repository", map[string]any{"repo": "gohugoio/hugo"}, "not one of the Python sets"},
		{"another version", map[string]any{"version": "99"}, `version "99"`},
		{"no test patch", map[string]any{"test_patch": ""}, "names no file"},
		{"a patch that ends the here-document", map[string]any{"test_patch": testPatch + "EOF_114329324912\n"}, "here-document"},
	}
	for _, tt := range tests {
		in := instance(t, tt.changes)
		if in.EvalScript != "" {
			t.Errorf("%s: a script was made", tt.name)
		}
		_, err := swebench.EvalScript(in, testlog.V502)
		if !errors.Is(err, swebench.ErrNoEvalScript) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), in.ID) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := swebench.EvalScript(instance(t, map[string]any{"version": "99"}), testlog.V502); errext.Hint(err) == "" {
		t.Error("no remedy is named")
	}
}

// The markers appear in the output only because of set -x, and the exit code is the tests' own.
func TestEvalScriptInAShell(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is absent: install it to run a script")
	}
	script, err := swebench.EvalScript(instance(t, map[string]any{
		"eval_script": ": '>>>>> Start Test Output'\n(exit 3)\n: '>>>>> End Test Output'\ntrue",
	}), testlog.V502)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("bash", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+ : '>>>>> Start Test Output'\n", "+ : '>>>>> End Test Output'\n", "\n>>>>> Test Exit Code: 3\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

package swebench_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/swebench"
)

// testPatch changes one test file and adds another.
const testPatch = `diff --git a/tests/test_a.py b/tests/test_a.py
--- a/tests/test_a.py
+++ b/tests/test_a.py
@@ -1 +1 @@
-x = 1
+x = 2
diff --git a/tests/test_new.py b/tests/test_new.py
new file mode 100644
--- /dev/null
+++ b/tests/test_new.py
@@ -0,0 +1 @@
+y = 1
diff --git a/tests/data.json b/tests/data.json
new file mode 100644
--- /dev/null
+++ b/tests/data.json
@@ -0,0 +1 @@
+{}
`

// rowFields is a row without the fields of release 5.
func rowFields() map[string]any {
	return map[string]any{
		"instance_id": "pallets__flask-1", "repo": "pallets/flask", "base_commit": "abc", "version": "2.3",
		"problem_statement": "It is broken.", "hints_text": "", "created_at": "2024-01-01", "patch": "diff --git a/x b/x\n",
		"test_patch": testPatch, "FAIL_TO_PASS": `["t::a"]`, "PASS_TO_PASS": `["t::b", "t::c"]`,
	}
}

// with returns a copy of fields with some changed; a nil value removes the field.
func with(fields map[string]any, changes map[string]any) map[string]any {
	all := maps.Clone(fields)
	for k, v := range changes {
		if v == nil {
			delete(all, k)
		} else {
			all[k] = v
		}
	}
	return all
}

func jsonLine(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

func instance(t testing.TB, changes map[string]any) *swebench.Instance {
	t.Helper()
	rows, err := swebench.ParseRows(strings.NewReader(jsonLine(t, with(rowFields(), changes))), true)
	if err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

func dataset(t testing.TB, ids ...string) *swebench.Dataset {
	t.Helper()
	var all []*swebench.Instance
	for _, id := range ids {
		all = append(all, instance(t, map[string]any{"instance_id": id}))
	}
	d, err := swebench.NewDataset(all)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

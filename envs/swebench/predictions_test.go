package swebench_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/internal/errext"
)

func TestPredictionFiles(t *testing.T) {
	t.Parallel()
	data := dataset(t, "a", "b")
	dir := t.TempDir()
	load := func(name, text string) ([]swebench.Prediction, error) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return swebench.LoadPredictions(path, data)
	}
	const (
		a    = `{"instance_id": "a", "model_name_or_path": "m/x", "model_patch": "diff\r\n"}`
		aNew = `{"instance_id": "a", "model_name_or_path": "m/x", "model_patch": ""}`
		b    = `{"instance_id": "b", "model_name_or_path": "m/x", "model_patch": null, "more": 1}`
	)
	want := []swebench.Prediction{{InstanceID: "a", Model: "m/x", Patch: "diff\r\n"}, {InstanceID: "b", Model: "m/x", None: true}}
	for name, text := range map[string]string{
		"p.jsonl": a + "\n\n" + b, "list.json": "[" + a + "," + b + "]", "dict.json": `{"a": ` + a + `, "b": ` + b + `}`,
		"keys.json": `{"a": {"model_name_or_path": "m/x", "model_patch": "diff\r\n"}, "b": ` + b + `}`,
	} {
		got, err := load(name, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got, err := load("twice.jsonl", a+"\n"+b+"\n"+aNew)
	if err != nil || len(got) != 2 || got[0].Patch != "" || !got[0].Empty() || got[0].None || !got[1].Empty() || got[0].ModelDir() != "m__x" {
		t.Errorf("the last of two: %+v, %v", got, err)
	}
	gold, err := swebench.LoadPredictions("gold", data)
	if err != nil || len(gold) != 2 || gold[0].Patch != data.Get("a").Patch || gold[1].Model != "gold" {
		t.Errorf("gold: %+v, %v", gold, err)
	}
}

func TestPredictionErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, text, message string }{
		{"no id", "p.jsonl", `{"model_name_or_path": "m"}`, "prediction 1: instance_id is missing"},
		{"no model", "p.jsonl", `{"instance_id": "a"}`, "prediction 1: model_name_or_path is missing"},
		{"no object", "p.jsonl", `3`, "prediction 1"},
		{"broken line", "p.jsonl", `{`, "prediction 1"},
		{"two ids", "p.json", `{"b": {"instance_id": "a", "model_name_or_path": "m"}}`, `prediction 1 (key "b"): its instance_id is "a"`},
		{"no list", "p.json", `3`, "a list or a dictionary"},
		{"cut short", "p.json", `[`, "read JSON"},
		{"more", "p.json", `[] []`, "follows"},
		{"unknown instance", "p.jsonl", `{"instance_id": "z", "model_name_or_path": "m"}`, "does not have: z"},
		{"a path for an id", "p.jsonl", `{"instance_id": "../a", "model_name_or_path": "m"}`, "name of a folder"},
		{"a path for a model", "p.jsonl", `{"instance_id": "a", "model_name_or_path": ".."}`, "name of a folder"},
		{"another format", "p.txt", ``, "must end in"},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), tt.file)
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := swebench.LoadPredictions(path, dataset(t, "a")); err == nil || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	var many strings.Builder
	for i := range 12 {
		many.WriteString(`{"instance_id": "x` + string(rune('a'+i)) + `", "model_name_or_path": "m"}` + "\n")
	}
	path := filepath.Join(t.TempDir(), "p.jsonl")
	if err := os.WriteFile(path, []byte(many.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := swebench.LoadPredictions(path, dataset(t, "a")); !errors.Is(err, swebench.ErrUnknownInstance) || !strings.Contains(err.Error(), "and 2 more") {
		t.Errorf("many: %v", err)
	}
	if _, err := swebench.LoadPredictions("absent.json", dataset(t, "a")); errext.Hint(err) == "" {
		t.Errorf("absent: %v", err)
	}
}

func FuzzPredictions(f *testing.F) {
	f.Add(`{"instance_id": "a", "model_name_or_path": "m", "model_patch": "x"}`, true)
	f.Add(`{"a": {"model_name_or_path": "m"}}`, false)
	f.Fuzz(func(t *testing.T, text string, asLines bool) {
		all, err := swebench.ParsePredictions(strings.NewReader(text), asLines)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, p := range all {
			dir := swebench.InstanceDir("root", "run", p)
			if seen[p.InstanceID] || p.None && p.Patch != "" || !strings.HasPrefix(dir, swebench.RunDir("root", "run")+string(filepath.Separator)) {
				t.Errorf("%+v in %s", p, dir)
			}
			seen[p.InstanceID] = true
		}
	})
}

package swebench_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
)

func TestRowsOfBothReleases(t *testing.T) {
	t.Parallel()
	old := instance(t, nil)
	if old.LogParser != "parse_log_flask" || old.EvalType != grade.PassAndFail || !old.Rebuilt || old.EvalScript == "" || old.Image != "" {
		t.Errorf("a row of release 4: %+v", old)
	}
	if diff := cmp.Diff([]string{"t::b", "t::c"}, old.PassToPass); diff != "" {
		t.Error(diff)
	}
	newer := instance(t, map[string]any{
		"image": "me/image:1", "eval_script": "#!/bin/bash\necho", "log_parser": "parse_log_pytest", "eval_type": "fail_only",
		"FAIL_TO_PASS": []string{"t::x"}, "difficulty": "1 hour",
		"image_assets": `{"problem_statement": ["http://x"], "test_patch": [{"path": "a/b.png", "url": "http://y"}, {"url": "z"}], "patch": null}`,
	})
	if newer.LogParser != "parse_log_pytest" || newer.EvalType != grade.FailOnly || newer.Rebuilt || newer.Image != "me/image:1" ||
		newer.EvalScript != "#!/bin/bash\necho" || newer.FailToPass[0] != "t::x" || newer.Difficulty != "1 hour" {
		t.Errorf("a row of release 5: %+v", newer)
	}
	if diff := cmp.Diff([]swebench.Asset{{Path: "a/b.png", URL: "http://y"}}, newer.Assets); diff != "" {
		t.Error(diff)
	}
	other := instance(t, map[string]any{"repo": "markedjs/marked", "docker_image": "x/y", "image_assets": map[string]any{}})
	if other.LogParser != "parse_log_marked" || other.EvalType != grade.FailOnly || other.EvalScript != "" || other.Image != "x/y" {
		t.Errorf("a repository whose script cannot be rebuilt: %+v", other)
	}
	if spec := newer.Grading(); spec.Parser != newer.LogParser || spec.EvalType != newer.EvalType || spec.InstanceID != newer.ID || spec.Version != "2.3" {
		t.Errorf("grading: %+v", spec)
	}
}

func TestRowErrorsNameRowAndField(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		changes map[string]any
		field   string
		missing bool
	}{
		{"no id", map[string]any{"instance_id": nil}, "instance_id", true},
		{"blank repository", map[string]any{"repo": " "}, "repo", true},
		{"no base", map[string]any{"base_commit": nil}, "base_commit", true},
		{"no tests", map[string]any{"FAIL_TO_PASS": nil}, "FAIL_TO_PASS", true},
		{"tests that are no JSON", map[string]any{"PASS_TO_PASS": "[a"}, "PASS_TO_PASS", false},
		{"tests that are null", map[string]any{"PASS_TO_PASS": "null"}, "PASS_TO_PASS", false},
		{"tests that are numbers", map[string]any{"PASS_TO_PASS": []int{1}}, "PASS_TO_PASS", false},
		{"tests that are a number", map[string]any{"PASS_TO_PASS": 1}, "PASS_TO_PASS", false},
		{"a number for text", map[string]any{"patch": 3}, "patch", false},
		{"unknown parser", map[string]any{"log_parser": "parse_log_x"}, "log_parser", false},
		{"unknown repository", map[string]any{"repo": "a/b"}, "log_parser", true},
		{"unknown type", map[string]any{"eval_type": "x"}, "eval_type", false},
		{"assets that are no JSON", map[string]any{"image_assets": "{"}, "image_assets", false},
		{"assets that are no files", map[string]any{"image_assets": `{"patch": 1}`}, "image_assets", false},
	}
	for _, tt := range tests {
		text := jsonLine(t, rowFields()) + "\n" + jsonLine(t, with(rowFields(), tt.changes))
		_, err := swebench.ParseRows(strings.NewReader(text), true)
		var row *swebench.RowError
		if !errors.As(err, &row) || row.Row != 2 || row.Field != tt.field || errors.Is(err, swebench.ErrMissing) != tt.missing {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if row.ID != "" && !strings.Contains(err.Error(), "row 2 ("+row.ID+"): field \""+tt.field+"\"") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestBrokenJSON(t *testing.T) {
	t.Parallel()
	good := strings.TrimSpace(jsonLine(t, rowFields()))
	tests := []struct {
		text    string
		lines   bool
		message string
	}{
		{good + "\n{", true, "line 2"},
		{"{}", false, "not ["},
		{"", false, "EOF"},
		{"[" + good, false, "read JSON list"},
		{"[" + good + ", {]", false, "row 2"},
		{"[" + good + "] x", false, "follows"},
	}
	for _, tt := range tests {
		if _, err := swebench.ParseRows(strings.NewReader(tt.text), tt.lines); err == nil || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%.20q…: %v", tt.text, err)
		}
	}
	if rows, err := swebench.ParseRows(strings.NewReader("["+good+","+good+"]"), false); err != nil || len(rows) != 2 {
		t.Errorf("a list: %d, %v", len(rows), err)
	}
}

// parquetRow is a row with the tests as lists, as the multilingual set has them, and columns that are
// not needed.
type parquetRow struct {
	Repo       string   `parquet:"repo"`
	Difficulty *string  `parquet:"difficulty,optional"`
	ID         string   `parquet:"instance_id"`
	Base       string   `parquet:"base_commit"`
	Version    string   `parquet:"version"`
	Statement  *string  `parquet:"problem_statement,optional"`
	F2P        []string `parquet:"FAIL_TO_PASS,list"`
	P2P        []string `parquet:"PASS_TO_PASS,list"`
	Test       string   `parquet:"test_patch"`
	Number     int64    `parquet:"number"`
	Flag       bool     `parquet:"flag"`
	Score      float64  `parquet:"score"`
}

func TestParquet(t *testing.T) {
	t.Parallel()
	text := "broken"
	row := parquetRow{
		Repo: "pallets/flask", ID: "pallets__flask-1", Base: "abc", Version: "2.3", Statement: &text,
		F2P: []string{"a", "b[é]"}, Test: testPatch,
	}
	second := row
	second.ID, second.F2P, second.P2P = "pallets__flask-2", nil, []string{"c"}
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := parquet.WriteFile(path, []parquetRow{row, second}); err != nil {
		t.Fatal(err)
	}
	rows, err := swebench.LoadRows(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b[é]"}, rows[0].FailToPass); diff != "" {
		t.Error(diff)
	}
	if len(rows) != 2 || len(rows[0].PassToPass) != 0 || len(rows[1].FailToPass) != 0 || rows[1].PassToPass[0] != "c" || rows[0].Difficulty != "" {
		t.Errorf("%+v", rows)
	}
	second.Statement = nil
	if err := parquet.WriteFile(path, []parquetRow{row, second}); err != nil {
		t.Fatal(err)
	}
	var bad *swebench.RowError
	if _, err := swebench.LoadRows(path); !errors.As(err, &bad) || bad.Row != 2 || bad.Field != "problem_statement" {
		t.Errorf("a null: %v", err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 3, len(whole) / 2, len(whole) - 5} {
		cut := filepath.Join(t.TempDir(), "cut.parquet")
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := swebench.LoadRows(cut); err == nil || !strings.Contains(err.Error(), "Parquet") {
			t.Errorf("%d bytes of a file: %v", n, err)
		}
	}
}

func TestOpenDataset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := swebench.OpenDataset(dir); errext.Hint(err) == "" {
		t.Errorf("an empty folder: %v", err)
	}
	write("notes.txt", "x")
	write("b.jsonl", jsonLine(t, rowFields()))
	write("a.json", "["+jsonLine(t, with(rowFields(), map[string]any{"instance_id": "pallets__flask-2"}))+"]")
	d, err := swebench.OpenDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Instances) != 2 || d.Instances[0].ID != "pallets__flask-2" || d.Get("pallets__flask-1") == nil || d.Get("x") != nil {
		t.Errorf("%+v", d)
	}
	write("c.jsonl", jsonLine(t, with(rowFields(), map[string]any{"eval_script": "echo 5", "image": "x"})))
	if d, err = swebench.OpenDataset(dir); err != nil || d.Get("pallets__flask-1").EvalScript != "echo 5" {
		t.Errorf("the row with a script does not win: %v", err)
	}
	write("d.jsonl", jsonLine(t, with(rowFields(), map[string]any{"PASS_TO_PASS": "[]"})))
	if _, err := swebench.OpenDataset(dir); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("contradicting rows: %v", err)
	}
	if _, err := swebench.OpenDataset(filepath.Join(dir, "absent")); errext.Hint(err) == "" {
		t.Errorf("an absent file: %v", err)
	}
	if _, err := swebench.OpenDataset(filepath.Join(dir, "notes.txt")); !errors.Is(err, swebench.ErrFormat) {
		t.Errorf("another format: %v", err)
	}
}

// Of the official Python rows, all but the two that release 5 repaired by hand have the script that
// their repository's and version's commands give.
func TestOfficialRowsAndTheirScripts(t *testing.T) {
	t.Parallel()
	d, err := swebench.OpenDataset(testutil.Shared(t, "data/swebench"))
	if err != nil {
		t.Fatal(err)
	}
	rebuilt, differ := 0, 0
	for _, in := range d.Instances {
		if in.Rebuilt || in.EvalScript == "" || in.Image == "" || !testlog.Known(in.LogParser) {
			t.Errorf("%s: incomplete", in.ID)
		}
		if name, err := swebench.ImageName(in.ID, swebench.ImageConfig{}); err != nil || name != in.Image {
			t.Errorf("%s: image %s, the row has %s", in.ID, name, in.Image)
		}
		script, err := swebench.RebuildEvalScript(in, testlog.V502)
		if errors.Is(err, swebench.ErrNoEvalScript) {
			continue
		}
		rebuilt++
		if script != in.EvalScript {
			differ++
		}
	}
	if rebuilt < 900 || differ > 2 {
		t.Errorf("%d scripts rebuilt, %d differ", rebuilt, differ)
	}
}

func FuzzRows(f *testing.F) {
	f.Add(jsonLine(f, rowFields()), true)
	f.Add("["+jsonLine(f, rowFields())+"]", false)
	f.Add(`{"instance_id": "a", "FAIL_TO_PASS": [1]}`, true)
	f.Fuzz(func(t *testing.T, text string, asLines bool) {
		rows, err := swebench.ParseRows(strings.NewReader(text), asLines)
		if err != nil {
			return
		}
		for _, in := range rows {
			if in.ID == "" || in.Repo == "" || !testlog.Known(in.LogParser) {
				t.Errorf("%+v", in)
			}
		}
	})
}

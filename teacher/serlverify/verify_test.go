package serlverify

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/internal/testutil"
	"github.com/hindsightrl/harness/teacher"
)

func sharedTemplates(t *testing.T) *teacher.Templates {
	t.Helper()
	raw, err := os.ReadFile(testutil.Shared(t, "vectors/serl/templates.json"))
	if err != nil {
		t.Fatal(err)
	}
	templates, err := teacher.ParseTemplates(raw)
	if err != nil {
		t.Fatal(err)
	}
	return templates
}

func TestReferenceVectorsAgree(t *testing.T) {
	t.Parallel()
	templates := sharedTemplates(t)
	for _, name := range []string{"teacher_contexts.json", "action_spans.json", "projections.json"} {
		raw, err := os.ReadFile(testutil.Shared(t, "vectors/serl/"+name))
		if err != nil {
			t.Fatal(err)
		}
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		if _, err := w.Write(raw); err != nil || w.Close() != nil {
			t.Fatal("zip")
		}
		for _, file := range [][]byte{raw, zipped.Bytes()} {
			passed, failed, err := Verify(name, bytes.NewReader(file), templates, func(line string) { t.Error(line) })
			if err != nil || failed > 0 || passed == 0 {
				t.Errorf("%s: %d passed, %d failed, %v", name, passed, failed, err)
			}
		}
	}
}

// Every single change to a vector must be noticed.
func TestDifferencesAreReported(t *testing.T) {
	t.Parallel()
	const row = `{"uid": 1, "traj_uid": "a", "step_id": null, "raw_prompt": "Do it.", "immediate_feedback": "Done.", "response": "<action>x</action>"}`
	contexts := func(mode, mask, text, metrics string) string {
		return `[{"config": {"sampling_mode": "` + mode + `"}, "rows": [` + row + `], "mask": [` + mask + `],
			"messages": [[{"role": "user", "content": "` + text + `"}]], "metrics": {` + metrics + `}}]`
	}
	const good = `"serl/context_available_fraction": 1, "serl/reprompt_sample_fraction": 1, "serl/feedback_reference_fraction": 1`
	templates, err := teacher.ParseTemplates([]byte(`{"context": "{prompt}|{privileged_context}", "section": "{content}"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, want string }{
		{"equal", contexts("env_feedback", "1", "Do it.|Done.", good), ""},
		{"text", contexts("env_feedback", "1", "Do it.|Gone.", good), `f: teacher contexts, case 0: immediate_feedback, row 0: message 0: from byte 0: got "Do it.|Done.", want "Do it.|Gone."`},
		{"mask", contexts("env_feedback", "0", "Do it.|Done.", good), "f: teacher contexts, case 0: row 0: context available true, want false"},
		{"metric", contexts("env_feedback", "1", "Do it.|Done.", strings.Replace(good, "1,", "0.5,", 1)), "f: teacher contexts, case 0: metric serl/context_available_fraction: got 1, want 0.5"},
		{"metric too many", contexts("env_feedback", "1", "Do it.|Done.", good[:strings.LastIndex(good, ",")]), "f: teacher contexts, case 0: metric serl/feedback_reference_fraction: got 1, the original reports none"},
		{"spans", `[{"text": "<action>x</action>", "spans_codepoints": [[8, 10]]}]`, `f: action spans, case 0: spans of "<action>x</action>": got [{8 9}], want [{8 10}]`},
		{"projection", `[{"text": "<action>X</action>", "alfworld": {"action": "x", "valid": 0}, "webshop": {"action": "x", "valid": 1}}]`, `f: projections, case 0: webshop: "<action>X</action>" gives action "x", valid false, want "x", true`},
	} {
		got := ""
		passed, failed, err := Verify("f", strings.NewReader(c.file), templates, func(line string) { got = line })
		if err != nil || got != c.want || passed+failed != 1 || (failed == 1) != (c.want != "") {
			t.Errorf("%s: %d passed, %d failed, %v\n got %s\nwant %s", c.name, passed, failed, err, got, c.want)
		}
	}
}

func TestFilesThatAreNoVectors(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"":          "verify f: decode the array of cases: unexpected end of JSON input",
		"[]":        "verify f: the file has no cases",
		"[1]":       "verify f: case 0: decode: ",
		"\x1f\x8b!": "verify f: unzip: ",
		`[{"config": {}, "rows": [{}], "messages": [], "mask": []}]`:                                                      "verify f: teacher contexts, case 0: 1 rows, 0 messages, 0 mask values",
		`[{"config": {"sampling_mode": "x"}, "rows": [], "messages": [], "mask": []}]`:                                    `verify f: teacher contexts, case 0: unknown teacher mode "x"`,
		`[{"config": {"sampling_mode": "privileged"}, "rows": [], "messages": [], "mask": []}]`:                           "verify f: teacher contexts, case 0: contexts need the original's strings",
		`[{"config": {"trajectory_format": "x", "sampling_mode": "privileged"}, "rows": [], "messages": [], "mask": []}]`: `verify f: teacher contexts, case 0: unknown trajectory format "x"`,
		`[{"config": {}, "rows": [{"raw_prompt": 3}], "messages": [], "mask": []}]`:                                       "verify f: teacher contexts, case 0: decode: ",
		`[{"config": {}, "rows": [{"rollout_success": "x"}], "messages": [], "mask": []}]`:                                "verify f: teacher contexts, case 0: decode: ",
	} {
		if _, _, err := Verify("f", strings.NewReader(file), nil, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", file, err, want)
		}
	}
	if _, _, err := Verify("f", strings.NewReader(`[{"advantages": []}]`), nil, nil); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("another kind: %v", err)
	}
}

package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

func TestArtifactsAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	rec := s.Recorder(run.ID)
	id, _, err := rec.Begin(t.Context(), pending(t, s, run.ID)[0])
	if err != nil {
		t.Fatal(err)
	}
	want := []harness.Artifact{
		{Name: "patch.diff", Content: "--- a\n+++ b\r\n\x00\xff no UTF-8\n"},
		{Name: "test_output.txt", Content: strings.Repeat("PASSED tests/test_x.py::test_y\n", 5000)},
		{Name: "empty", Content: ""},
	}
	if err := rec.Artifact(t.Context(), id, harness.Artifact{Name: "patch.diff", Content: "replaced"}); err != nil {
		t.Fatal(err)
	}
	for _, x := range want {
		if err := rec.Artifact(t.Context(), id, x); err != nil {
			t.Fatal(err)
		}
	}
	var got []harness.Artifact
	for x, err := range s.Artifacts(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, x)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if x, err := s.Artifact(t.Context(), id, "empty"); err != nil || x.Content != "" {
		t.Errorf("got %q, %v", x.Content, err)
	}
	if _, err := s.Artifact(t.Context(), id, "report.json"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an artifact that is not there: %v", err)
	}
	clean(t, s)
}

func TestArtifactsAreRefused(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	rec := s.Recorder(run.ID)
	id, _, err := rec.Begin(t.Context(), pending(t, s, run.ID)[0])
	if err != nil {
		t.Fatal(err)
	}
	for why, x := range map[string]harness.Artifact{
		"no name":              {Content: "x"},
		"not UTF-8":            {Name: "\xff"},
		"67108864 are allowed": {Name: "big", Content: strings.Repeat("x", maxBlob+1)},
	} {
		if err := rec.Artifact(t.Context(), id, x); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v", why, err)
		}
	}
	if err := rec.Fail(t.Context(), id, &harness.Failure{Kind: harness.FailEnv, Op: "x", Err: errors.New("y")}, true); err != nil {
		t.Fatal(err)
	}
	if err := rec.Artifact(t.Context(), id, harness.Artifact{Name: "late"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("an artifact of a closed attempt: %v", err)
	}
}

func TestCheckFindsDamagedArtifacts(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	rec := s.Recorder(run.ID)
	id, _, err := rec.Begin(t.Context(), pending(t, s, run.ID)[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Artifact(t.Context(), id, harness.Artifact{Name: "patch.diff", Content: strings.Repeat("diff ", 1000)}); err != nil {
		t.Fatal(err)
	}
	if err := s.write(t.Context(), func(c *conn) error {
		_, err := c.exec("UPDATE artifacts SET content = x'01ffff'")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Artifact(t.Context(), id, "patch.diff"); err == nil {
		t.Error("a damaged artifact is read")
	}
	found, err := s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Table != "artifacts" {
		t.Errorf("the check finds %v", found)
	}
}

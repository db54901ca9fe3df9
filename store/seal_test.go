package store

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
)

// sealedLedger is a closed ledger with everything that a seal covers, and its seal.
func sealedLedger(t *testing.T) (path string, seal []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "whole.db")
	s := openTest(t, path)
	run := recordedRun(t, s, 3, 2, 3, 9, func(r harness.EpisodeRef) bool { return r.Group == 2 && r.Sample == 1 })
	src := sources(t, s, run.ID)
	if _, err := s.AddCreditPass(t.Context(), testPass(run.ID, "k"), randomCredits(src[:6], 3)); err != nil {
		t.Fatal(err)
	}
	pass, err := s.OpenScorePass(t.Context(), testScorePass(run, "k"))
	if err != nil {
		t.Fatal(err)
	}
	saveTestScores(t, s, run, pass.ID, "f1", -1)
	seal = sealOf(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, seal
}

// saveTestScores scores one step of group 0.
func saveTestScores(t *testing.T, s *Store, run Run, pass int64, fingerprint string, first float32) {
	t.Helper()
	student, teacher := logps(byte(-first), first, -2, -3, -4, -5, -6, -7, -8, -9), logps(100, -1, -1, -1, -1, -1, -1, -1, -1, -1)
	if err := s.AddLogprobs(t.Context(), []harness.LogprobColumn{student, teacher}); err != nil {
		t.Fatal(err)
	}
	episodes, err := s.GroupEpisodes(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := []harness.StepScore{{
		Attempt: episodes[0].Attempt, Step: 1, Status: harness.ScoreDone, Student: student, Teacher: teacher,
		ActionMask: make([]bool, 9), PromptTokens: 70, LeftOut: json.RawMessage(`{}`),
	}}
	if err := s.SaveScores(t.Context(), pass, 0, fingerprint, rows); err != nil {
		t.Fatal(err)
	}
}

func sealOf(t *testing.T, s *Store) []byte {
	t.Helper()
	x, found, err := s.Seal(t.Context(), nil)
	if err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	var b bytes.Buffer
	n, err := x.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
	}
	return b.Bytes()
}

func readSealed(t *testing.T, seal []byte) *Seal {
	t.Helper()
	x, err := ReadSeal(bytes.NewReader(seal))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestSealFindsChangedBits: values that read as well as before, and were others, are found; the plain check
// does not see them.
func TestSealFindsChangedBits(t *testing.T) {
	t.Parallel()
	whole, seal := sealedLedger(t)
	for name, tt := range map[string]struct {
		sql, want string
		plain     bool // the check without a seal sees it, too
	}{
		"a letter of a text":         {"UPDATE steps SET action = 'x' || substr(action, 2) WHERE id = 2", "attempts 1: its rows are not what was sealed", false},
		"a reward and its sum":       {"UPDATE steps SET reward = 9 WHERE reward = 10 AND attempt_id = 1; UPDATE episodes SET reward = 9 WHERE id = 1", "attempts 1: its rows are not", false},
		"an outcome's stop":          {"UPDATE episodes SET stop = 'stuck' WHERE id = 1", "attempts 1: its rows are not", false},
		"a log-probability":          {"UPDATE tokens SET logprobs = CAST(x'00' || zeroblob(length(logprobs) - 1) AS BLOB) WHERE step_id = 1", "attempts 1: its rows are not", false},
		"a sampler's setting":        {"UPDATE token_meta SET temperature = 0.125", "attempts 1: its rows are not", false},
		"a failure's text":           {"UPDATE attempts SET failure_message = 'other' WHERE failure_message IS NOT NULL", "attempts 6: its rows are not", false},
		"an advantage":               {"UPDATE credits SET base = base + 0.25 WHERE id = 3", "credit_passes 1: its rows are not", false},
		"a credit configuration":     {"UPDATE credit_passes SET config = '{}'", "credit_passes 1: its rows are not", false},
		"a row of credit less":       {"DELETE FROM credits WHERE id = 6; UPDATE credit_passes SET n = 5", "credit_passes 1: 6 rows were sealed, there are 5", false},
		"a teacher's number":         {"UPDATE logprobs SET value = CAST(x'00' || zeroblob(36) AS BLOB) WHERE id = 1", "score_groups 1: group id 1: its rows are not", false},
		"an action mask":             {"UPDATE scores SET action_mask = x'0100', marked = 1", "score_groups 1: group id 1: its rows are not", false},
		"a pass that is gone":        {"DELETE FROM credits; DELETE FROM credit_passes", "credit_passes 1: it was sealed and is absent", false},
		"a step more in the attempt": {"INSERT INTO steps SELECT 1000, attempt_id, 3, action, valid, 0, score, won, done, spans, response, next_text, feedback, privileged, next_anchor, next_task, anchor, admissible, next_admissible, prompt, next_prompt, policy_ns, env_ns, shared_id FROM steps WHERE id = 1", "attempts 1: ", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			copyFile(t, whole, path)
			shell(t, path, tt.sql)
			s, err := OpenReadOnly(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if found, err := s.Check(t.Context()); err != nil || len(found) > 0 != tt.plain {
				t.Errorf("the check without a seal: %v, %v", found, err)
			}
			_, found, err := s.Seal(t.Context(), readSealed(t, seal))
			if err != nil {
				t.Fatal(err)
			}
			seen := false
			for _, v := range found {
				seen = seen || strings.HasPrefix(v.String(), tt.want)
			}
			if !seen {
				t.Errorf("found %v, want %q", found, tt.want)
			}
		})
	}
}

// TestSealLetsALedgerGrow: what comes after a seal is no violation, and the next seal has it.
func TestSealLetsALedgerGrow(t *testing.T) {
	t.Parallel()
	path, seal := sealedLedger(t)
	s := openTest(t, path)
	run, err := s.RunByName(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	src := sources(t, s, run.ID)
	if _, err := s.GrowCreditPass(t.Context(), testPass(run.ID, "k"), randomCredits(src[6:9], 4)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddCreditPass(t.Context(), testPass(run.ID, "another"), randomCredits(src, 5)); err != nil {
		t.Fatal(err)
	}
	saveTestScores(t, s, run, 1, "f2", -7) // scored anew
	if err := s.SetRunState(t.Context(), run.ID, RunRunning, ""); err != nil {
		t.Fatal(err)
	}
	second, found, err := s.Seal(t.Context(), readSealed(t, seal))
	if err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	attempts, credits, scores := second.Cover(readSealed(t, seal))
	if diff := cmp.Diff([]Covered{{6, 6}, {0, 2}, {0, 1}}, []Covered{attempts, credits, scores}); diff != "" {
		t.Error(diff)
	}
	attempts, credits, scores = second.Cover(second)
	if diff := cmp.Diff([]Covered{{6, 6}, {2, 2}, {1, 1}}, []Covered{attempts, credits, scores}); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(sealOf(t, s), sealOf(t, s)) {
		t.Error("the same ledger has two seals")
	}
	// A row of the sealed part of a pass that has grown since is looked at all the same.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	shell(t, path, "UPDATE credits SET factor = 3 WHERE id = 1")
	ro, err := OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	if _, found, err := ro.Seal(t.Context(), readSealed(t, seal)); err != nil || len(found) != 1 || found[0].String() != "credit_passes 1: its rows are not what was sealed" {
		t.Errorf("%v, %v", found, err)
	}
}

// TestSealsThatAreNone are refused with the line, and another ledger's seal with a word about it.
func TestSealsThatAreNone(t *testing.T) {
	t.Parallel()
	path, seal := sealedLedger(t)
	lines := bytes.SplitAfter(seal, []byte("\n"))
	for name, tt := range map[string]struct{ text, want string }{
		"empty":           {"", "cut off"},
		"cut off":         {string(bytes.Join(lines[:3], nil)), "cut off"},
		"a line less":     {string(lines[0]) + string(lines[2]) + `{"end":6}`, "it says 6 items, there are 1"},
		"another version": {`{"seal":9}`, "line 1: it is version 9, want 1"},
		"no JSON":         {string(lines[0]) + "?\n", "line 2: "},
	} {
		if _, err := ReadSeal(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	other := newTest(t)
	testRun(t, other, 1, 1)
	if _, _, err := other.Seal(t.Context(), readSealed(t, bytes.Replace(seal, []byte(`"created_ms":`), []byte(`"created_ms":1`), 1))); err == nil || !strings.Contains(err.Error(), "the seal is of another ledger") {
		t.Errorf("another ledger's seal of %s: %v", path, err)
	}
}

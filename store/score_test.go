package store

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

// scoredRun is a ledger with a run of two groups; all episodes but the last are done.
func scoredRun(t *testing.T) (*Store, Run) {
	t.Helper()
	s := newTest(t)
	run := testRun(t, s, 2, 2)
	refs := pending(t, s, run.ID)
	for i, ref := range refs[:3] {
		rec := s.Recorder(run.ID)
		id, _, err := rec.Begin(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		g := newGame(uint64(i), 9)
		var steps []harness.Step
		for range 3 {
			steps = append(steps, g.step())
			if err := rec.Step(t.Context(), id, steps[len(steps)-1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := rec.Finish(t.Context(), id, outcome(steps)); err != nil {
			t.Fatal(err)
		}
	}
	return s, run
}

func testScorePass(run Run, key string) harness.ScorePass {
	return harness.ScorePass{RunID: run.ID, Key: key, Mode: "future_trajectory", Teacher: "toy", PolicyVersion: -1, Config: json.RawMessage(`{"a": 1}`)}
}

func logps(key byte, v ...float32) harness.LogprobColumn {
	return harness.LogprobColumn{Key: harness.ContentKey{key, 1}, Values: v}
}

func TestLogprobsRoundTrip(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	var cols []harness.LogprobColumn
	var keys []harness.ContentKey
	want := map[harness.ContentKey][]float32{}
	for i := range 3 * keysPerQuery / 2 {
		c := harness.LogprobColumn{Key: harness.ContentKey{1, byte(i), byte(i >> 8)}, Values: make([]float32, r.IntN(30))}
		for k := range c.Values {
			c.Values[k] = -float32(r.ExpFloat64())
		}
		cols, keys, want[c.Key] = append(cols, c), append(keys, c.Key), c.Values
	}
	if err := s.AddLogprobs(t.Context(), cols); err != nil {
		t.Fatal(err)
	}
	again := logps(0)
	again.Key, again.Values = keys[0], []float32{-9}
	if err := s.AddLogprobs(t.Context(), []harness.LogprobColumn{again, logps(9, float32(math.Inf(-1)))}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Logprobs(t.Context(), append(keys, harness.ContentKey{7}))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("seed %d: %v\n%s", seed, err, diff)
	}
	for _, bad := range []harness.LogprobColumn{{}, {Key: keys[0]}, logps(3, 0.5), logps(3, float32(math.NaN()))} {
		if err := s.AddLogprobs(t.Context(), []harness.LogprobColumn{bad}); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

func TestScoresRoundTripAndReplace(t *testing.T) {
	t.Parallel()
	s, run := scoredRun(t)
	pass, err := s.OpenScorePass(t.Context(), testScorePass(run, "k1"))
	if err != nil || pass.State != "running" || pass.ID == 0 {
		t.Fatal(err, pass)
	}
	student, teacher := logps(1, -1, -2, -3, -4, -5, -6, -7, -8, -9), logps(2, -1, -1, -1, -1, -1, -1, -1, -1, -1)
	if err := s.AddLogprobs(t.Context(), []harness.LogprobColumn{student, teacher}); err != nil {
		t.Fatal(err)
	}
	episodes, err := s.GroupEpisodes(t.Context(), run.ID, 0)
	if err != nil || len(episodes) != 2 || len(episodes[0].Steps) != 3 {
		t.Fatalf("%d episodes, %v", len(episodes), err)
	}
	rows := []harness.StepScore{
		{
			Attempt: episodes[0].Attempt, Step: 1, Status: harness.ScoreDone, Student: student, Teacher: teacher,
			ActionMask: []bool{false, true, true, false, false, false, false, false, true}, PromptTokens: 70, LeftOut: json.RawMessage(`{"future_steps":2}`),
		},
		{Attempt: episodes[1].Attempt, Step: 0, Status: harness.ScoreNoContext},
	}
	for range 2 { // the second time replaces
		if err := s.SaveScores(t.Context(), pass.ID, 0, "f1", rows); err != nil {
			t.Fatal(err)
		}
	}
	var got []harness.StepScore
	for r, err := range s.Scores(t.Context(), pass.ID, ScoreFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.StepID == 0 {
			t.Error("a row without its step")
		}
		r.StepID, r.Episode = 0, 0
		got = append(got, r)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Error(diff)
	}
	n := 0
	for r, err := range s.Scores(t.Context(), pass.ID, ScoreFilter{Episode: episodes[1].ID}) {
		if n++; err != nil || r.Episode != episodes[1].ID || r.Status != harness.ScoreNoContext {
			t.Errorf("%+v, %v", r, err)
		}
	}
	counts, err := s.ScoreCounts(t.Context(), pass.ID)
	want := harness.ScoreCounts{Rows: map[harness.ScoreStatus]int{harness.ScoreDone: 1, harness.ScoreNoContext: 1}, Groups: 1, Tokens: 9, Marked: 3, Shortened: 1, Prompts: 70}
	if diff := cmp.Diff(want, counts); err != nil || diff != "" || n != 1 {
		t.Errorf("%d rows of the episode, %v\n%s", n, err, diff)
	}
	held, err := s.ScoredGroups(t.Context(), pass.ID)
	if diff := cmp.Diff(map[int]string{0: "f1"}, held); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if err := s.CloseScorePass(t.Context(), pass.ID, json.RawMessage(`{"b":2}`)); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("violations %v, %v", found, err)
	}
}

func TestScoresThatCannotBe(t *testing.T) {
	t.Parallel()
	s, run := scoredRun(t)
	pass, err := s.OpenScorePass(t.Context(), testScorePass(run, "k1"))
	if err != nil {
		t.Fatal(err)
	}
	c := logps(1, -1)
	done := harness.StepScore{Attempt: 1, Status: harness.ScoreDone, Student: c, Teacher: c, ActionMask: []bool{true}}
	for want, row := range map[string]harness.StepScore{
		"it has no status":              {},
		"it is no_context and has numb": {Status: harness.ScoreNoContext, Student: c},
		"1 student values, 0 teacher":   {Status: harness.ScoreDone, Student: c, ActionMask: []bool{true}},
		"left out is not valid JSON":    {Status: harness.ScoreNoContext, LeftOut: json.RawMessage("{")},
		"CHECK constraint failed":       done, // its log-probabilities were not added
	} {
		if err := s.SaveScores(t.Context(), pass.ID, 0, "f", []harness.StepScore{row}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := s.SaveScores(t.Context(), pass.ID, 9, "f", nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("a group that is not there: %v", err)
	}
	if held, err := s.ScoredGroups(t.Context(), pass.ID); err != nil || len(held) != 0 {
		t.Errorf("refused rows left a mark: %v, %v", held, err)
	}
	for _, p := range []harness.ScorePass{{}, {Key: "k", Mode: "m"}, {Key: "k\x00", Mode: "m", Config: json.RawMessage("{}")}} {
		if _, err := s.OpenScorePass(t.Context(), p); err == nil {
			t.Errorf("%+v was opened", p)
		}
	}
}

func TestFindScorePass(t *testing.T) {
	t.Parallel()
	s, run := scoredRun(t)
	var ids []int64
	for _, key := range []string{"aaaaaaaa", "bbbbbbbb", "cccccccc"} {
		p, err := s.OpenScorePass(t.Context(), testScorePass(run, key))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	if again, err := s.OpenScorePass(t.Context(), testScorePass(run, "bbbbbbbb")); err != nil || again.ID != ids[1] {
		t.Errorf("opened again as %d, %v", again.ID, err)
	}
	if err := s.CloseScorePass(t.Context(), ids[1], json.RawMessage("{}")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"future_trajectory": ids[1], "cccccc": ids[2], "1": ids[0]} {
		if p, err := s.FindScorePass(t.Context(), run.ID, name); err != nil || p.ID != want {
			t.Errorf("%s: pass %d, %v, want %d", name, p.ID, err, want)
		}
	}
	if _, err := s.FindScorePass(t.Context(), run.ID, "x"); !errors.Is(err, ErrNotFound) || !strings.HasPrefix(errext.Hint(err), "it was scored in: future_trajectory") {
		t.Errorf("%v (%s)", err, errext.Hint(err))
	}
}

func TestGroupFingerprints(t *testing.T) {
	t.Parallel()
	s, run := scoredRun(t)
	before, err := s.ScoreGroups(t.Context(), run.ID)
	if err != nil || len(before) != 2 || before[0].Done != 2 || before[1].Done != 1 || before[1].Open != 1 || before[0].Fingerprint == before[1].Fingerprint {
		t.Fatalf("%+v, %v", before, err)
	}
	episodes, err := s.GroupEpisodes(t.Context(), run.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, source := range []string{"judge/x", "judge/y"} {
		if err := s.AddStepText(t.Context(), episodes[0].Attempt, harness.StepText{Step: 2, Source: source, Text: "bad"}); err != nil {
			t.Fatal(err)
		}
		after, err := s.ScoreGroups(t.Context(), run.ID)
		if err != nil || after[0] != before[0] || after[1].Fingerprint != before[1].Fingerprint || after[1].Judged == before[1].Judged {
			t.Errorf("text %d: %+v, %v", i, after, err)
		}
		before = after
	}
	episodes, err = s.GroupEpisodes(t.Context(), run.ID, 1)
	want := []harness.StepText{{Step: 2, Source: "judge/x", Text: "bad"}, {Step: 2, Source: "judge/y", Text: "bad"}}
	if diff := cmp.Diff(want, episodes[0].Texts); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// One process records while another scores; two cannot score.
func TestScoringBesideARecordingWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if _, err := OpenScores(context.Background(), path, Config{Now: testClock()}); !errors.Is(err, ErrNoLedger) {
		t.Errorf("no ledger: %v", err)
	}
	recording := openTest(t, path)
	run := testRun(t, recording, 1, 1)
	scoring, err := OpenScores(t.Context(), path, Config{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenScores(t.Context(), path, Config{Now: testClock()}); !errors.Is(err, ErrWriterActive) {
		t.Errorf("a second scorer: %v", err)
	}
	if _, err := scoring.OpenScorePass(t.Context(), testScorePass(run, "k")); err != nil {
		t.Error(err)
	}
	if err := recording.SetRunState(t.Context(), run.ID, RunRunning, ""); err != nil {
		t.Error(err)
	}
	if err := scoring.Close(); err != nil {
		t.Error(err)
	}
	if passes, err := recording.ScorePasses(t.Context(), run.ID); err != nil || len(passes) != 1 {
		t.Errorf("%d passes, %v", len(passes), err)
	}
	if _, err := Open(t.Context(), path, Config{Now: testClock()}); !errors.Is(err, ErrWriterActive) {
		t.Errorf("the recording writer's note is gone: %v", err)
	}
}

func TestCheckFindsBrokenScores(t *testing.T) {
	t.Parallel()
	s, run := scoredRun(t)
	pass, err := s.OpenScorePass(t.Context(), testScorePass(run, "k1"))
	if err != nil {
		t.Fatal(err)
	}
	c := logps(1, -1, -1, -1, -1, -1, -1, -1, -1, -1)
	if err := s.AddLogprobs(t.Context(), []harness.LogprobColumn{c}); err != nil {
		t.Fatal(err)
	}
	row := harness.StepScore{Attempt: 1, Step: 0, Status: harness.ScoreDone, Student: c, Teacher: c, ActionMask: make([]bool, 9)}
	if err := s.SaveScores(t.Context(), pass.ID, 0, "f", []harness.StepScore{row}); err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []struct{ sql, undo, want string }{
		{"UPDATE scores SET n = 4", "UPDATE scores SET n = 9", "it is scored with 4 tokens, its step has 9"},
		{"UPDATE logprobs SET value = x'00'", "", "0 values, the row says 9"},
		{"UPDATE scores SET action_mask = x'00'", "UPDATE scores SET action_mask = x'0000'", "action mask of 1 bytes for 9 tokens"},
		{"DELETE FROM score_groups", "", "pass 1 does not hold its group"},
	} {
		shell(t, path, damage.sql)
		ro, err := OpenReadOnly(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		found, err := ro.Check(t.Context())
		hit := false
		for _, v := range found {
			hit = hit || strings.Contains(v.What, damage.want)
		}
		if err != nil || !hit {
			t.Errorf("%s: %v, %v", damage.sql, found, err)
		}
		if err := ro.Close(); err != nil {
			t.Error(err)
		}
		if damage.undo != "" {
			shell(t, path, damage.undo)
		}
	}
}

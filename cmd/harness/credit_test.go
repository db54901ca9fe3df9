package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/store"
)

// inProcess runs one command line without a process and returns what it prints.
func inProcess(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, logs bytes.Buffer
	g := &globals{
		stdin: strings.NewReader(""), stdout: &out, stderr: &logs, env: func(string) string { return "" },
		now: time.Now, log: slog.New(slog.DiscardHandler),
	}
	code = run(stops{soft: t.Context(), hard: t.Context()}, g, args)
	return out.String(), logs.String(), code
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, logs, code := inProcess(t, args...)
	if code != 0 {
		t.Fatalf("harness %s: exit %d\n%s", strings.Join(args, " "), code, logs)
	}
	return out
}

// scoredRun collects a run of the reference model and scores it with a teacher of noise: what a teacher
// pass leaves in the ledger, without its cost. Every seventh step has no context.
func scoredRun(t *testing.T, db string) store.Run {
	t.Helper()
	mustRun(t, "rollout", "--db", db, "--name", "r", "--tasks", "2", "--group", "4", "--max-steps", "12", "--quiet")
	s, err := store.Open(t.Context(), db, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run, err := s.RunByName(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	pass, err := s.OpenScorePass(t.Context(), harness.ScorePass{RunID: run.ID, Key: "0123456789abcdef", Mode: "noise", Teacher: "noise", PolicyVersion: -1, Config: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	byGroup := map[int][]harness.StepScore{}
	r := rand.New(rand.NewPCG(1, 2))
	for e, err := range s.Episodes(t.Context(), run.ID, store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		steps, err := s.EpisodeSteps(t.Context(), e.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range steps {
			byGroup[e.Group] = append(byGroup[e.Group], noiseScore(t, s, r, e, &st))
		}
	}
	for g, scores := range byGroup {
		if err := s.SaveScores(t.Context(), pass.ID, g, fmt.Sprint("print-", g), scores); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CloseScorePass(t.Context(), pass.ID, json.RawMessage("{}")); err != nil {
		t.Fatal(err)
	}
	return run
}

func noiseScore(t *testing.T, s *store.Store, r *rand.Rand, e store.Episode, st *harness.Step) harness.StepScore {
	t.Helper()
	score := harness.StepScore{Attempt: e.Attempt, Step: st.Index, Status: harness.ScoreNoContext}
	if st.Index%7 == 6 {
		return score
	}
	score.Status = harness.ScoreDone
	score.Student.Values = st.Tokens.Logprobs
	for j, lp := range st.Tokens.Logprobs {
		score.Teacher.Values = append(score.Teacher.Values, min(0, lp+float32(r.NormFloat64())/5))
		score.ActionMask = append(score.ActionMask, j >= len(st.Tokens.IDs)-5)
	}
	for name, col := range map[string]*harness.LogprobColumn{"student": &score.Student, "teacher": &score.Teacher} {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", name, e.ID, st.Index))
		copy(col.Key[:], sum[:])
	}
	if err := s.AddLogprobs(t.Context(), []harness.LogprobColumn{score.Student, score.Teacher}); err != nil {
		t.Fatal(err)
	}
	return score
}

func wants(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(text) {
			t.Errorf("no match for %q in:\n%s", p, text)
		}
	}
}

// TestCreditWithScores fuses all stages over a scored run, explains every number of it, and compares it
// with the base advantage alone.
func TestCreditWithScores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, full := filepath.Join(dir, "l.db"), filepath.Join(dir, "full.yaml")
	scoredRun(t, db)
	config := "estimator: {name: gigpo, invalid_penalty: 0.1, adv_clip: 5}\nresponse: aem\ntoken: serl\nupdate: 10\n"
	if err := os.WriteFile(full, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, mustRun(t, "credit", "--db", db), `^grpo `, `^pass 1, `)
	wants(t, mustRun(t, "credit", "--db", db, "--score", "noise"), `^serl +\d+ +\d+ `, `^weights: λ 0.5 at update 0`, `^pass 2, .* computed`)
	out := mustRun(t, "credit", "--db", db, "--score", "1", "--config", full)
	wants(t, out, `^gigpo `, `^aem `, `^serl `, `^tokens `, `^weights: λ 0.4 at update 10, mean \|Δ\| 0\.(09|1)`, `^signs: every token`, `^pass 3, `)
	wants(t, mustRun(t, "credit", "--db", db, "--score", "012345", "--config", full), `^pass 3, .* found`)
	wants(t, mustRun(t, "credit", "--db", db, "--score", "1", "--config", full, "--update", "40"), `λ 0.1 at update 40`, `^pass 4, `)

	text := mustRun(t, "explain", "3", "--db", db, "--pass", "3", "--step", "2")
	wants(t, text, `λ = 0\.5·max\(0, 1 − 10/50\) = 0\.4`, `text +entropy +logp +student +teacher +Δ +exp\(±Δ\) +w +advantage`, `agrees with pass 3`)
	for episode := 1; episode <= 8; episode++ {
		for _, pass := range []string{"1", "2", "3", "4"} {
			wants(t, mustRun(t, "explain", fmt.Sprint(episode), "--db", db, "--pass", pass), `agrees with pass `+pass)
		}
	}
	plots := filepath.Join(dir, "plots")
	text = mustRun(t, "credit", "compare", "1", "3", "--db", db, "--out", plots, "--top", "3")
	wants(t, text, `^action tokens +\d+\.\d+% +\d`, `^mass on action tokens`, `^rank correlation: [\d.]+ over rows, [\d.]+ over tokens`, `^changed most:`)
	for _, name := range []string{"weights", "advantages", "action-mass"} {
		svg, err := os.ReadFile(filepath.Join(plots, name+".svg"))
		if err != nil || !bytes.Contains(svg, []byte("</svg>")) {
			t.Errorf("plot %s: %d bytes, %v", name, len(svg), err)
		}
	}
	if again := mustRun(t, "credit", "compare", "1", "1", "--db", db); !strings.Contains(again, "rank correlation: 1.0000 over rows, 1.0000 over tokens; 0 rows") {
		t.Errorf("a pass against itself:\n%s", again)
	}
}

// TestExplainFindsTampering: a pass whose rows were changed behind its back is reported, with exit 3.
func TestExplainFindsTampering(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "l.db")
	run := scoredRun(t, db)
	s, err := store.Open(t.Context(), db, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planCredit(t.Context(), s, run.Name, "", "", -1)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := plan.compute(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Credits(t.Context(), pass.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows[0].Base++
	pass.Key = "another"
	if _, err := s.AddCreditPass(t.Context(), pass, rows); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, logs, code := inProcess(t, "explain", fmt.Sprint(rows[0].Episode), "--db", db)
	if code != exitBelow {
		t.Errorf("exit %d", code)
	}
	wants(t, logs, `the base advantage is .* by hand and .* in the pass`, `hint: `)
}

// TestUnfinishedScoresAreRefused: half a scoring pass would weigh half the rows without a word.
func TestUnfinishedScoresAreRefused(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "l.db")
	run := scoredRun(t, db)
	s, err := store.Open(t.Context(), db, store.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenScorePass(t.Context(), harness.ScorePass{RunID: run.ID, Key: "fedcba9876543210", Mode: "half", Config: json.RawMessage("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, logs, code := inProcess(t, "credit", "--db", db, "--score", "half")
	if code == 0 {
		t.Error("no error")
	}
	wants(t, logs, `score pass 2 of run r is not complete`, `hint: let harness score finish it`)
}

// TestKilledCreditLeavesNothingOrAll kills passes at random moments. What is left is no pass or a whole
// one, and the next try ends with the rows of an undisturbed one.
func TestKilledCreditLeavesNothingOrAll(t *testing.T) {
	t.Parallel()
	n := 12
	if testing.Short() {
		n = 3
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	db := filepath.Join(dir, "l.db")
	bin := harnessPath(t)
	scoredRun(t, db)
	began := time.Now()
	mustRun(t, "credit", "--db", db, "--score", "1", "--update", "0")
	whole := time.Since(began)
	want := creditsOf(t, db, 1)
	for i := range n {
		// Another update is another key, and at λ_0 for ever the same numbers.
		args := []string{"credit", "--db", db, "--score", "1", "--update", fmt.Sprint(i + 1), "--config", filepath.Join(dir, "c.yaml")}
		if err := os.WriteFile(args[len(args)-1], []byte("serl: {decay_steps: 0}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		killAfter(t, bin, args, time.Duration(r.Int64N(int64(2*whole)+1)))
		var passes []store.CreditPass
		if err := json.Unmarshal([]byte(mustRun(t, "credit", "list", "--db", db, "--json")), &passes); err != nil {
			t.Fatal(err)
		}
		if len(passes) != i+1 && len(passes) != i+2 {
			t.Fatalf("%d passes after kill %d", len(passes), i)
		}
		wants(t, mustRun(t, args...), fmt.Sprintf(`^pass %d, `, i+2))
		if d := cmp.Diff(want, creditsOf(t, db, int64(i+2))); d != "" {
			t.Errorf("after kill %d: %s", i, d)
		}
	}
	wants(t, mustRun(t, "db", "check", "--db", db), `: 0 violations`)
}

func creditsOf(t *testing.T, db string, pass int64) []store.Credit {
	t.Helper()
	s, err := store.OpenReadOnly(context.WithoutCancel(t.Context()), db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.Credits(t.Context(), pass, 0)
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows of pass %d: %v", len(rows), pass, err)
	}
	return rows
}

package store

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// planned makes a closed ledger that holds the plan.
func planned(t *testing.T, path string) string {
	t.Helper()
	s, err := Open(t.Context(), path, Config{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan(t.Context(), s, 1, func(int64, int) {}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each way to break the ledger from outside is found, at its row. Episode 1 is done (attempt 1),
// episode 3 was retried, episode 5 failed.
func TestCheckFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	whole := planned(t, filepath.Join(t.TempDir(), "whole.db"))
	tests := []struct {
		name, sql  string
		want       string
		repairable bool
	}{
		{"task", "UPDATE tasks SET task = 'other' WHERE id = 3", "panels 1: the hash is ", false},
		{"task order", "UPDATE tasks SET idx = 77 WHERE id = 12", "panels 1: task 77 stands where task 11 belongs", false},
		{"group", "UPDATE groups SET idx = 99 WHERE id = 12", "groups 12: group 99 has task 11 of panel 1", false},
		{"groups", "DELETE FROM episodes WHERE group_id = 12; DELETE FROM groups WHERE id = 12", "runs 1: its panel has 12 tasks, the run 11 groups", false},
		{"sample", "UPDATE episodes SET sample = 7 WHERE id = 2", "groups 1: it holds 2 episodes, the group size is 2", false},
		{
			"run of an episode", "INSERT INTO runs SELECT 2, 'b', 'created', 0, panel_id, group_size, seed, policy, code_version, config, info FROM runs; UPDATE episodes SET run_id = 2 WHERE id = 1",
			"episodes 1: it says run 2, its group says run 1", true,
		},
		{"run state", "UPDATE runs SET state = 'lost'", "runs 1: state 'lost' is unknown", false},
		{"open episodes", "UPDATE episodes SET status = 'pending', attempt_id = NULL, failure_kind = NULL WHERE id = 5", "runs 1: the run is done, 1 of its episodes are open", true},
		{"status", "UPDATE episodes SET status = 'lost' WHERE id = 1", "episodes 1: status 'lost' is unknown", false},
		{"no outcome", "UPDATE episodes SET reward = NULL WHERE id = 1", "episodes 1: it is done and has no complete outcome", false},
		{"reward of a failed episode", "UPDATE episodes SET reward = 0 WHERE id = 5", "episodes 5: it is failed and has an outcome", false},
		{"no failure", "UPDATE episodes SET failure_kind = NULL WHERE id = 5", "episodes 5: it failed and has no failure", true},
		{"failure", "UPDATE episodes SET failure_kind = 'agent' WHERE id = 1", "episodes 1: it is done and has a failure", true},
		{"closing attempt", "UPDATE episodes SET attempt_id = NULL WHERE id = 1", "episodes 1: it is done, the attempt that closed it is absent", true},
		{"another's attempt", "UPDATE episodes SET attempt_id = 2 WHERE id = 1", "episodes 1: it is done, the attempt that closed it is absent", true},
		{"open and closed", "UPDATE episodes SET status = 'running' WHERE id = 5", "episodes 5: it is running and names an attempt that closed it", true},
		{"done attempt", "UPDATE episodes SET status = 'running' WHERE id = 1", "episodes 1: it is running with 1 attempts done", true},
		{"two done attempts", "UPDATE attempts SET state = 'done', failure_kind = NULL WHERE episode_id = 3", "episodes 3: it is done with 2 attempts done", true},
		{"running attempt", "UPDATE attempts SET state = 'running', finished_ms = NULL WHERE id = 1", "episodes 1: it is done and attempt 1 is running", true},
		{
			"never attempted", "DELETE FROM steps WHERE attempt_id = 1; DELETE FROM attempts WHERE id = 1; UPDATE episodes SET status = 'running', attempt_id = NULL WHERE id = 1",
			"episodes 1: it is running and was never attempted", true,
		},
		{"followed attempt", "UPDATE attempts SET state = 'done', failure_kind = NULL WHERE episode_id = 3 AND number = 1", "attempts 3: attempt 1 is done, and another follows", false},
		{"attempt numbers", "UPDATE attempts SET number = 5 WHERE id = 1", "attempts 1: the numbers go up to 5, there are 1 attempts of episode 1", false},
		{"failed attempt", "UPDATE attempts SET failure_kind = NULL WHERE id = 3", "attempts 3: it failed and has no failure", false},
		{"attempt with failure", "UPDATE attempts SET failure_kind = 'agent' WHERE id = 1", "attempts 1: it is done and has a failure", true},
		{"end without time", "UPDATE attempts SET finished_ms = NULL WHERE id = 1", "attempts 1: it is done without a time at which it finished", true},
		{
			"event", "INSERT INTO runs SELECT 2, 'b', 'created', 0, panel_id, group_size, seed, policy, code_version, config, info FROM runs; UPDATE events SET run_id = 2, episode_id = 1 WHERE id = 1",
			"events 1: it is of run 2, its episode of run 1", false,
		},
		{"absent row", "DELETE FROM attempts WHERE id = 1", "refers to a row of attempts that is absent", false},
		{"gap", "DELETE FROM steps WHERE attempt_id = 1 AND idx = 4", "steps 6: attempt 1: blob does not decode: step 5 follows step 3", false},
		{"fewer steps", "DELETE FROM steps WHERE attempt_id = 1 AND idx = 8", "episodes 1: the outcome counts 9 steps, the ledger holds 8", true},
		{"no steps", "DELETE FROM steps WHERE attempt_id = 1", "episodes 1: the outcome counts 9 steps, the ledger holds 0", true},
		{"reward", "UPDATE steps SET reward = 0.25 WHERE id = 4", "episodes 1: the outcome's reward is 0, the steps' rewards add up to 0.25", true},
		{"invalid", "UPDATE steps SET valid = 0 WHERE id = 4", "episodes 1: the outcome counts 0 invalid steps, the ledger holds 1", true},
		{"first prompt", "UPDATE steps SET prompt = NULL WHERE id = 1", "steps 1: attempt 1: prompt: blob does not decode: NULL in a first step", false},
		{"first anchor", "UPDATE steps SET anchor = NULL WHERE id = 1", "steps 1: attempt 1: anchor: blob does not decode: text is a <nil>", false},
		{"prompt", "UPDATE steps SET next_prompt = x'07' WHERE id = 4", "steps 4: attempt 1: next_prompt: blob does not decode: codec 7 is unknown here", false},
		{"admissible", "UPDATE steps SET admissible = x'0003', next_admissible = NULL WHERE id = 1", "steps 1: attempt 1: admissible: blob does not decode: list has no head", false},
		{"text", "UPDATE steps SET response = x'' WHERE id = 4", "steps 4: attempt 1: response: blob does not decode: no codec byte", false},
		{"spans", "UPDATE steps SET spans = '[[0,100000]]' WHERE id = 4", "steps 4: span [0, 100000) is outside the response of ", false},
		{"spans text", "UPDATE steps SET spans = '[0,1]' WHERE id = 4", `steps 4: attempt 1: spans: blob does not decode: spans "[0,1]"`, false},
		{"token count", "UPDATE tokens SET n = 3 WHERE step_id = (SELECT min(step_id) FROM tokens)", "tokens: 20 ids and", false},
		{"token column", "UPDATE tokens SET logprobs = x'0000000000' WHERE step_id = (SELECT min(step_id) FROM tokens)", "tokens: logprobs has 1 values for 20 ids", false},
		{"token lengths", "UPDATE tokens SET lengths = x'0001000000' WHERE step_id = (SELECT min(step_id) FROM tokens)", "tokens: lengths has 1 values for 20 ids", false},
		{"token lengths that do not add up", "UPDATE tokens SET lengths = x'050900000014' WHERE step_id = (SELECT min(step_id) FROM tokens)", "tokens: 20 of them printed 180 bytes", false},
		{"token blob", "UPDATE tokens SET ids = x'0401' WHERE step_id = (SELECT min(step_id) FROM tokens)", "tokens: 0 ids and", false},
		{"token meta", "DELETE FROM token_meta", "refers to a row of token_meta that is absent", false},
		{"feedback", "INSERT INTO feedback VALUES (1, 1, 'judge', x'63', 0)", "feedback 1: text: blob does not decode: codec 99 is unknown here", false},
		{"message", "UPDATE events SET message = x'63' WHERE id = 1", "events 1: message: blob does not decode: codec 99 is unknown here", false},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			copyFile(t, whole, path)
			shell(t, path, "PRAGMA foreign_keys = 0; PRAGMA ignore_check_constraints = 1; "+tests[i].sql)
			s, err := OpenReadOnly(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			found, err := s.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(found, func(v Violation) bool { return strings.Contains(v.String(), tt.want) })
			if at < 0 {
				t.Fatalf("got %v, want %s", found, tt.want)
			}
			if found[at].Repairable != tt.repairable {
				t.Errorf("%v: repairable %v", found[at], found[at].Repairable)
			}
		})
	}
}

func TestCheckFindsADamagedIndex(t *testing.T) {
	t.Parallel()
	path := planned(t, filepath.Join(t.TempDir(), "ledger.db"))
	shell(t, path, `PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE INDEX episodes_run ON episodes (sample)' WHERE name = 'episodes_run'`)
	s, err := OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found, err := s.Check(t.Context())
	if err != nil || len(found) == 0 || found[0].Table != "file" || !strings.Contains(found[0].What, "missing from index episodes_run") || !found[0].Repairable {
		t.Errorf("got %v, %v", found, err)
	}
}

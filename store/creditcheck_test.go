package store

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheckFindsBrokenCredit breaks a credit pass from outside in each way.
func TestCheckFindsBrokenCredit(t *testing.T) {
	t.Parallel()
	const open = `UPDATE episodes SET status = 'pending', attempt_id = NULL, stop = NULL, won = NULL, reward = NULL, score = NULL,
		steps = NULL, invalid = NULL WHERE id = 1`
	for name, c := range map[string]struct{ sql, want string }{
		"sound":          {"SELECT 1", ""},
		"a row too few":  {"DELETE FROM credits WHERE id = 3", "credit_passes 1: it says 16 rows and has 15"},
		"open episode":   {open, "credits 1: its step is of no finished episode of run 1"},
		"no tokens":      {"UPDATE credits SET tokens = NULL WHERE id = 3", "credits 3: its step has 6 tokens, it has none"},
		"too few tokens": {"UPDATE credits SET tokens = x'0000000000' WHERE id = 3", "credits 3: 1 advantages for 6 tokens"},
		"damaged tokens": {"UPDATE credits SET tokens = x'07' WHERE id = 3", "credits 3: blob does not decode"},
		"clipped":        {"UPDATE credits SET clipped = weighted + 1 WHERE id = 3", "weights are clipped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			s, err := Open(t.Context(), path, Config{Now: testClock()})
			if err != nil {
				t.Fatal(err)
			}
			run := recordedRun(t, s, 2, 2, 4, 6, nil)
			if _, err := s.AddCreditPass(t.Context(), testPass(run.ID, "key-1"), randomCredits(sources(t, s, run.ID), 1)); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			shell(t, path, "PRAGMA foreign_keys = 0; PRAGMA ignore_check_constraints = 1; "+c.sql)
			found, err := openTest(t, path).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, func(v Violation) bool { return strings.Contains(v.String(), c.want) }) {
				t.Errorf("found %v, want %q", found, c.want)
			}
		})
	}
}

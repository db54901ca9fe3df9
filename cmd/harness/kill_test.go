package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness/store"
)

// TestKilledRunResumesToTheSameRows kills rollouts with SIGKILL at random moments, resumes them each
// time, and compares the ledger with that of a run that nobody disturbed.
func TestKilledRunResumesToTheSameRows(t *testing.T) {
	t.Parallel()
	bin := harnessPath(t)
	for _, c := range []struct {
		name         string
		kills, short int
		settings     []string
	}{
		{"expert", 50, 5, []string{"--policy", "expert:0.3", "--env", "alfworld", "--group", "4"}},
		{"trees", 10, 2, []string{"--sampler", "tree", "--fork-from", "any", "--trees", "2", "--env", "all", "--tasks", "4", "--max-steps", "10"}},
		{"tokens", 10, 2, []string{"--policy", "refmodel", "--env", "all", "--group", "2", "--tasks", "6", "--max-steps", "12"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := c.kills
			if testing.Short() {
				n = c.short
			}
			killRun(t, bin, n, append([]string{"--name", "run", "--seed", "7"}, c.settings...))
		})
	}
}

// harnessPath finds the command: the test binary under its name, which TestMain puts on the path.
func harnessPath(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("harness")
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// killRun lets n kills land on runs with these settings, and compares each run that survived them.
func killRun(t *testing.T, bin string, n int, start []string) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	args := func(db string, more ...string) []string {
		return append([]string{"rollout", "--db", filepath.Join(dir, db), "--quiet"}, more...)
	}
	began := time.Now()
	if out, err := exec.Command(bin, args("whole.db", start...)...).CombinedOutput(); err != nil {
		t.Fatalf("undisturbed run: %v\n%s", err, out)
	}
	whole := time.Since(began)

	landed, resumes := 0, 0
	for landed < n {
		db := fmt.Sprintf("killed-%d.db", resumes)
		for tries := 0; landed < n; tries++ {
			more := start
			if started(t, filepath.Join(dir, db)) {
				more = []string{"--resume", "run", "--workers", fmt.Sprint(1 + rng.IntN(16))}
			}
			// Many kills must land within one run, so each comes early in what is left of it.
			died := killAfter(t, bin, args(db, more...), time.Duration(rng.Int64N(int64(whole)/6+1)))
			if !died {
				break
			}
			landed++
		}
		if started(t, filepath.Join(dir, db)) {
			if out, err := exec.Command(bin, args(db, "--resume", "run")...).CombinedOutput(); err != nil {
				t.Fatalf("last resume: %v\n%s", err, out)
			}
			sameRows(t, filepath.Join(dir, "whole.db"), filepath.Join(dir, db))
		}
		resumes++
	}
	t.Logf("%d kills over %d runs of %v", landed, resumes, whole)
}

// killAfter starts the command, kills it after d, and reports whether it was still running.
func killAfter(t *testing.T, bin string, args []string, d time.Duration) bool {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(bin, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(d, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	if err == nil {
		return false
	}
	if !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
	return true
}

// started reports whether the run was written before the process was killed.
func started(t *testing.T, path string) bool {
	t.Helper()
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		return false
	}
	defer db.Close()
	_, err = db.RunByName(t.Context(), "run")
	return err == nil
}

// sameRows compares two ledgers row by row, and checks the invariants of the second.
func sameRows(t *testing.T, wantPath, gotPath string) {
	t.Helper()
	want, got := dump(t, wantPath), dump(t, gotPath)
	if bytes.Equal(want, got) {
		return
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			t.Fatalf("row %d differs:\nwant %.300s\ngot  %.300s", i, w[i], append(g, "")[min(i, len(g))])
		}
	}
	t.Fatalf("%d rows more than the undisturbed run", len(g)-len(w))
}

func dump(t *testing.T, path string) []byte {
	t.Helper()
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.Check(t.Context())
	if err != nil || len(found) > 0 {
		t.Fatalf("check %s: %v %v", path, err, found)
	}
	run, err := db.RunByName(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := db.DumpCanonical(t.Context(), run.ID, &buf); err != nil {
		t.Fatal(err)
	}
	if buf.Len() == 0 {
		t.Fatalf("%s: an empty dump", path)
	}
	return buf.Bytes()
}

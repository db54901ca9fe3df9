package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDBSeal: a ledger is sealed, checked against its seal, sealed further, and found out where the two
// differ; a seal is never written over a ledger that is not as it was sealed.
func TestDBSeal(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "t.db")
	play := func(name string) {
		mustRun(t, "rollout", "--db", db, "--name", name, "--policy", "expert", "--tasks", "2", "--group", "2", "--max-steps", "3", "--quiet")
	}
	play("a")
	mustRun(t, "credit", "--db", db)
	wants(t, mustRun(t, "db", "check", "--db", db), `(?m)^no seal: .*harness db seal`, `: 0 violations`)
	wants(t, mustRun(t, "db", "seal", "--db", db), `t\.db\.seal: 4 of 4 closed attempts, 1 of 1 credit pass, 0 of 0 scored groups`)
	wants(t, mustRun(t, "db", "check", "--db", db), `(?m)^sealed: 4 of 4 closed attempts, 1 of 1 credit pass, 0 of 0`, `: 0 violations`)
	play("b")
	wants(t, mustRun(t, "db", "check", "--db", db), `(?m)^sealed: 4 of 8 closed attempts`, `: 0 violations`)
	wants(t, mustRun(t, "db", "seal", "--db", db), `8 of 8 closed attempts`)

	sound, err := os.ReadFile(db + ".seal")
	if err != nil {
		t.Fatal(err)
	}
	other := regexp.MustCompile(`("kind":"attempt","id":3,.*"sha256":")....`).ReplaceAll(sound, []byte("${1}0000"))
	if err := os.WriteFile(db+".seal", other, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"db", "check"}, {"db", "seal"}} {
		code, out, stderr := inMemory(never(t), nil, append(args, "--db", db)...)
		if code != exitBelow {
			t.Errorf("%v: exit code %d\n%s", args, code, stderr)
		}
		wants(t, out.String(), `(?m)^attempts 3: its rows are not what was sealed$`)
	}
	if now, err := os.ReadFile(db + ".seal"); err != nil || string(now) != string(other) {
		t.Errorf("the seal was written over: %v", err)
	}
	// Another file by name, a file that is absent, and one that is no seal.
	named := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(named, sound, 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, mustRun(t, "db", "check", "--db", db, "--seal", named), `: 0 violations`)
	for want, file := range map[string]string{`nosuch`: named + "nosuch", `hint: take the file from a copy`: db} {
		code, _, stderr := inMemory(never(t), nil, "db", "check", "--db", db, "--seal", file)
		if code != exitFailed {
			t.Errorf("%s: exit code %d", file, code)
		}
		wants(t, stderr.String(), want)
	}
}

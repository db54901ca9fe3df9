package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
)

func latestSchema(t *testing.T) int {
	t.Helper()
	all, err := loadMigrations(embedded)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// shell runs SQL on a file as another program would, all on one connection.
func shell(t *testing.T, path string, script string) {
	t.Helper()
	c, err := openConn(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.script(script), c.close()); err != nil {
		t.Fatal(err)
	}
}

// closedLedger makes a ledger with one run and closes it.
func closedLedger(t *testing.T, path string) string {
	t.Helper()
	s, err := Open(t.Context(), path, Config{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	testRun(t, s, 1, 1)
	if err := errors.Join(s.Close(), os.Remove(path+lockSuffix)); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each kind of file that is no usable ledger gives its own error, names the remedy, and is left as it was.
func TestOpenRefusesWithARemedy(t *testing.T) {
	t.Parallel()
	latest := latestSchema(t)
	tests := []struct {
		name  string
		make  func(t *testing.T, path string)
		write error // what Open answers
		read  error // what OpenReadOnly answers
		text  string
		hint  string
	}{
		{"folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, ErrNotDatabase, ErrNotDatabase, "it is a folder", "name a file inside the folder"},
		{"pipe", func(t *testing.T, path string) {
			if err := syscall.Mkfifo(path, 0o644); err != nil {
				t.Fatal(err)
			}
		}, ErrNotDatabase, ErrNotDatabase, "it is no regular file", "name a regular file"},
		{
			"text file", func(t *testing.T, path string) { writeFile(t, path, strings.Repeat("not a database\n", 100)) },
			ErrNotDatabase, ErrNotDatabase, "not an SQLite database (file is not a database)", "check the path: this file is something else",
		},
		{
			"another program's", func(t *testing.T, path string) { shell(t, path, "CREATE TABLE notes (x)") },
			ErrForeign, ErrForeign, "an SQLite database of another program", "choose another path",
		},
		{
			"another application id", func(t *testing.T, path string) {
				shell(t, path, "PRAGMA application_id = 5; PRAGMA user_version = 1; CREATE TABLE x (y)")
			},
			ErrForeign, ErrForeign, "an SQLite database of another program", "choose another path",
		},
		{
			"newer", func(t *testing.T, path string) { shell(t, closedLedger(t, path), "PRAGMA user_version = 1000") },
			ErrNewer, ErrNewer, fmt.Sprintf("written by a newer version of harness: schema 1000, known up to %d", latest), "install the newer harness",
		},
		{"damaged", func(t *testing.T, path string) {
			closedLedger(t, path)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteAt(make([]byte, 3000), 100)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged, ErrDamaged, "the database file is damaged (database disk image is malformed)", "restore a backup"},
		{
			"empty", func(t *testing.T, path string) { writeFile(t, path, "") },
			nil, ErrNoLedger, "no ledger there: the file is empty", "a run creates its ledger when it starts",
		},
		{"missing", func(*testing.T, string) {}, nil, ErrNoLedger, "no ledger there", "a run creates its ledger when it starts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			tt.make(t, path)
			before := content(path)
			_, err := OpenReadOnly(t.Context(), path)
			refused(t, err, tt.read, fmt.Sprintf("open ledger %q for reading: ", path), tt.text, tt.hint)
			s, err := Open(t.Context(), path, Config{Now: testClock()})
			if tt.write == nil {
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				return
			}
			refused(t, err, tt.write, fmt.Sprintf("open ledger %q: ", path), tt.text, tt.hint)
			if content(path) != before {
				t.Error("the file was changed")
			}
			if _, err := os.Stat(path + lockSuffix); err == nil {
				t.Error("a lock file was left beside it")
			}
		})
	}
}

// content is what a regular file holds, and "" for all else.
func content(path string) string {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	b, _ := os.ReadFile(filepath.Clean(path)) // an unreadable file is compared as empty, twice
	return string(b)
}

func refused(t *testing.T, err, want error, parts ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
	text, hint := err.Error(), parts[len(parts)-1]
	for _, p := range parts[:len(parts)-1] {
		if !strings.Contains(text, p) {
			t.Errorf("got %s, want %s in it", text, p)
		}
	}
	if !strings.Contains(errext.Hint(err), hint) || hint == "" {
		t.Errorf("hint %q, want %q in it", errext.Hint(err), hint)
	}
}

func TestOpenWantsAFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "absent")
	_, err := Open(t.Context(), filepath.Join(dir, "x.db"), Config{Now: testClock()})
	refused(t, err, ErrNoLedger, "no such file or directory", fmt.Sprintf("mkdir -p %q", dir))
}

func TestConfigNamesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		"store config: no clock (Now)":               {},
		"store config: busy timeout -1s is negative": {Now: time.Now, BusyTimeout: -time.Second},
		"store config: batch size -1 is negative":    {Now: time.Now, MaxBatch: -1},
		"store config: -2 readers":                   {Now: time.Now, Readers: -2},
	} {
		if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "x"), cfg); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A second writer is refused, in this process and in another; readers are not.
func TestOneWriterAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := openTest(t, path)
	_, err := Open(t.Context(), path, Config{Now: testClock()})
	host, _ := os.Hostname()
	refused(t, err, ErrWriterActive, fmt.Sprintf("another process is writing to this ledger: process %d on %s", os.Getpid(), host), "reading commands work meanwhile")
	out, err := child(t, "open", "rw", path).Output()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("process %d on", os.Getpid())) || !strings.Contains(string(out), "hint: wait for it or stop it") {
		t.Errorf("another process: %v\n%s", err, out)
	}
	if out, err := child(t, "open", "ro", path).Output(); err != nil || string(out) != "opened\n" {
		t.Errorf("a reader: %v\n%s", err, out)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := child(t, "open", "rw", path).Output(); err != nil || string(out) != "opened\n" {
		t.Errorf("after Close: %v\n%s", err, out)
	}
}

func TestForeignTransactionBlocksUntilTheTimeout(t *testing.T) {
	t.Parallel()
	path := closedLedger(t, filepath.Join(t.TempDir(), "ledger.db"))
	c, err := openConn(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path, Config{Now: testClock(), BusyTimeout: time.Millisecond})
	refused(t, err, ErrBusy, "another program holds the database locked (database is locked)", "close the program that has an open transaction")
	if err := c.script("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	openTest(t, path)
}

// unprivileged opens a ledger as a user whom permissions hold back, which the superuser is not.
func unprivileged(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := child(t, "open", args...)
	if os.Getuid() == 0 {
		// The test binary may lie where that user cannot go.
		exe := filepath.Join(dir, "test.exe")
		program, err := os.ReadFile(cmd.Path)
		if err != nil {
			t.Fatal(err)
		}
		testutil.Executable(t, exe, program)
		cmd = exec.CommandContext(t.Context(), exe, args...)
		cmd.Env = append(os.Environ(), childEnv+"=open")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestPermissionsAreExplained(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "ledgers")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := closedLedger(t, filepath.Join(dir, "ledger.db"))
	if err := os.Chmod(filepath.Dir(top), 0o755); err != nil { // the other user passes through
		t.Fatal(err)
	}
	chmod := func(file, folder os.FileMode) {
		if err := errors.Join(os.Chmod(path, file), os.Chmod(dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { chmod(0o644, 0o755) })
	tests := []struct {
		name         string
		file, folder os.FileMode
		mode, want   string
	}{
		{"write to a read-only folder", 0o444, 0o555, "rw", "hint: make the file and its folder writable"},
		{"write to a read-only file", 0o444, 0o777, "rw", "hint: make the file and its folder writable"},
		{"read a read-only folder", 0o444, 0o555, "ro", "opened\n"},
		{"read without permission", 0, 0o555, "ro", "hint: check that the folder exists and that this user may read"},
	}
	for _, tt := range tests {
		chmod(tt.file, tt.folder)
		if got := unprivileged(t, top, tt.mode, path); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s in it", tt.name, got, tt.want)
		}
		chmod(0o644, 0o777)
	}
}

func TestReadOnlyStoreRefusesToWrite(t *testing.T) {
	t.Parallel()
	s, err := OpenReadOnly(t.Context(), closedLedger(t, filepath.Join(t.TempDir(), "ledger.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.CreateRun(t.Context(), RunSpec{Name: "x", Panel: testPanel(1), GroupSize: 1})
	refused(t, err, ErrReadOnly, `create run "x"`, "open the ledger for writing")
	_, _, err = s.Recorder(1).Begin(t.Context(), pending(t, s, 1)[0])
	refused(t, err, ErrReadOnly, "begin episode 1 (0.0 alfworld/game-0)", "open the ledger for writing")
}

func TestClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	run := testRun(t, s, 1, 1)
	id, _, err := s.Recorder(run.ID).Begin(t.Context(), pending(t, s, run.ID)[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Recorder(run.ID).Step(t.Context(), id, newGame(1, 0).step()); !errors.Is(err, ErrClosed) {
		t.Errorf("step: got %v, want %v", err, ErrClosed)
	}
	if err := s.AddEvent(t.Context(), Event{RunID: run.ID, Kind: "x"}); !errors.Is(err, ErrClosed) {
		t.Errorf("event: got %v, want %v", err, ErrClosed)
	}
	if _, err := s.Runs(t.Context()); err == nil {
		t.Error("runs: got no error")
	}
}

func TestMigrationsApplyOnceAndInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	files := fstest.MapFS{"migrations/0001_a.sql": {Data: []byte("CREATE TABLE a (x); INSERT INTO a VALUES (1)")}}
	apply := func() (err error) {
		all, err := loadMigrations(files)
		if err != nil {
			t.Fatal(err)
		}
		c, err := openConn(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		return migrate(c, all)
	}
	if err := errors.Join(apply(), apply()); err != nil {
		t.Fatal(err)
	}
	files["migrations/0002_b.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE a ADD COLUMN y; UPDATE a SET y = 2; bad")}
	if err := apply(); err == nil || !strings.HasPrefix(err.Error(), "migration 0002_b: ") {
		t.Errorf("got %v", err)
	}
	files["migrations/0002_b.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE a ADD COLUMN y; UPDATE a SET y = 2")}
	if err := apply(); err != nil { // the failed one left nothing behind
		t.Fatal(err)
	}
	c, err := openConn(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	row, err := c.row("SELECT count(*), sum(x), sum(y) FROM a")
	if d := cmp.Diff([]driver.Value{int64(1), int64(1), int64(2)}, row); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	if id, err := readIdentity(c); err != nil || id.version != 2 || id.application != applicationID {
		t.Errorf("identity %+v, %v", id, err)
	}
	files["migrations/0004_d.sql"] = &fstest.MapFile{}
	if _, err := loadMigrations(files); err == nil || err.Error() != "migration migrations/0004_d.sql: want number 0003" {
		t.Errorf("a gap: got %v", err)
	}
}

func TestOutdatedLedgerNeedsAWriter(t *testing.T) {
	t.Parallel()
	path := closedLedger(t, filepath.Join(t.TempDir(), "ledger.db"))
	shell(t, path, "PRAGMA user_version = 0")
	_, err := OpenReadOnly(context.Background(), path)
	refused(t, err, ErrOutdated, fmt.Sprintf("written by an older version of harness: schema 0, this is %d", latestSchema(t)), "harness db migrate")
}

// A process that dies while it sets a ledger up leaves a journal that only a writer can roll back.
func TestOpenAfterADeathDuringSetup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, left := filepath.Join(dir, "dying.db"), filepath.Join(dir, "left.db")
	c, err := openConn(path, writerParams(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	// A cache of few pages: the file is written to before the transaction ends, which then never does.
	if err := c.script("CREATE TABLE before (x); PRAGMA cache_size = 2; BEGIN IMMEDIATE; DROP TABLE before; CREATE TABLE t (x)"); err != nil {
		t.Fatal(err)
	}
	if err := c.script("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 200) INSERT INTO t SELECT randomblob(2000) FROM n"); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-journal"} {
		raw, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left+suffix, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := identify(left, 0, false); !errors.Is(err, ErrReadOnly) {
		t.Fatalf("the journal is not hot: %v", err)
	}
	// What was there before is another program's table, and it is there again.
	if _, err := Open(t.Context(), left, Config{Now: testClock()}); !errors.Is(err, ErrForeign) {
		t.Errorf("a foreign file with a journal: %v", err)
	}
	id, err := identify(left, 0, false)
	if err != nil || id.tables != 1 {
		t.Errorf("after the rollback: %+v, %v", id, err)
	}
}

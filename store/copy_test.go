package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/internal/errext"
)

// A copy that is made while the ledger is written has all that was committed, log and all, and is whole.
func TestCopyHasWhatLiesInTheLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "ledger.db"), filepath.Join(dir, "copy.db")
	s := openTest(t, from)
	run := testRun(t, s, 5, 4)
	if err := os.WriteFile(to+".partial", []byte("left by a copy that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if err := s.SetRunState(t.Context(), run.ID, RunRunning, "goes on after the copy"); err != nil {
		t.Fatal(err)
	}
	c := openTest(t, to) // it can be written like any ledger
	got, err := c.RunByName(t.Context(), "run")
	if err != nil || got.State != RunCreated || len(pending(t, c, got.ID)) != 20 {
		t.Errorf("the copy's run: %+v, %v", got, err)
	}
	if found, err := c.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("check: %v, %v", found, err)
	}
	for _, left := range []string{to + ".partial", to + ".partial-journal"} {
		if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", filepath.Base(left), err)
		}
	}
}

func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := closedLedger(t, filepath.Join(dir, "ledger.db"))
	taken := writeFile(t, filepath.Join(dir, "taken"), "somebody's")
	for name, c := range map[string]struct {
		from, to string
		want     error
	}{
		"file that is there":  {from, taken, fs.ErrExist},
		"itself":              {from, from, fs.ErrExist},
		"folder":              {from, dir, fs.ErrExist},
		"folder that is not":  {from, filepath.Join(dir, "no", "copy.db"), ErrReadOnly},
		"nothing":             {filepath.Join(dir, "absent"), filepath.Join(dir, "a"), ErrNoLedger},
		"empty file":          {writeFile(t, filepath.Join(dir, "empty"), ""), filepath.Join(dir, "a"), ErrNoLedger},
		"file of other kinds": {taken, filepath.Join(dir, "a"), ErrNotDatabase},
	} {
		err := Copy(t.Context(), c.from, c.to)
		if !errors.Is(err, c.want) || errext.Hint(err) == "" || !strings.HasPrefix(err.Error(), "copy ledger ") {
			t.Errorf("%s: %v, hint %q; want %v", name, err, errext.Hint(err), c.want)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := Copy(stopped, from, filepath.Join(dir, "b")); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	for _, name := range []string{"a", "b", "a.partial", "b.partial"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if got := content(taken); got != "somebody's" {
		t.Errorf("the other file holds %q", got)
	}
}

// A log that an earlier ledger of the copy's name left would be played into the copy, which then were that ledger.
func TestCopyBesideAnotherLedgersLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "ledger.db"), filepath.Join(dir, "copy.db")
	testRun(t, openTest(t, from), 5, 4)
	old := filepath.Join(dir, "old.db")
	testRun(t, openTest(t, old), 2, 2)
	copyFile(t, old+"-wal", to+"-wal")
	if err := Copy(t.Context(), from, to); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "copy.db-wal") || errext.Hint(err) == "" {
		t.Errorf("%v, hint %q", err, errext.Hint(err))
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy is there: %v", err)
	}
	if err := os.Remove(to + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	c := openTest(t, to)
	if run, err := c.RunByName(t.Context(), "run"); err != nil || len(pending(t, c, run.ID)) != 20 {
		t.Errorf("%+v, %v", run, err)
	}
}

// Of two copies to one name the later takes the place; what the earlier finds there is not its own, and stays.
func TestCopyWhoseFileWasTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "ledger.db"), filepath.Join(dir, "copy.db")
	s := openTest(t, from)
	testRun(t, s, 5, 4)
	src, err := openSource(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	made, err := copyPages(t.Context(), src, to+".partial")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(to+".partial", to+".kept"), os.WriteFile(to+".partial", []byte("another's"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := settle(made, to+".partial", to); err == nil || errext.Hint(err) == "" {
		t.Errorf("%v, hint %q", err, errext.Hint(err))
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) || content(to+".partial") != "another's" {
		t.Errorf("%v, the other's file holds %q", err, content(to+".partial"))
	}
}

// A ledger of an older schema is copied as it is: a copy is what one makes before migrating.
func TestCopyOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := closedLedger(t, filepath.Join(dir, "ledger.db"))
	shell(t, from, "PRAGMA user_version = 1")
	to := filepath.Join(dir, "copy.db")
	if err := Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(t.Context(), to); !errors.Is(err, ErrOutdated) {
		t.Errorf("the copy: %v", err)
	}
}

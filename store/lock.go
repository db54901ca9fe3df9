package store

import (
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/mattn/go-sqlite3"
)

// lockSuffix names the file whose exclusive lock makes a process the ledger's writer. The file stays
// empty and may be left behind; only the lock on it counts, and the operating system drops that when
// the process ends, however it ends.
const lockSuffix = "-writer"

// lockWriter takes the lock of the lock file at path. SQLite's own locking serves, because it works on every
// platform and among the connections of one process too.
func lockWriter(path string) (*conn, error) {
	c, err := openConn(path, url.Values{"_busy_timeout": {"0"}})
	if err == nil {
		if err = c.script("BEGIN EXCLUSIVE"); err == nil {
			return c, nil
		}
		err = errors.Join(err, c.close())
	}
	var se sqlite3.Error
	if errors.As(err, &se) && (se.Code == sqlite3.ErrBusy || se.Code == sqlite3.ErrLocked) {
		return nil, ErrWriterActive
	}
	return nil, classify(err)
}

// activeWriter explains who holds the lock, as far as the ledger can be read.
func activeWriter(path string) error {
	hint := "wait for it or stop it, or give this run a file of its own; reading commands work meanwhile"
	who := ""
	if c, err := openConn(path, readerParams(0, false)); err == nil {
		if r, err := c.row("SELECT pid, host FROM writer"); err == nil && r != nil {
			who = fmt.Sprintf(": process %v on %v", r[0], r[1])
		}
		_ = c.close() // it was only read
	}
	return errext.WithHint(fmt.Errorf("%w%s", ErrWriterActive, who), hint)
}

// signWriter leaves a note for activeWriter.
func signWriter(c *conn, sinceMS int64) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	_, err = c.exec("INSERT OR REPLACE INTO writer (id, pid, host, since_ms) VALUES (1, ?, ?, ?)", int64(os.Getpid()), host, sinceMS)
	return classify(err)
}

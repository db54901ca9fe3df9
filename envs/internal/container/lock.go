package container

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
)

// runLock says that a run lives: a file that it holds locked. The system gives the lock back when the
// process ends, however it ends.
//
// The file is made under a name that no reaper looks at, locked, and renamed; so whoever finds a lock
// file that nobody holds knows that its run is dead.
type runLock struct {
	path string
	host string
	file *os.File
}

const lockEnding = ".lock"

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// ErrHeld is returned for a lock that somebody holds.
var ErrHeld = errors.New("somebody holds the lock")

// Hold locks a file, which is made if need be, until it is closed or the process ends. ErrHeld says that
// somebody else does.
func Hold(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

func lockRun(dir, run string) (*runLock, error) {
	if dir == "" {
		dir = defaultLockDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("lock run: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, errext.WithHint(fmt.Errorf("lock run: %w", err), "make the folder writable, or set XDG_CACHE_HOME to one that is")
	}
	sweepLocks(dir)
	name := fmt.Sprintf("%.80s-%d-%08x", notInNames.ReplaceAllString(run, "_"), os.Getpid(), rand.Uint32())
	l := &runLock{path: filepath.Join(dir, name+lockEnding), host: hostID()}
	fresh := filepath.Join(dir, name+".new")
	if l.file, err = os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("lock run: %w", err)
	}
	err = flock(l.file)
	if err == nil {
		err = os.Rename(fresh, l.path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock run: %w", errors.Join(err, l.file.Close(), os.Remove(fresh)))
	}
	return l, nil
}

// release removes the file and gives the lock back. A second time is no error.
func (l *runLock) release() error {
	err := os.Remove(l.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if closeErr := l.file.Close(); !errors.Is(closeErr, os.ErrClosed) {
		err = errors.Join(err, closeErr)
	}
	return err
}

// held reports whether the run of a lock file lives. No file: it ended.
func held(path string) (bool, error) {
	if !locks {
		return true, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err // cannot be known: it stays
	}
	defer f.Close()
	err = flock(f)
	if errors.Is(err, ErrHeld) {
		return true, nil
	}
	return err != nil, err
}

// sweepLocks removes the files of dead runs. What their containers are is in the containers' labels, and
// a file that is gone says the same as one that nobody holds.
func sweepLocks(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, "*"+lockEnding)) // the pattern is well formed
	for _, name := range found {
		if alive, err := held(name); !alive && err == nil {
			_ = os.Remove(name) // another run may have been faster
		}
	}
}

func defaultLockDir() string {
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "hindsight", "runs")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("hindsight-%d", os.Getuid()), "runs")
}

// hostID tells machines apart that share a daemon. Containers may share a machine id, and machines a
// name; hardly anything shares both.
func hostID() string {
	name, _ := os.Hostname()                     // unknown is a value too
	machine, _ := os.ReadFile("/etc/machine-id") // only some systems have it
	sum := sha256.Sum256([]byte(name + "\x00" + strings.TrimSpace(string(machine))))
	return hex.EncodeToString(sum[:8])
}

// LocalOwner names the user of this machine as an owner of containers.
func LocalOwner() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name + "@" + hostID()
}

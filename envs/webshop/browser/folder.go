package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	dirPrefix = "hindsight-chromium-"
	lockName  = "in-use"
)

// folder is where a browser writes, its profile and its temporary files.
type folder struct {
	path string
	lock *os.File
}

// longestBase bounds the name of the folder that holds browsers' folders: Chromium makes a socket below
// it, whose name may have 107 bytes, and aborts where it has more.
const longestBase = 20

// base is the folder for temporary files, or /tmp where that one's name is too long.
func base() string {
	dir := os.TempDir()
	if len(dir) > longestBase {
		if info, err := os.Stat("/tmp"); err == nil && info.IsDir() {
			return "/tmp"
		}
	}
	return dir
}

func newFolder() (*folder, error) {
	path, err := os.MkdirTemp(base(), dirPrefix)
	if err != nil {
		return nil, fmt.Errorf("make the browser's folder: %w", err)
	}
	f := &folder{path: path}
	if f.lock, err = lock(path); err != nil {
		f.remove()
		return nil, fmt.Errorf("lock the browser's folder: %w", err)
	}
	return f, nil
}

// remove removes the folder. The browser's last processes may be writing still, so it is tried for a
// while; what is left then, the next sweep finds.
func (f *folder) remove() {
	if f.lock != nil {
		_ = f.lock.Close() // nothing was written
	}
	for range 20 {
		if os.RemoveAll(f.path) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// sweep removes the folders of processes that were killed: those that nobody holds. A folder that is
// just being made has no lock file yet and stays.
func sweep() {
	found, _ := filepath.Glob(filepath.Join(base(), dirPrefix+"*", lockName)) // the pattern is well formed
	for _, name := range found {
		dir := filepath.Dir(name)
		if f, err := lock(dir); err == nil {
			(&folder{path: dir, lock: f}).remove()
		}
	}
}

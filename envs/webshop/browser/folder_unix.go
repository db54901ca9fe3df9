//go:build unix

package browser

import (
	"os"
	"path/filepath"
	"syscall"
)

// lock marks a browser's folder as in use for as long as the file is open: the system gives the lock
// back when this process ends, however it ends.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

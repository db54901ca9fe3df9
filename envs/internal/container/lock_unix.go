//go:build unix

package container

import (
	"errors"
	"os"
	"syscall"
)

// locks says that a lock tells whether its holder lives.
const locks = true

// flock takes a file's lock without waiting; ErrHeld where somebody holds it.
func flock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// freeBytes is what an unprivileged process may still write where a path lies.
func freeBytes(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert,nolintlint // their types differ between systems
}

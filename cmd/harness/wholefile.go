package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hindsightrl/harness/internal/errext"
)

// writeWhole has write fill a file beside path and renames it: what is under the name is always whole. A
// symbolic link is followed. What is no file (a device, a pipe, a folder) is left as it is, with an error: the
// rename would replace it.
func writeWhole(path string, write func(f *os.File) error) error {
	to := path
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		if to, err = filepath.EvalSymlinks(path); err != nil {
			return notAFile(path)
		}
		if info, err = os.Lstat(to); err != nil || !info.Mode().IsRegular() {
			return notAFile(path)
		}
	case !info.Mode().IsRegular():
		return notAFile(path)
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already where the rename worked
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}

func notAFile(path string) error {
	return errext.WithHint(fmt.Errorf("%s is no regular file and would be replaced", path), "name a file that is one or does not exist")
}

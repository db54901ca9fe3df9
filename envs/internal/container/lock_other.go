//go:build !unix

package container

import (
	"errors"
	"os"
)

// flock has no counterpart here: a run cannot be known to be dead, and nothing of it is removed.
func flock(*os.File) error { return nil }

func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }

//go:build !unix

package browser

import (
	"os"
	"path/filepath"
)

// lock marks a browser's folder as in use: an open file cannot be removed here.
func lock(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
}

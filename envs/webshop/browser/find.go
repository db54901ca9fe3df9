package browser

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/hindsightrl/harness/internal/errext"
)

// ErrMissing is what New and Find return where there is no browser.
var ErrMissing = errors.New("no Chromium on this machine")

// names of Chromium's executable, the distributions' first.
var names = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome-headless-shell", "headless_shell"}

const missingHint = "install the package chromium (Debian: apt-get install chromium; Alpine: apk add chromium; Fedora: dnf install chromium-headless), or name the executable with --browser"

// Find looks for the browser's executable: bin if it is not "", else a Chromium in the search path.
func Find(bin string) (string, error) {
	if bin != "" {
		path, err := exec.LookPath(bin)
		if err != nil {
			return "", errext.WithHint(fmt.Errorf("%w: %w", ErrMissing, err), missingHint)
		}
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errext.WithHint(fmt.Errorf("%w: none of %q is in the search path", ErrMissing, names), missingHint)
}

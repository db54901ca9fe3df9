package browser

import (
	"cmp"
	"fmt"
	"os"
	"time"
)

// Config configures a Suite. The zero value works where Chromium is in the search path.
type Config struct {
	// Bin is the browser's executable; "" looks for a Chromium in the search path.
	Bin string
	// Pages bounds how many episodes are open at once; 0 means 8. A page takes 60 to 100 MB. Reset waits
	// for a free one.
	Pages int
	// Timeout bounds one action, the page that follows included; 0 means 30 s.
	Timeout time.Duration
	// Start bounds the start of a browser; 0 means 60 s.
	Start time.Duration
	// Screenshots is a folder that takes a picture of each page that is observed; "" takes none. An
	// episode's pictures lie in <task>/<attempt>/<step>.png.
	Screenshots string
	// NoSandbox runs Chromium without its sandbox also for ordinary users, for containers that do not
	// allow one. For root, Chromium has none anyway.
	NoSandbox bool
}

// Validate reports a setting that cannot work.
func (c Config) Validate() error {
	switch {
	case c.Pages < 0:
		return fmt.Errorf("webshop browser: Pages is %d, want 0 or more", c.Pages)
	case c.Timeout < 0 || c.Start < 0:
		return fmt.Errorf("webshop browser: Timeout is %v and Start %v, want 0 or more", c.Timeout, c.Start)
	}
	return nil
}

func (c Config) complete() Config {
	c.Pages = cmp.Or(c.Pages, 8)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.Start = cmp.Or(c.Start, 60*time.Second)
	return c
}

// noSandbox: Chromium refuses to start as root with its sandbox.
func (c Config) noSandbox() bool { return c.NoSandbox || os.Geteuid() == 0 }

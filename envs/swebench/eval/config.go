package eval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
)

// Config says how patches are evaluated. The zero value of each field is a usable default; Now must be
// set.
type Config struct {
	Host  string // the Docker daemon's address; "" asks the environment
	Owner string // whose containers these are; "" is this user of this machine
	Name  string // of the run, on its containers; "" is "eval"

	Release      testlog.Release      // whose rules apply, build the script and grade; "" is 5.0.2
	Timeout      time.Duration        // of the tests; 0 is 30 minutes
	ApplyTimeout time.Duration        // of each command that applies the patch; 0 is 5 minutes
	Retries      int                  // how often an infrastructure failure is tried again; 0 is 2, below 0 is never
	Pause        time.Duration        // before the first retry, twice as long before the next; 0 is 2 seconds
	MaxLog       int                  // bytes of the tests' output that can be graded; 0 is 64 MiB
	MaxPatch     int                  // bytes of a patch; 0 is 128 MiB
	Images       swebench.ImageConfig // which official image is meant
	Limits       container.Limits     // of each container
	Relax        []string             // limits that are given up, by name: see container.ParseRelax
	Warm         int                  // containers that are started ahead; 0 is none
	PullRoom     int64                // bytes that must be free on the daemon's disk to pull an image; 0 is 8 GiB, below 0 asks for none

	// Asset returns a binary file that an instance's tests need and its row only names. nil has none.
	Asset func(ctx context.Context, in *swebench.Instance, a swebench.Asset) ([]byte, error)

	Now func() time.Time
	Log *slog.Logger // nil is silent
}

// The defaults of Config.
const (
	DefaultTimeout = 30 * time.Minute
	DefaultMaxLog  = 64 << 20
	defaultApply   = 5 * time.Minute
	defaultPatch   = 128 << 20
	defaultRetries = 2
	defaultPause   = 2 * time.Second
	maxPause       = time.Minute
)

func (c Config) withDefaults() Config {
	if c.Owner == "" {
		c.Owner = container.LocalOwner()
	}
	if c.Name == "" {
		c.Name = "eval"
	}
	if c.Release == "" {
		c.Release = testlog.V502
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.ApplyTimeout == 0 {
		c.ApplyTimeout = defaultApply
	}
	if c.Retries == 0 {
		c.Retries = defaultRetries
	}
	if c.Pause == 0 {
		c.Pause = defaultPause
	}
	if c.MaxLog == 0 {
		c.MaxLog = DefaultMaxLog
	}
	if c.MaxPatch == 0 {
		c.MaxPatch = defaultPatch
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate reports what no evaluation can use.
func (c Config) Validate() error {
	switch {
	case c.Now == nil:
		return errors.New("evaluation: no clock is given")
	case c.Timeout < 0 || c.ApplyTimeout < 0 || c.Pause < 0:
		return fmt.Errorf("evaluation: a time is below 0 (%v, %v, %v)", c.Timeout, c.ApplyTimeout, c.Pause)
	case c.MaxLog < 0 || c.MaxPatch < 0 || c.Warm < 0:
		return fmt.Errorf("evaluation: a bound is below 0 (%d, %d, %d)", c.MaxLog, c.MaxPatch, c.Warm)
	}
	if _, err := container.ParseRelax(c.Relax); err != nil {
		return fmt.Errorf("evaluation: %w", err)
	}
	if _, err := testlog.ParseRelease(string(c.Release)); err != nil {
		return fmt.Errorf("evaluation: %w", err)
	}
	return nil
}

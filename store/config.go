package store

import (
	"errors"
	"fmt"
	"time"
)

// Config holds what a writing Store needs beyond the path. The zero value of every field but Now is
// usable.
type Config struct {
	// Now is the clock for created, started, finished and event times. Required.
	Now func() time.Time
	// BusyTimeout is how long to wait for a lock that another program holds on the file (an open
	// transaction in a database shell, say) before giving up. 0 means 30 s.
	BusyTimeout time.Duration
	// MaxBatch is the most calls that share one commit. 0 means 1024.
	MaxBatch int
	// Readers is the number of connections for reading. 0 means 4.
	Readers int
}

// Validate reports the first field that cannot work.
func (c Config) Validate() error {
	switch {
	case c.Now == nil:
		return errors.New("store config: no clock (Now)")
	case c.BusyTimeout < 0:
		return fmt.Errorf("store config: busy timeout %v is negative", c.BusyTimeout)
	case c.MaxBatch < 0:
		return fmt.Errorf("store config: batch size %d is negative", c.MaxBatch)
	case c.Readers < 0:
		return fmt.Errorf("store config: %d readers", c.Readers)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.BusyTimeout == 0 {
		c.BusyTimeout = 30 * time.Second
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = 1024
	}
	if c.Readers == 0 {
		c.Readers = 4
	}
	return c
}

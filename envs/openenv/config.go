package openenv

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hindsightrl/harness"
)

// Config configures a Server.
type Config struct {
	Suite harness.Suite // required
	// Panel are the tasks of sessions that ask for none: required, at least one.
	Panel harness.Panel
	// Splits are the splits that the task API lists, in this order. nil means those that the suite's tasks
	// carry.
	Splits []string
	// About describes the environment to people (GET /metadata).
	About string
	// Version is this program's, for /metadata. "" leaves it out.
	Version string
	// MaxSessions is how many sessions there may be at a time. 0 means 64.
	MaxSessions int
	// MaxSteps ends episodes that say nothing else after so many steps. 0 means never.
	MaxSteps int
	// Idle ends a session that nobody has used for so long. 0 means 30 minutes.
	Idle time.Duration
	// MaxMessage bounds a message and a request's body, in bytes. 0 means 1 MiB.
	MaxMessage int64
	// Stall is how long a client may take to read an answer. 0 means 30 s.
	Stall time.Duration
	// Token is what clients must send ("Authorization: Bearer …"); "" lets only requests to a loopback
	// address in.
	Token string
	// Now is the clock. Required.
	Now func() time.Time
	// NewID makes ids of sessions and episodes. nil means random UUIDs.
	NewID func() string
	Log   *slog.Logger // nil discards
}

// Validate reports a setting that cannot work.
func (c *Config) Validate() error {
	switch {
	case c.Suite == nil:
		return errors.New("openenv: no suite to serve")
	case c.Now == nil:
		return errors.New("openenv: no clock")
	case c.MaxSessions < 0 || c.MaxSteps < 0 || c.Idle < 0 || c.MaxMessage < 0 || c.Stall < 0:
		return errors.New("openenv: MaxSessions, MaxSteps, Idle, MaxMessage and Stall cannot be negative")
	}
	return c.Panel.Validate()
}

func (c *Config) defaults() {
	c.MaxSessions = cmp.Or(c.MaxSessions, 64)
	c.Idle = cmp.Or(c.Idle, 30*time.Minute)
	c.MaxMessage = cmp.Or(c.MaxMessage, 1<<20)
	c.Stall = cmp.Or(c.Stall, 30*time.Second)
	c.About = cmp.Or(c.About, c.Suite.Name())
	if c.NewID == nil {
		c.NewID = newUUID
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// newUUID is a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

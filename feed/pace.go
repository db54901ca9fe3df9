package feed

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Pace bounds how stale a token can be when it is trained on, by holding back what is started. Nothing
// that was started is thrown away: that would favour short episodes.
type Pace struct {
	PerUpdate    int // B: groups that the trainer uses for one update
	MaxStaleness int // η: updates that may lie between a group's start and its use; 0 = in step with the trainer
}

// Validate reports the first field that cannot work.
func (p Pace) Validate() error {
	if p.PerUpdate < 1 || p.MaxStaleness < 0 {
		return fmt.Errorf("pace: %d groups per update, staleness of at most %d: want at least 1 and 0", p.PerUpdate, p.MaxStaleness)
	}
	return nil
}

// Allows reports whether group n, counted from 0 in the order of starting, may start when the newest
// policy version is i (−1: none was posted, which is version 0):
//
//	⌊n / B⌋ ≤ i + η
//
// Source: AReaL, arXiv 2505.24298, the bound on ⌊(N_r − 1)/B⌋.
func (p Pace) Allows(n int, version int32) bool {
	return n/p.PerUpdate <= int(max(version, 0))+p.MaxStaleness
}

// Pacer makes starts wait for the trainer.
type Pacer struct {
	pace     Pace
	versions Versions
	every    time.Duration
}

// NewPacer asks versions anew every so often while something waits.
func NewPacer(pace Pace, versions Versions, every time.Duration) (*Pacer, error) {
	if err := pace.Validate(); err != nil {
		return nil, err
	}
	if versions == nil || every <= 0 {
		return nil, errors.New("pace: versions and a positive interval are required")
	}
	return &Pacer{pace, versions, every}, nil
}

// Admit blocks until group n may start, and returns the version that it starts under. It may be called
// from many goroutines. Its error is that of the versions or of ctx.
func (p *Pacer) Admit(ctx context.Context, n int) (version int32, err error) {
	return p.AdmitAt(ctx, func() int { return n })
}

// AdmitAt is Admit for a group whose number can fall while it waits: groups before it that will never reach
// the trainer do not count.
func (p *Pacer) AdmitAt(ctx context.Context, n func() int) (version int32, err error) {
	t := time.NewTicker(p.every)
	defer t.Stop()
	for {
		if version, err = p.versions.Version(ctx); err != nil {
			return version, fmt.Errorf("admit group %d: %w", n(), err)
		}
		if p.pace.Allows(n(), version) {
			return version, nil
		}
		select {
		case <-ctx.Done():
			return version, fmt.Errorf("admit group %d: %w", n(), ctx.Err())
		case <-t.C:
		}
	}
}

package testutil

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// leftOver waits until it is told to end.
func leftOver(end <-chan struct{}) { <-end }

// TestFindLeaksWaits: a goroutine that ends late is none that leaks, one that does not end is.
func TestFindLeaksWaits(t *testing.T) { //nolint:paralleltest // it looks at every goroutine
	before := goleak.IgnoreCurrent()
	end := make(chan struct{})
	go leftOver(end)
	if err := FindLeaks(0, before); err == nil || !strings.Contains(err.Error(), "leftOver") {
		t.Errorf("a goroutine that goes on: %v", err)
	}
	time.AfterFunc(time.Second, func() { close(end) })
	if err := FindLeaks(time.Minute, before); err != nil {
		t.Error(err)
	}
}

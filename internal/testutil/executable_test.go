package testutil

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestExecutablesCanBeStartedAtOnce: each is written and started while others are.
func TestExecutablesCanBeStartedAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 20 {
				name := filepath.Join(dir, fmt.Sprintf("%d-%d", w, i))
				Executable(t, name, []byte("#!/bin/sh\necho here\n"))
				if out, err := exec.CommandContext(t.Context(), name).Output(); err != nil || string(out) != "here\n" {
					t.Errorf("%s: %q, %v", name, out, err)
				}
			}
		})
	}
	all.Wait()
}

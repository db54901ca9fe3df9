//go:build !nogguf

package main

import (
	"context"
	"fmt"

	"github.com/hindsightrl/harness/llm"
	"github.com/hindsightrl/harness/llm/gguf"
)

// openGGUF runs a GGUF file in this process.
func (l *localFlags) openGGUF(ctx context.Context, file string) (llm.Model, func() error, error) {
	lib, err := findGGUF(l.library)
	if err != nil {
		return nil, nil, fmt.Errorf("open model %q: %w", file, err)
	}
	m, err := gguf.Open(ctx, file, gguf.Config{
		LibDir: lib, Slots: l.slots, ContextLength: l.context, Deterministic: l.deterministic,
	})
	if err != nil {
		return nil, nil, err
	}
	return m, m.Close, nil
}

func installGGUF(ctx context.Context, to string) (string, error) {
	return gguf.Install(ctx, to, gguf.InstallOptions{})
}

// findGGUF returns the folder with the library, dir or the default one.
func findGGUF(dir string) (string, error) { return gguf.FindLib(dir) }

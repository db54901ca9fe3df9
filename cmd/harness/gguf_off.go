//go:build nogguf

package main

import (
	"context"
	"errors"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm"
)

// errNoGGUF is what a build without llama.cpp answers. Such a build starts on machines without
// libffi 8, which the binding loads before main.
var errNoGGUF = errext.WithHint(errors.New("this build cannot run GGUF models"), "build without -tags nogguf, on a machine with libffi 8")

func (l *localFlags) openGGUF(context.Context, string) (llm.Model, func() error, error) {
	return nil, nil, errNoGGUF
}

func installGGUF(context.Context, string) (string, error) { return "", errNoGGUF }

func findGGUF(string) (string, error) { return "", errNoGGUF }

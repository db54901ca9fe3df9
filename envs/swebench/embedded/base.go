package embedded

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/internal/errext"
)

// ErrNoMmdebstrap is returned where the program that makes a base file system is not installed.
var ErrNoMmdebstrap = errors.New("mmdebstrap is not installed")

// debianArgs make a small Debian with what the instances' tests need. Packages are unpacked without
// waiting for the disk, and what no test reads is left out: Go's own commands as libraries are half of it.
var debianArgs = []string{
	"--quiet", "--variant=minbase", "--include=git,patch,python3,python3-pytest,golang-go",
	"--dpkgopt=force-unsafe-io",
	"--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
	"--dpkgopt=path-exclude=/usr/share/go-*/test/*", "--dpkgopt=path-exclude=/usr/share/go-*/api/*",
	"--dpkgopt=path-exclude=/usr/lib/go-*/pkg/linux_*/cmd/*", "--dpkgopt=path-exclude=/usr/share/go-*/src/cmd/*",
	"--format=tar", "bookworm", "-",
}

// baseName is the name of the base image that mmdebstrap makes: its tag is a hash of the recipe.
func baseName() string {
	sum := sha256.Sum256([]byte(strings.Join(debianArgs, "\x00")))
	return "hindsight/swebench-base:" + hex.EncodeToString(sum[:6])
}

// localBase makes the base image unless it is there.
func localBase(ctx context.Context, e *container.Engine, o Options) (string, error) {
	name := baseName()
	there, err := e.HasImage(ctx, name)
	if err != nil || there {
		return name, err
	}
	program, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return "", errext.WithHint(fmt.Errorf("make base image: %w: %w", ErrNoMmdebstrap, err),
			"apt-get install mmdebstrap, or let the daemon pull Debian: harness swebench images --base "+BaseDebian)
	}
	args := debianArgs
	if o.Mirror != "" {
		args = append(args[:len(args):len(args)], o.Mirror)
	}
	ctx, cancel := context.WithCancel(ctx) // ends the program where the daemon gives up
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("make base image: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("make base image: %w", err)
	}
	imported := e.ImportImage(ctx, name, out)
	if imported != nil {
		cancel()
	}
	if o.Log != nil {
		defer func() { _, _ = o.Log.Write(said.Bytes()) }()
	}
	if err := cmd.Wait(); err != nil {
		// What was imported is cut short.
		err = errors.Join(fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(said.String())), imported, e.RemoveImage(ctx, name))
		return "", harness.FailFinal(harness.FailEnv, "make base image", err)
	}
	return name, imported
}

package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
)

var (
	// ErrNoImage is returned for an image that is neither here nor in a registry.
	ErrNoImage = errors.New("no such image")
	// ErrRegistry is returned where no registry could be asked for an image.
	ErrRegistry = errors.New("the registry does not answer")
)

// ImageID returns the id of an image that is here, "" where it is not.
func (e *Engine) ImageID(ctx context.Context, name string) (string, error) {
	call, cancel := e.quick(ctx)
	defer cancel()
	found, err := e.api.ImageInspect(call, name)
	switch {
	case errdefs.IsNotFound(err):
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errdefs.IsInvalidArgument(err):
		return "", harness.FailFinal(harness.FailEnv, "find image", errext.WithHint(fmt.Errorf("%w: %w", ErrNoImage, err), "check the image's name"))
	case err != nil:
		return "", envFailure("inspect image "+name, err)
	}
	return found.ID, nil
}

// Find returns the first of the names that is here, or that a registry has and is then pulled. Names
// are asked for locally first, all of them. That no registry has one of them is final (ErrNoImage); that
// none could be asked may pass (ErrRegistry).
func (e *Engine) Find(ctx context.Context, names []string) (string, error) {
	if name, err := e.local(ctx, names); name != "" || err != nil {
		return name, err
	}
	if err := e.pulls.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer e.pulls.Release(1)
	if name, err := e.local(ctx, names); name != "" || err != nil { // pulled while this one waited
		return name, err
	}
	if err := e.roomFor(ctx, "pull image", e.config.PullRoom); err != nil {
		return "", err
	}
	var errs []error
	for _, name := range names {
		err := e.pull(ctx, name)
		switch {
		case err == nil:
			return name, nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, ErrNoSpace):
			return "", harness.FailFinal(harness.FailEnv, "pull image", errext.WithHint(err, roomHint))
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if errors.Is(err, ErrRegistry) {
		return "", harness.Fail(harness.FailEnv, "find image",
			errext.WithHint(err, "let the daemon reach a registry, or build or load the image (docker load)"))
	}
	return "", harness.FailFinal(harness.FailEnv, "find image",
		errext.WithHint(err, "build or load the image, or log in to the registry that has it"))
}

// local returns the first of the names that is here, "" for none.
func (e *Engine) local(ctx context.Context, names []string) (string, error) {
	for _, name := range names {
		if id, err := e.ImageID(ctx, name); err != nil {
			return "", err
		} else if id != "" {
			return name, nil
		}
	}
	return "", nil
}

// pull has no limit in all, for images have gigabytes; it fails where nothing happens for a while.
func (e *Engine) pull(ctx context.Context, name string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(e.config.PullStall, func() {
		cancel(fmt.Errorf("nothing happened for %v", e.config.PullStall))
	})
	defer stalled.Stop()
	r, err := e.api.ImagePull(ctx, name, image.PullOptions{})
	if err == nil {
		err = errors.Join(progress(r, func() { stalled.Reset(e.config.PullStall) }), r.Close())
	}
	if err == nil { // the stream may end without an error and without an image
		_, err = e.api.ImageInspect(ctx, name)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return pullError(name, err)
}

// progress reads a pull's messages to their end; the first error among them is returned.
func progress(r io.Reader, beat func()) error {
	for dec := json.NewDecoder(r); ; {
		var message struct {
			Error string `json:"error"`
		}
		err := dec.Decode(&message)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the daemon's messages: %w", err)
		case message.Error != "":
			return errors.New(message.Error)
		}
		beat()
	}
}

var (
	// spaceSigns are what the daemon says where its disk is full.
	spaceSigns = []string{"no space left on device", "disk quota exceeded"}
	// downSigns are what it says where a registry could not be asked, or refuses to answer now.
	downSigns = []string{"no such host", "connection refused", "i/o timeout", "toomanyrequests", "deadline exceeded", "503 Service Unavailable"}
	// absentSigns are what it says of an image that the registry does not have, or does not show.
	absentSigns = []string{
		"not found", "manifest unknown", "does not exist", "pull access denied", "unauthorized", "denied",
		"no matching manifest", "invalid reference format", "No such image",
	}
)

// pullError types what a pull failed with. The daemon reports all of it as text; what is no word about
// the image means that the registry could not be asked.
func pullError(name string, err error) error {
	if err == nil {
		return nil
	}
	kind := ErrRegistry
	switch text := err.Error(); {
	case containsAny(text, spaceSigns):
		kind = ErrNoSpace
	case containsAny(text, downSigns):
	case errdefs.IsNotFound(err), errdefs.IsInvalidArgument(err), containsAny(text, absentSigns):
		kind = ErrNoImage
	}
	return fmt.Errorf("pull %s: %w: %w", name, kind, err)
}

func containsAny(s string, signs []string) bool {
	for _, sign := range signs {
		if strings.Contains(s, sign) {
			return true
		}
	}
	return false
}

package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"

	"github.com/hindsightrl/harness"
)

// ErrBuild is returned for an image whose build failed: its recipe is wrong, or something that it needs
// could not be had.
var ErrBuild = errors.New("the image could not be built")

// HasImage reports whether the daemon holds an image of this name, without asking a registry.
func (e *Engine) HasImage(ctx context.Context, name string) (bool, error) {
	call, cancel := e.quick(ctx)
	defer cancel()
	_, err := e.api.ImageInspect(call, name)
	switch {
	case err == nil:
		return true, nil
	case errdefs.IsNotFound(err):
		return false, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	return false, envFailure("inspect image "+name, err)
}

// ImportImage makes an image of a root file system, a tar stream.
func (e *Engine) ImportImage(ctx context.Context, name string, root io.Reader) error {
	r, err := e.api.ImageImport(ctx, image.ImportSource{Source: root, SourceName: "-"}, name, image.ImportOptions{})
	if err != nil {
		return e.imageFailure(ctx, "import image "+name, err)
	}
	_, err = readBuild(r)
	return e.imageFailure(ctx, "import image "+name, errors.Join(err, r.Close()))
}

// Build says how an image is made.
type Build struct {
	Name    string
	Context io.Reader // a tar stream with a Dockerfile at its top
	Args    map[string]string
	Network string // of the commands: "none" for a recipe that needs nobody; "" is the daemon's default
	Labels  map[string]string
	Log     io.Writer // gets what the build prints; nil is nobody
}

// BuildImage makes an image by a recipe. An error of the recipe itself wraps ErrBuild and ends with the
// last lines that the build printed.
func (e *Engine) BuildImage(ctx context.Context, b Build) error {
	if err := e.builds.Acquire(ctx, 1); err != nil {
		return err
	}
	defer e.builds.Release(1)
	if err := e.roomFor(ctx, "build image "+b.Name, e.config.StartRoom); err != nil {
		return err
	}
	args := make(map[string]*string, len(b.Args))
	for name, value := range b.Args {
		args[name] = &value
	}
	op := "build image " + b.Name
	res, err := e.api.ImageBuild(ctx, b.Context, build.ImageBuildOptions{
		Tags: []string{b.Name}, BuildArgs: args, NetworkMode: b.Network, Labels: b.Labels,
		Remove: true, ForceRemove: true, Version: build.BuilderV1,
	})
	if err != nil {
		return e.imageFailure(ctx, op, err)
	}
	out, err := readBuild(res.Body)
	if b.Log != nil {
		_, _ = b.Log.Write(out)
	}
	if err = errors.Join(err, res.Body.Close()); err != nil && ctx.Err() == nil {
		return harness.FailFinal(harness.FailEnv, op, fmt.Errorf("%w: %w\n%s", ErrBuild, err, lastLines(out)))
	}
	return e.imageFailure(ctx, op, err)
}

// RemoveImage removes an image's name, and the image itself where it has no other and nobody uses it.
// One that is not there is no error.
func (e *Engine) RemoveImage(ctx context.Context, name string) error {
	call, cancel := e.cleanup(ctx)
	defer cancel()
	if _, err := e.api.ImageRemove(call, name, image.RemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
		return envFailure("remove image "+name, err)
	}
	return nil
}

func (e *Engine) imageFailure(ctx context.Context, op string, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return envFailure(op, err)
}

// maxBuildLog is kept of what a build prints: its end.
const maxBuildLog = 64 << 10

// readBuild reads the daemon's messages to the end and returns what was printed. The daemon reports a
// failure as a message.
func readBuild(r io.Reader) ([]byte, error) {
	var out []byte
	for dec := json.NewDecoder(r); ; {
		var m struct {
			Stream string `json:"stream"`
			Error  string `json:"error"`
		}
		switch err := dec.Decode(&m); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, fmt.Errorf("read the daemon's messages: %w", err)
		case m.Error != "":
			return out, errors.New(m.Error)
		}
		if out = append(out, m.Stream...); len(out) > 2*maxBuildLog {
			out = append(out[:0], out[len(out)-maxBuildLog:]...)
		}
	}
}

// lastLines returns the end of a log, for an error's message.
func lastLines(log []byte) []byte {
	log = bytes.TrimSpace(log)
	const lines, most = 8, 2000
	at := len(log)
	for range lines {
		if at = bytes.LastIndexByte(log[:at], '\n'); at < 0 {
			at = 0
			break
		}
	}
	return bytes.TrimSpace(log[max(at, len(log)-most):])
}

package container

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// CopyIn unpacks a tar stream into a folder of the container, which must exist.
func (c *Container) CopyIn(ctx context.Context, dir string, archive io.Reader) error {
	call, cancel := c.engine.slow(ctx)
	defer cancel()
	err := c.engine.api.CopyToContainer(call, c.id, dir, archive, container.CopyToContainerOptions{})
	if err != nil {
		return c.failure(ctx, "copy into "+dir, err)
	}
	return nil
}

// WriteFile writes one file. Its folder must exist.
func (c *Container) WriteFile(ctx context.Context, name string, content []byte, mode int64) error {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	if err := tw.WriteHeader(&tar.Header{Name: path.Base(name), Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := tw.Write(content); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := tw.Close(); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return c.CopyIn(ctx, path.Dir(name), &buf)
}

// ErrNoFile is returned for a path that the container does not have.
var ErrNoFile = errors.New("no such file in the container")

// CopyOut returns a file or folder as a tar stream, which the caller closes.
func (c *Container) CopyOut(ctx context.Context, name string) (io.ReadCloser, error) {
	call, cancel := c.engine.slow(ctx)
	r, _, err := c.engine.api.CopyFromContainer(call, c.id, name)
	if err == nil {
		return &copying{r, cancel}, nil
	}
	cancel()
	if errdefs.IsNotFound(err) {
		if dead := c.alive(ctx); dead != nil {
			return nil, dead
		}
		return nil, fmt.Errorf("copy %s: %w", name, ErrNoFile)
	}
	return nil, c.failure(ctx, "copy "+name, err)
}

// copying is a stream out of a container, whose call ends with it.
type copying struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close ends the stream.
func (c *copying) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// ReadFile reads one file of at most limit bytes.
func (c *Container) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, err := c.CopyOut(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	tr := tar.NewReader(r)
	h, err := tr.Next()
	if err != nil {
		return nil, c.failure(ctx, "read "+name, err)
	}
	if h.Typeflag != tar.TypeReg || h.Size > limit {
		return nil, fmt.Errorf("read %s: no regular file of at most %d bytes", name, limit)
	}
	content, err := io.ReadAll(tr)
	if err != nil {
		return nil, c.failure(ctx, "read "+name, err)
	}
	return content, nil
}

package embedded

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/internal/errext"
)

// The two ways to a base image.
const (
	BaseDebian = "debian:bookworm-slim" // from a registry; the build then installs what it lacks
	BaseLocal  = "mmdebstrap"           // a file system made on this machine: no registry is asked
)

// Options choose how images are built. The zero value asks a registry for Debian.
type Options struct {
	Base   string    // BaseDebian, BaseLocal, or the name of an image derived from Debian; "" is BaseDebian
	Mirror string    // of Debian packages, for BaseLocal; "" is mmdebstrap's choice
	Log    io.Writer // gets what the builds print; nil is nobody
}

// Image is an instance's image.
type Image struct {
	InstanceID string `json:"instance_id"`
	Name       string `json:"image"`
	Built      bool   `json:"built"` // now; otherwise it was there
}

// BuildImages makes the instances' images and returns them in IDs' order. An image that is there is
// left alone: its name says by which recipe it was made.
func BuildImages(ctx context.Context, e *container.Engine, o Options) ([]Image, error) {
	if o.Base == "" {
		o.Base = BaseDebian
	}
	images := make([]Image, len(IDs))
	base := ""
	for i, id := range IDs {
		name, err := ImageName(id)
		if err != nil {
			return nil, err
		}
		images[i] = Image{InstanceID: id, Name: name}
		there, err := e.HasImage(ctx, name)
		if err != nil {
			return nil, err
		}
		if there {
			continue
		}
		if base == "" {
			if base, err = findBase(ctx, e, o); err != nil {
				return nil, err
			}
		}
		if err := buildImage(ctx, e, id, name, base, o); err != nil {
			return nil, err
		}
		images[i].Built = true
	}
	return images, nil
}

// findBase returns the base image's name, pulled or made where it is not here.
func findBase(ctx context.Context, e *container.Engine, o Options) (string, error) {
	if o.Base == BaseLocal {
		return localBase(ctx, e, o)
	}
	name, err := e.Find(ctx, []string{o.Base})
	if err != nil {
		return "", errext.WithHint(fmt.Errorf("find base image: %w", err),
			"harness swebench images --base mmdebstrap makes one on this machine (apt-get install mmdebstrap)")
	}
	return name, nil
}

func buildImage(ctx context.Context, e *container.Engine, id, name, base string, o Options) error {
	files, err := buildContext(id)
	if err != nil {
		return fmt.Errorf("build image of %s: %w", id, err)
	}
	network := ""
	if o.Base == BaseLocal {
		network = "none" // everything is in the base
	}
	err = e.BuildImage(ctx, container.Build{
		Name: name, Context: files, Args: map[string]string{"BASE": base}, Network: network, Log: o.Log,
	})
	if err != nil {
		return errext.WithHint(fmt.Errorf("build image of %s: %w", id, err),
			"harness swebench images --verbose prints the whole build; --base mmdebstrap needs no network inside of it")
	}
	return nil
}

// buildContext packs an instance's recipe. A module file that would make another Go module of a folder
// of this one has another name here.
func buildContext(id string) (io.Reader, error) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	add := func(name, from string) error {
		content, err := tasks.ReadFile(from)
		if err != nil {
			return err
		}
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = tw.Write(content)
		return err
	}
	for name, from := range map[string]string{
		"Dockerfile": "Dockerfile", "setup.sh": "setup.sh", "gold.patch": id + "/gold.patch",
	} {
		if err := add(name, path.Join(root, from)); err != nil {
			return nil, err
		}
	}
	folder := path.Join(root, id)
	err := fs.WalkDir(tasks, path.Join(folder, "repo"), func(from string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(from, folder+"/")
		if path.Base(name) == "go.mod.txt" {
			name = strings.TrimSuffix(name, ".txt")
		}
		return add(name, from)
	})
	if err != nil {
		return nil, err
	}
	return &buf, tw.Close()
}

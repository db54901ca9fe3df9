// Package originaltest makes the images of original environments for tests, by the repository's recipes,
// where no registry is reachable: on a Debian that mmdebstrap makes in place of a registry's base image.
package originaltest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/internal/container/containertest"
)

// Required is the environment variable that, when set, makes a machine that cannot prepare the images a
// failure instead of a reason to skip: for CI.
const Required = "HARNESS_TEST_ORIGINALS"

// ALFWorld is the image of the original ALFWorld. It skips the test, with the reason, in short mode, and
// where the image is not there and cannot be made.
func ALFWorld(tb testing.TB) string {
	tb.Helper()
	return image(tb, "alfworld", nil)
}

// WebShop is the image of the original WebShop of a checkout.
func WebShop(tb testing.TB, checkout string) string {
	tb.Helper()
	return image(tb, "webshop", []string{checkout})
}

// Harness is the image of the harness itself, of the sources as they are.
func Harness(tb testing.TB) string {
	tb.Helper()
	return image(tb, harnessName, nil)
}

// harnessName is the recipe whose result changes with the repository's sources.
const harnessName = "harness"

func image(tb testing.TB, name string, args []string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("the originals take minutes: not in short mode")
	}
	e := containertest.Open(tb, container.Config{})
	made, err := makeImage(tb.Context(), e, name, args)
	switch {
	case err != nil && os.Getenv(Required) != "":
		tb.Fatalf("make the image of %s: %v", name, err)
	case err != nil:
		tb.Skipf("the image of %s cannot be made here: %v", name, err)
	}
	return made
}

// making keeps the tests of one process apart, and the lock of makeImage those of several.
var making sync.Mutex

func makeImage(ctx context.Context, e *container.Engine, name string, args []string) (string, error) {
	making.Lock()
	defer making.Unlock()
	docker, err := recipes()
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close() // which gives it back
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	out := filepath.Join(cache, name)
	roots := append([]string{filepath.Join(docker, "bridge"), filepath.Join(docker, name), filepath.Join(docker, "prepare.sh")}, args...)
	if name == harnessName { // compiled each time: what comes out is what the image depends on
		if err := prepare(ctx, docker, name, out, args); err != nil {
			return "", err
		}
		roots = []string{filepath.Join(docker, name), out}
	}
	hash, err := hashOf(roots)
	if err != nil {
		return "", err
	}
	image := "hindsight-test-" + name + ":" + hash
	if here, err := e.HasImage(ctx, image); here || err != nil {
		return image, err
	}
	base, err := makeBase(ctx, e, cache)
	if err != nil {
		return "", err
	}
	if name != harnessName {
		if err := prepare(ctx, docker, name, out, args); err != nil {
			return "", err
		}
	}
	folder, err := pack(filepath.Join(docker, name), out)
	if err != nil {
		return "", err
	}
	return image, e.BuildImage(ctx, container.Build{Name: image, Context: folder, Args: map[string]string{"BASE": base}, Network: "none"})
}

// prepare lays out what an image is built from.
func prepare(ctx context.Context, docker, name, out string, args []string) error {
	cmd := exec.CommandContext(ctx, "sh", append([]string{filepath.Join(docker, "prepare.sh"), name}, args...)...)
	cmd.Env = append(os.Environ(), "OUT="+out, "PYTHON="+debianPython)
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("docker/prepare.sh %s: %w: %s", name, err, lastLine(msg))
	}
	return nil
}

// debianPython is the Python of the release that the base is made of; this machine must have the same
// one, for it fetches the packages.
const (
	debianRelease = "bookworm"
	debianPython  = "python3.11"
)

// basePackages are what the recipes need of their base. They are unpacked and not configured, which is a
// tenth of the work and enough.
const basePackages = "dash,coreutils,base-passwd,python3-venv,libstdc++6,zlib1g"

func makeBase(ctx context.Context, e *container.Engine, cache string) (string, error) {
	sum := sha256.Sum256([]byte(debianRelease + basePackages))
	base := "hindsight-test-python:" + hex.EncodeToString(sum[:6])
	if here, err := e.HasImage(ctx, base); here || err != nil {
		return base, err
	}
	for _, tool := range []string{"mmdebstrap", debianPython} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%s is not on this machine", tool)
		}
	}
	file := filepath.Join(cache, strings.NewReplacer(":", "-").Replace(base)+".tar")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		fresh := file + ".new"
		cmd := exec.CommandContext(ctx, "mmdebstrap", "--variant=extract", "--format=tar", "--include="+basePackages, debianRelease, fresh)
		if msg, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("mmdebstrap: %w: %s", err, lastLine(msg))
		}
		if err := os.Rename(fresh, file); err != nil {
			return "", err
		}
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return base, e.ImportImage(ctx, base, f)
}

// recipes finds the repository's folder of recipes.
func recipes() (string, error) {
	_, here, _, ok := runtime.Caller(0)
	docker := filepath.Join(filepath.Dir(here), "../../docker")
	if _, err := os.Stat(docker); !ok || err != nil {
		return "", fmt.Errorf("find the recipes: %w", err)
	}
	return docker, nil
}

// cacheDir keeps what takes long to fetch: the base's file and the wheels.
func cacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "hindsight-test-originals")
	return dir, os.MkdirAll(dir, 0o755)
}

// hashOf is over the names and contents of files and folders, without what prepare.sh lays out.
func hashOf(roots []string) (string, error) {
	h := sha256.New()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "build" || d.Name() == "__pycache__"):
				return fs.SkipDir
			case !d.Type().IsRegular():
				return nil
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			rel, err := filepath.Rel(root, path)
			fmt.Fprintf(h, "\x00%s\x00", rel)
			_, copyErr := io.Copy(h, f)
			return errors.Join(err, copyErr)
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

// pack makes a build context: the recipe, and what prepare.sh has laid out for it as its folder build.
func pack(recipe, out string) (io.Reader, error) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, name := range []string{"Dockerfile", "requirements.txt"} {
		content, err := os.ReadFile(filepath.Join(recipe, name))
		if name != "Dockerfile" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return nil, err
		}
		if _, err := tw.Write(content); err != nil {
			return nil, err
		}
	}
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info, err := d.Info(); err == nil && info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		h := &tar.Header{Name: "build/" + filepath.ToSlash(rel), Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		_, err = tw.Write(content)
		return err
	})
	return &buf, errors.Join(err, tw.Close())
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

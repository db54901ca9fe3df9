// Package containertest helps tests of containers: an image made of this machine's programs, which
// needs no registry, and a proxy in front of the daemon that is slow, hangs or cuts connections.
package containertest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hindsightrl/harness/envs/internal/container"
)

// programs are what images of this package have in /bin. A machine without one of them cannot make the
// image.
var programs = []string{
	"sh", "bash", "git", "patch", "sleep", "cat", "ls", "setsid", "head", "tail", "yes", "id", "seq", "true", "dd", "rm", "mkdir",
	"cp", "mv", "chmod", "dirname", "basename", "grep", "sed", "tr", "env", "mktemp", "sort", "comm", "wc", "sync",
}

// Open opens the daemon on behalf of one test, as an owner of its own, and skips the test where none
// answers. What the test leaves is removed.
func Open(tb testing.TB, config container.Config) *container.Engine {
	tb.Helper()
	if config.Owner == "" {
		config.Owner = fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ToLower(strings.ReplaceAll(tb.Name(), "/", "-")))
	}
	if config.Run == "" {
		config.Run = "run"
	}
	if config.LockDir == "" {
		config.LockDir = tb.TempDir()
	}
	e, err := container.Open(tb.Context(), config)
	if errors.Is(err, container.ErrNoDaemon) {
		tb.Skip("no Docker daemon answers: start one, or set DOCKER_HOST, to test containers")
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}

// File is a file, or a folder whose name ends in a slash, of an image.
type File struct {
	Name    string // from the root, without a leading slash
	Mode    int64
	Content []byte
}

// base is the root folder that every image begins with.
var base = sync.OnceValues(hostRoot)

// Image makes an image of this machine's programs and the files, once for each content, and returns its
// name. Folders of the files are made as needed.
func Image(tb testing.TB, e *container.Engine, files ...File) string {
	tb.Helper()
	root, err := base()
	if err != nil {
		tb.Skipf("the test image cannot be made of this machine's programs: %v", err)
	}
	var buf bytes.Buffer
	p := &packer{tw: tar.NewWriter(&buf), seen: map[string]bool{}}
	for _, f := range append(root[:len(root):len(root)], files...) {
		if err := p.add(f); err != nil {
			tb.Fatal(err)
		}
	}
	if err := p.tw.Close(); err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(buf.Bytes())
	name := "hindsight-test:" + hex.EncodeToString(sum[:6])
	if err := makeOnce(tb.Context(), e, name, &buf); err != nil {
		tb.Fatalf("make the test image: %v", err)
	}
	return name
}

var making sync.Mutex

func makeOnce(ctx context.Context, e *container.Engine, name string, root io.Reader) error {
	making.Lock()
	defer making.Unlock()
	if here, err := e.HasImage(ctx, name); here || err != nil {
		return err
	}
	return e.ImportImage(ctx, name, root)
}

type packer struct {
	tw   *tar.Writer
	seen map[string]bool
}

func (p *packer) add(f File) error {
	name := strings.TrimSuffix(f.Name, "/")
	if name == "." || name == "" || p.seen[name] {
		return nil
	}
	if err := p.add(File{Name: path.Dir(name) + "/", Mode: 0o755}); err != nil {
		return err
	}
	p.seen[name] = true
	h := &tar.Header{Name: f.Name, Mode: f.Mode, Size: int64(len(f.Content)), Typeflag: tar.TypeReg}
	if strings.HasSuffix(f.Name, "/") {
		h.Typeflag = tar.TypeDir
	}
	if err := p.tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := p.tw.Write(f.Content)
	return err
}

var library = regexp.MustCompile(`/[^ )]+`)

// hostRoot is a few programs of this machine and the libraries that they load.
func hostRoot() ([]File, error) {
	var files []File
	add := func(name, from string) error {
		content, err := os.ReadFile(from)
		files = append(files, File{Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Content: content})
		return err
	}
	for _, dir := range []string{"tmp/", "testbed/", "dev/", "proc/", "sys/", "etc/", "root/"} {
		files = append(files, File{Name: dir, Mode: 0o777})
	}
	for _, name := range programs {
		file, err := exec.LookPath(name)
		if err != nil {
			return nil, err
		}
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return nil, err
		}
		if err := add("/bin/"+name, file); err != nil {
			return nil, err
		}
		libraries, _ := exec.Command("ldd", file).Output() //nolint:noctx // a helper of tests; a static program has none
		for _, lib := range library.FindAllString(string(libraries), -1) {
			if err := add(lib, lib); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

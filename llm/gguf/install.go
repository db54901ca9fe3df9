package gguf

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
)

// The npm package that ships llama.cpp's shared libraries, by name and version. The integrity is what
// npm itself records for this version.
const (
	libPackage   = "@node-llama-cpp/linux-x64"
	libVersion   = "3.22.1"
	libIntegrity = "sha512-5uCCDNqWCNfaAm8aR/Uzxbo4HBpKgNF91kCHPepKhgMgV2OAmatoefbOlMihsqCiH2Od35E/eUHQCFbfRBJuOg=="
	libFolder    = "package/bins/linux-x64/"
	libSOVersion = ".v0.5.0" // llama.cpp's version in the names of two of the files
)

// maxUnpacked bounds what is written, should the package ever be something else.
const maxUnpacked = 512 << 20

// InstallOptions changes how Install works. The zero value is usable.
type InstallOptions struct {
	NPM   string // the npm program; "" = "npm" from the search path
	Force bool   // install again although the library is there
}

// Install fetches the library with the npm client, checks it and puts it into dest ("" =
// DefaultLibDir). It returns the folder. A library that is there already is left alone unless forced.
// No script of the package runs.
func Install(ctx context.Context, dest string, o InstallOptions) (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", errext.WithHint(fmt.Errorf("install llama.cpp: no library is known for %s on %s", runtime.GOOS, runtime.GOARCH),
			"build llama.cpp v0.5.0 with BUILD_SHARED_LIBS=ON and point at the folder with its libraries")
	}
	return installer{npm: o.NPM, spec: libPackage + "@" + libVersion, integrity: libIntegrity}.run(ctx, dest, o.Force)
}

type installer struct{ npm, spec, integrity string }

func (in installer) run(ctx context.Context, dest string, force bool) (string, error) {
	var err error
	if dest == "" {
		if dest, err = DefaultLibDir(); err != nil {
			return "", fmt.Errorf("install llama.cpp: %w", err)
		}
	}
	if !force && checkLib(dest) == nil {
		return dest, nil
	}
	if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return "", fmt.Errorf("install llama.cpp: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dest), ".llama.cpp-*")
	if err != nil {
		return "", fmt.Errorf("install llama.cpp: %w", err)
	}
	defer os.RemoveAll(tmp)
	archive, err := in.fetch(ctx, tmp)
	if err != nil {
		return "", fmt.Errorf("install llama.cpp: %w", err)
	}
	made := filepath.Join(tmp, "lib")
	if err := unpack(archive, made); err != nil {
		return "", fmt.Errorf("install llama.cpp: unpack %s: %w", in.spec, err)
	}
	if err := replaceDir(made, dest); err != nil {
		return "", fmt.Errorf("install llama.cpp: %w", err)
	}
	return dest, nil
}

// fetch lets npm download the package into dir and returns the archive, checked against the pinned
// integrity.
func (in installer) fetch(ctx context.Context, dir string) ([]byte, error) {
	npm := in.npm
	if npm == "" {
		npm = "npm"
	}
	bin, err := exec.LookPath(npm)
	if err != nil {
		return nil, errext.WithHint(err, "install Node.js, which brings npm, or point at a folder that holds libllama.so")
	}
	cmd := exec.CommandContext(ctx, bin, "pack", in.spec, "--json", "--ignore-scripts", "--pack-destination", dir)
	cmd.Dir = dir
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		if context.Cause(ctx) != nil {
			err = context.Cause(ctx)
		}
		return nil, errext.WithHint(fmt.Errorf("npm pack %s: %w: %s", in.spec, err, tail(complaint.String(), 400)),
			"check that npm reaches its registry (npm ping), then run harness model install again")
	}
	var packed []struct {
		Filename string `json:"filename"`
	}
	if err := json.Unmarshal(out.Bytes(), &packed); err != nil || len(packed) != 1 {
		return nil, fmt.Errorf("npm pack %s: unexpected output %q", in.spec, tail(out.String(), 400))
	}
	data, err := os.ReadFile(filepath.Join(dir, archiveName(packed[0].Filename)))
	if err != nil {
		return nil, err
	}
	hash := sha512.Sum512(data)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(hash[:]); got != in.integrity {
		return nil, fmt.Errorf("%s has integrity %s, expected %s: it is not the package that was checked", in.spec, got, in.integrity)
	}
	return data, nil
}

// archiveName is the file that npm wrote for the name it reports: some versions report a scoped name
// with its slash and write a dash.
func archiveName(reported string) string {
	return strings.ReplaceAll(strings.TrimPrefix(reported, "@"), "/", "-")
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		s = "…" + s[len(s)-n:]
	}
	return s
}

// unpack writes the libraries and the licence into dir and makes the links that loading needs.
func unpack(archive []byte, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	zr, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	tr := tar.NewReader(io.LimitReader(zr, maxUnpacked))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := path.Base(h.Name)
		wanted := path.Dir(h.Name)+"/" == libFolder && strings.HasSuffix(name, ".so")
		if h.Typeflag != tar.TypeReg || (!wanted && h.Name != "package/LICENSE") {
			continue
		}
		if err := writeFile(filepath.Join(dir, name), tr); err != nil {
			return err
		}
	}
	for _, stem := range []string{"libllama", "libggml"} {
		if err := os.Symlink(stem+libSOVersion+".so", filepath.Join(dir, stem+".so")); err != nil {
			return err
		}
	}
	return checkLib(dir)
}

func writeFile(name string, r io.Reader) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// replaceDir moves made to dest. What was there is moved away first, since a process may run it; a
// second installer that was faster has won, and its result is as good.
func replaceDir(made, dest string) error {
	if err := os.Rename(dest, filepath.Join(filepath.Dir(made), "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(made, dest); err != nil && checkLib(dest) != nil {
		return err
	}
	return nil
}

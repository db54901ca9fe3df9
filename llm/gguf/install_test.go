package gguf

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
)

// pack makes an archive as npm does.
func pack(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, name := range names {
		body := "content of " + name
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(body)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func integrity(b []byte) string {
	h := sha512.Sum512(b)
	return "sha512-" + base64.StdEncoding.EncodeToString(h[:])
}

// fakeNPM writes a program that packs the given archive, as npm pack would.
func fakeNPM(t *testing.T, archive []byte, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.tgz"), archive, 0o600); err != nil {
		t.Fatal(err)
	}
	npm := filepath.Join(dir, "npm")
	if script == "" {
		script = "cp '" + dir + `/a.tgz' "$6/scope-name-1.tgz" && echo '[{"filename":"@scope/name-1.tgz"}]'`
	}
	body := "#!/bin/sh\n[ \"$1 $3 $4 $5\" = 'pack --json --ignore-scripts --pack-destination' ] || exit 9\n" + script + "\n"
	testutil.Executable(t, npm, []byte(body))
	return npm
}

var wholePackage = []string{
	"package/LICENSE", "package/package.json", libFolder + "libllama.v0.5.0.so", libFolder + "libggml.v0.5.0.so",
	libFolder + "libggml-base.so", libFolder + "libggml-cpu-x64.so", "package/../../evil.so", "package/other/x.so",
}

func TestInstallUnpacksAndLinks(t *testing.T) {
	t.Parallel()
	archive := pack(t, wholePackage...)
	in := installer{npm: fakeNPM(t, archive, ""), spec: "@scope/name@1", integrity: integrity(archive)}
	dest := filepath.Join(t.TempDir(), "cache", "lib")
	got, err := in.run(t.Context(), dest, false)
	if err != nil || got != dest {
		t.Fatalf("installed into %q, %v", got, err)
	}
	entries, err := os.ReadDir(dest)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := "LICENSE libggml-base.so libggml-cpu-x64.so libggml.so libggml.v0.5.0.so libllama.so libllama.v0.5.0.so"
	if s := strings.Join(names, " "); s != want {
		t.Errorf("installed %s; want %s", s, want)
	}
	if dir, err := FindLib("", dest); err != nil || dir != dest {
		t.Errorf("found %q, %v", dir, err)
	}
	in.npm = "/does/not/exist"
	if _, err := in.run(t.Context(), dest, false); err != nil {
		t.Errorf("a second time nothing has to be fetched: %v", err)
	}
	in.npm = fakeNPM(t, archive, "")
	if _, err := in.run(t.Context(), dest, true); err != nil {
		t.Errorf("by force: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dest), ".llama.cpp-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestInstallErrors(t *testing.T) {
	t.Parallel()
	whole, part := pack(t, wholePackage...), pack(t, "package/LICENSE")
	for _, tc := range []struct {
		name      string
		npm       string
		integrity string
		want      string
		hint      bool
	}{
		{"no npm", "/does/not/exist", "", "/does/not/exist", true},
		{"npm fails", fakeNPM(t, whole, "echo 'npm error 404 no such package' >&2; exit 1"), "", "404 no such package", true},
		{"npm says nothing", fakeNPM(t, whole, "true"), "", "unexpected output", false},
		{"another archive", fakeNPM(t, whole, ""), "sha512-AAAA", "not the package that was checked", false},
		{"incomplete package", fakeNPM(t, part, ""), integrity(part), "libllama.so", true},
		{"no archive", fakeNPM(t, []byte("x"), ""), integrity([]byte("x")), "unpack", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dest := filepath.Join(t.TempDir(), "lib")
			_, err := installer{npm: tc.npm, spec: "@scope/name@1", integrity: tc.integrity}.run(t.Context(), dest, false)
			if err == nil || !strings.Contains(err.Error(), tc.want) || (errext.Hint(err) != "") != tc.hint {
				t.Errorf("error %v, hint %q; want %q, hint %v", err, errext.Hint(err), tc.want, tc.hint)
			}
			if _, err := os.Stat(dest); err == nil {
				t.Error("a failed install left something at its destination")
			}
		})
	}
}

func TestFindLibNamesTheMissingLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "libllama.v0.5.0.so"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := FindLib(dir)
	if err == nil || !strings.Contains(errext.Hint(err), "ln -s libllama.v0.5.0.so") {
		t.Errorf("error %v, hint %q", err, errext.Hint(err))
	}
}

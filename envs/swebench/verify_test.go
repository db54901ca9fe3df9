package swebench_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/testutil"
)

// archive writes logs as a .tar.xz.
func archive(t *testing.T, path string, logs map[string]string) {
	t.Helper()
	var buf bytes.Buffer
	zw, err := xz.NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(zw)
	for name, text := range logs {
		if err := tw.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600, Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close(), os.WriteFile(path, buf.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

const (
	goodLog = ">>>>> Start Test Output\r\nPASSED t::a\nPASSED t::b\nSKIPPED t::c\n>>>>> End Test Output\n"
	goodV5  = `"v5": {"found": true, "status": "RESOLVED_FULL", "resolved": true, "n": 3, "map": {"t::a": "PASSED", "t::b": "PASSED", "t::c": "SKIPPED"}, "f2p": [1, 0], "p2p": [2, 0]}`
	goodV4  = `"v4_status": "RESOLVED_FULL", "v4_resolved": true, "v4_same_map": true`
	goodID  = `"log": "dir/good.txt", "instance_id": "pallets__flask-1", "format": "v2", "parser": "parse_log_pytest", `
)

func line(parts ...string) string { return "{" + strings.Join(parts, "") + "}\n" }

// verify runs Verify on a file of verdicts beside an archive with the good log.
func verify(t *testing.T, verdicts string) (passed, failed int, lines []string, err error) {
	t.Helper()
	dir := t.TempDir()
	archive(t, filepath.Join(dir, "x.tar.xz"), map[string]string{"./dir/good.txt": goodLog, "dir/other.txt": "x"})
	passed, failed, err = swebench.Verify(t.Context(), filepath.Join(dir, "x.jsonl.gz"), strings.NewReader(verdicts),
		swebench.VerifyConfig{Data: dataset(t, "pallets__flask-1")}, func(s string) { lines = append(lines, s) })
	return passed, failed, lines, err
}

func TestVerifyAgrees(t *testing.T) {
	t.Parallel()
	good := line(goodID, goodV5, ",", goodV4)
	plain := line(goodID, goodV5)
	passed, failed, lines, err := verify(t, good+"\n"+plain)
	if err != nil || passed != 2 || failed != 0 || len(lines) != 0 {
		t.Errorf("%d passed, %d failed, %q, %v", passed, failed, lines, err)
	}
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	if _, err := zw.Write([]byte(good)); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	if passed, _, _, err := verify(t, zipped.String()); err != nil || passed != 1 {
		t.Errorf("gzipped: %d, %v", passed, err)
	}
}

func TestVerifyNamesTheFirstDifference(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, from, to, want string }{
		{"found", `"found": true`, `"found": false`, "5.0.2: found is true, the official code says false"},
		{"count", `"n": 3`, `"n": 4`, "5.0.2: number of tests is 3"},
		{"status of a test", `"t::b": "PASSED"`, `"t::b": "FAILED"`, `test "t::b" is PASSED, the official code says FAILED`},
		{"another test", `"t::b":`, `"t::x":`, `test "t::b" is PASSED, the official code has no such test`},
		{"a test more", `"map": {`, `"map": {"t::z": "PASSED", "t::y": "FAILED", `, `test "t::y" was not read, the official code says FAILED`},
		{"verdict", `"status": "RESOLVED_FULL", "r`, `"status": "RESOLVED_NO", "r`, "5.0.2: status is RESOLVED_FULL, the official code says RESOLVED_NO"},
		{"resolved", `"resolved": true, "n"`, `"resolved": false, "n"`, "5.0.2: resolved is true"},
		{"f2p", `"f2p": [1, 0]`, `"f2p": [0, 1]`, "5.0.2: f2p is [1 0]"},
		{"p2p", `"p2p": [2, 0]`, `"p2p": [1, 1]`, "5.0.2: p2p is [2 0]"},
		{"verdict of 4.1.0", `"v4_status": "RESOLVED_FULL"`, `"v4_status": null`, "4.1.0: status is RESOLVED_FULL, the official code says  "},
		{"resolved under 4.1.0", `"v4_resolved": true`, `"v4_resolved": false`, "4.1.0: resolved is true"},
		{"maps of both", `"v4_same_map": true`, `"v4_same_map": false`, "4.1.0: map equal to 5.0.2's is true"},
		{"broken status of 4.1.0", `"v4_status": "RESOLVED_FULL"`, `"v4_status": 3`, "read v4_status"},
		{"format", `"v2"`, `"v9"`, `log format "v9"`},
		{"parser", `"parse_log_pytest"`, `"parse_log_x"`, "no such log parser"},
		{"no such log", `"dir/good.txt"`, `"dir/gone.txt"`, "dir/gone.txt: the archive has no such log"},
		{"no such instance", `"pallets__flask-1"`, `"x"`, "instance x is not in the dataset"},
	}
	good := line(goodID, goodV5, ",", goodV4)
	for _, tt := range tests {
		bad := strings.Replace(good, tt.from, tt.to, 1)
		passed, failed, lines, err := verify(t, bad+good)
		if err != nil || passed != 1 || failed != 1 || len(lines) != 1 || !strings.Contains(lines[0]+" ", tt.want) {
			t.Errorf("%s: %d passed, %d failed, %q, %v", tt.name, passed, failed, lines, err)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"{", "line 1"}, {line(goodID, goodV5) + "{}", "line 2: log, instance_id or v5 is missing"}, {"\x1f\x8b", "read verdicts"},
	} {
		if _, _, _, err := verify(t, tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v", tt.text, err)
		}
	}
	good := line(goodID, goodV5)
	config := swebench.VerifyConfig{Data: dataset(t, "pallets__flask-1")}
	if _, _, err := swebench.Verify(t.Context(), filepath.Join(t.TempDir(), "x.jsonl"), strings.NewReader(good), config, nil); errext.Hint(err) == "" {
		t.Errorf("no archive: %v", err)
	}
	config.Archive = filepath.Join(t.TempDir(), "any.tar.xz")
	if err := os.WriteFile(config.Archive, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := swebench.Verify(t.Context(), "x", strings.NewReader(good), config, nil); err == nil || !strings.Contains(err.Error(), "any.tar.xz") {
		t.Errorf("a broken archive: %v", err)
	}
	archive(t, config.Archive, map[string]string{"dir/good.txt": goodLog})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := swebench.Verify(ctx, "x", strings.NewReader(good), config, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if passed, _, err := swebench.Verify(t.Context(), "x", strings.NewReader(good), config, nil); err != nil || passed != 1 {
		t.Errorf("the archive by its path: %d, %v", passed, err)
	}
}

// Every verdict and every status map of the recorded logs, under both releases.
func TestVerifyRecordedLogs(t *testing.T) {
	t.Parallel()
	data, err := swebench.OpenDataset(testutil.Shared(t, "data/swebench"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(testutil.Shared(t, "truth/swebench"), "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no verdicts: %v", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		passed, failed, err := swebench.Verify(t.Context(), name, f, swebench.VerifyConfig{Data: data}, func(s string) { t.Error(s) })
		if err != nil || failed > 0 || passed == 0 {
			t.Errorf("%s: %d passed, %d failed, %v", name, passed, failed, err)
		}
		f.Close()
	}
}

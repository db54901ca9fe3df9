package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerifyEndsWithItsCounts reads stdout and stderr as one, as a log file has them.
func TestVerifyEndsWithItsCounts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cases")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name           string
		file           string
		passed, failed int
		err            error
		code           int
		last, says     string
	}{
		{"all pass", file, 3, 0, nil, exitOK, "3 passed, 0 failed", "a note"},
		{"some fail", file, 2, 1, nil, exitFailed, "2 passed, 1 failed", "a difference"},
		{"cut short", file, 2, 0, errors.New("line 7: unexpected end"), exitFailed, "2 passed, 0 failed", "line 7: unexpected end"},
		{"no case", file, 0, 0, nil, exitFailed, "0 passed, 0 failed", "no case in it"},
		{"no file", file + "-absent", 0, 0, nil, exitFailed, "0 passed, 0 failed", "cases-absent: no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			g := &globals{stdout: &out, stderr: &out, log: slog.New(slog.DiscardHandler)}
			check := func(_ string, _ io.Reader, report func(string)) (int, int, error) {
				if c.failed > 0 {
					report("a difference")
				}
				return c.passed, c.failed, c.err
			}
			err := runVerify(g, []string{c.file}, false, check, func() { fmt.Fprintln(&out, "a note") })
			if code := finish(g, err, false); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			if !strings.HasSuffix(out.String(), "\n"+c.last+"\n") || !strings.Contains(out.String(), c.says) {
				t.Errorf("want %q and last %q in:\n%s", c.says, c.last, out.String())
			}
		})
	}
}

func TestVerifyALFWorldNeedsData(t *testing.T) {
	t.Parallel()
	got := command(t, nil, "verify", "alfworld", "f.jsonl")
	if got.code != exitUsage || !strings.Contains(got.stderr, "--data is not given") || !strings.Contains(got.stderr, "hint: harness verify alfworld FILE… --data") {
		t.Errorf("exit %d:\n%s", got.code, got.stderr)
	}
}

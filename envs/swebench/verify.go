package swebench

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ulikunitz/xz"

	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
	"github.com/hindsightrl/harness/internal/errext"
)

// VerifyConfig is what Verify needs beside the file of verdicts.
type VerifyConfig struct {
	Data    *Dataset // the rows of the instances that the logs belong to
	Archive string   // the .tar.xz that holds the logs; "" is the file of the same name beside the verdicts
}

// maxLogBytes bounds one log. Real ones have a few MB.
const maxLogBytes = 512 << 20

// graded is one line of a file of verdicts: a log, how to read it, and what the official code says.
type graded struct {
	Source     string `json:"source"`
	InstanceID string `json:"instance_id"`
	Log        string `json:"log"`
	Format     string `json:"format"`
	Parser     string `json:"parser"`
	V5         *struct {
		Found    bool              `json:"found"`
		Status   *string           `json:"status"`
		Resolved bool              `json:"resolved"`
		N        int               `json:"n"`
		Map      map[string]string `json:"map"`
		F2P      *[2]int           `json:"f2p"` // success, failure
		P2P      *[2]int           `json:"p2p"`
	} `json:"v5"`
	V4Resolved *bool           `json:"v4_resolved"`
	V4Status   json.RawMessage `json:"v4_status"` // a string, or null where release 4 found no run
	V4SameMap  *bool           `json:"v4_same_map"`

	problem error // what Verify found; checked says that it looked
	checked bool
}

// Verify grades recorded logs under both releases' semantics and compares status maps, counts and
// verdicts with what the official code said of them: r is the file of verdicts, JSON lines, plain or
// gzipped, and name its path, from which the archive's is made (X.jsonl.gz → X.tar.xz). A case is one
// log; report is called with the first difference of each failed one, in the file's order, and may be
// nil. An error means that nothing could be compared at all.
func Verify(ctx context.Context, name string, r io.Reader, config VerifyConfig, report func(string)) (passed, failed int, err error) {
	cases, err := readGraded(r)
	if err != nil {
		return 0, 0, fmt.Errorf("read verdicts: %w", err)
	}
	archive := config.Archive
	if archive == "" {
		archive = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".jsonl") + ".tar.xz"
	}
	f, err := os.Open(archive)
	if err != nil {
		return 0, 0, errext.WithHint(fmt.Errorf("open logs: %w", err), "keep the .tar.xz with the logs beside the .jsonl.gz of the same name")
	}
	defer f.Close()
	byLog := map[string][]*graded{}
	for _, c := range cases {
		byLog[c.Log] = append(byLog[c.Log], c)
	}
	err = eachLog(ctx, f, func(name string) bool { return byLog[name] != nil }, func(name string, content []byte) {
		log := testlog.Decode(content)
		for _, c := range byLog[name] {
			c.checked, c.problem = true, c.check(log, config.Data)
		}
	})
	if err != nil {
		return 0, 0, fmt.Errorf("read logs %s: %w", archive, err)
	}
	for _, c := range cases {
		if !c.checked {
			c.problem = errors.New("the archive has no such log")
		}
		if c.problem == nil {
			passed++
			continue
		}
		failed++
		if report != nil {
			report(fmt.Sprintf("%s: %v", c.Log, c.problem))
		}
	}
	return passed, failed, nil
}

func readGraded(r io.Reader) ([]*graded, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	if magic, err := br.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, err
		}
		defer zr.Close()
		br = bufio.NewReaderSize(zr, 1<<16)
	}
	var all []*graded
	for number := 1; ; number++ {
		text, err := br.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			c := &graded{}
			if jsonErr := json.Unmarshal(text, c); jsonErr != nil {
				return nil, fmt.Errorf("line %d: %w", number, jsonErr)
			}
			if c.Log == "" || c.InstanceID == "" || c.V5 == nil {
				return nil, fmt.Errorf("line %d: log, instance_id or v5 is missing", number)
			}
			all = append(all, c)
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// eachLog calls f for the wanted files of a .tar.xz, one after the other, so that one log at a time is
// in memory.
func eachLog(ctx context.Context, r io.Reader, wanted func(string) bool, f func(name string, content []byte)) error {
	zr, err := xz.NewReader(bufio.NewReaderSize(r, 1<<16))
	if err != nil {
		return err
	}
	for tr := tar.NewReader(zr); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		name := strings.TrimPrefix(h.Name, "./")
		if h.Typeflag != tar.TypeReg || !wanted(name) {
			continue
		}
		if h.Size > maxLogBytes {
			return fmt.Errorf("%s has %d bytes, more than %d", name, h.Size, maxLogBytes)
		}
		content := make([]byte, h.Size)
		if _, err := io.ReadFull(tr, content); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f(name, content)
	}
}

// check grades the log under both releases and returns the first difference.
func (c *graded) check(log string, data *Dataset) error {
	in := data.Get(c.InstanceID)
	if in == nil {
		return fmt.Errorf("instance %s is not in the dataset", c.InstanceID)
	}
	format, err := grade.ParseFormat(c.Format)
	if err != nil {
		return err
	}
	spec := in.Grading()
	if c.Parser != "" {
		spec.Parser = c.Parser
	}
	v5, err := grade.Log(spec, log, grade.Options{Release: testlog.V502, Format: format})
	if err != nil {
		return err
	}
	if err := c.compareV5(v5); err != nil {
		return fmt.Errorf("%s: %w", testlog.V502, err)
	}
	if c.V4Resolved == nil && c.V4Status == nil && c.V4SameMap == nil {
		return nil
	}
	v4, err := grade.Log(spec, log, grade.Options{Release: testlog.V410, Format: format})
	if err != nil {
		return err
	}
	if err := c.compareV4(v4, v5); err != nil {
		return fmt.Errorf("%s: %w", testlog.V410, err)
	}
	return nil
}

func (c *graded) compareV5(got grade.Result) error {
	status := ""
	if c.V5.Status != nil {
		status = *c.V5.Status
	}
	f, p := got.Tests.FailToPass, got.Tests.PassToPass
	switch {
	case got.Found != c.V5.Found:
		return differs("found", got.Found, c.V5.Found, got)
	case got.Statuses.Len() != c.V5.N:
		return differs("number of tests", got.Statuses.Len(), c.V5.N, got)
	}
	if err := sameMap(got.Statuses, c.V5.Map); err != nil {
		return err
	}
	switch {
	case string(got.Status) != status:
		return differs("status", got.Status, status, got)
	case got.Resolved() != c.V5.Resolved:
		return differs("resolved", got.Resolved(), c.V5.Resolved, got)
	case c.V5.F2P != nil && [2]int{len(f.Success), len(f.Failure)} != *c.V5.F2P:
		return differs("f2p", [2]int{len(f.Success), len(f.Failure)}, *c.V5.F2P, got)
	case c.V5.P2P != nil && [2]int{len(p.Success), len(p.Failure)} != *c.V5.P2P:
		return differs("p2p", [2]int{len(p.Success), len(p.Failure)}, *c.V5.P2P, got)
	}
	return nil
}

func (c *graded) compareV4(got, v5 grade.Result) error {
	if c.V4Status != nil {
		var status *string
		if err := json.Unmarshal(c.V4Status, &status); err != nil {
			return fmt.Errorf("read v4_status: %w", err)
		}
		want := ""
		if status != nil {
			want = *status
		}
		if string(got.Status) != want {
			return differs("status", got.Status, want, got)
		}
	}
	if c.V4Resolved != nil && got.Resolved() != *c.V4Resolved {
		return differs("resolved", got.Resolved(), *c.V4Resolved, got)
	}
	if c.V4SameMap != nil {
		if same := sameMap(got.Statuses, v5.Statuses.Map()) == nil; same != *c.V4SameMap {
			return differs("map equal to 5.0.2's", same, *c.V4SameMap, got)
		}
	}
	return nil
}

func differs(field string, got, want any, r grade.Result) error {
	return fmt.Errorf("%s is %v, the official code says %v (%s)", field, got, want, grade.Describe(r))
}

// sameMap names the first test, in the log's order and then the verdict's, whose status differs.
func sameMap(got *testlog.Statuses, want map[string]string) error {
	for name, status := range got.All() {
		if w, ok := want[name]; !ok {
			return fmt.Errorf("test %q is %s, the official code has no such test", name, status)
		} else if w != status {
			return fmt.Errorf("test %q is %s, the official code says %s", name, status, w)
		}
	}
	if got.Len() == len(want) {
		return nil
	}
	missing := ""
	for name := range want {
		if _, ok := got.Get(name); !ok && (missing == "" || name < missing) {
			missing = name
		}
	}
	return fmt.Errorf("test %q was not read, the official code says %s", missing, want[missing])
}

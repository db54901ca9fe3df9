package grade_test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/grade"
	"github.com/hindsightrl/harness/envs/swebench/testlog"
	"github.com/hindsightrl/harness/internal/testutil"
)

// recorded is a log with what is needed to grade it.
type recorded struct {
	spec    grade.Spec
	opt     grade.Options
	content []byte
}

// loadRecorded reads the logs of a graded archive, in the verdicts' order.
func loadRecorded(tb testing.TB, data *swebench.Dataset, name string) []recorded {
	tb.Helper()
	contents := readArchive(tb, testutil.Shared(tb, "truth/swebench/"+name+".tar.xz"))
	f, err := os.Open(testutil.Shared(tb, "truth/swebench/"+name+".jsonl.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	var all []recorded
	for sc := bufio.NewReader(zr); ; {
		text, err := sc.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all
		}
		var line struct {
			InstanceID string `json:"instance_id"`
			Log        string `json:"log"`
			Format     string `json:"format"`
		}
		if err := json.Unmarshal(text, &line); err != nil {
			tb.Fatal(err)
		}
		format, err := grade.ParseFormat(line.Format)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, recorded{data.Get(line.InstanceID).Grading(), grade.Options{Format: format}, contents[line.Log]})
	}
}

func readArchive(tb testing.TB, path string) map[string][]byte {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zr, err := xz.NewReader(bufio.NewReader(f))
	if err != nil {
		tb.Fatal(err)
	}
	contents := map[string][]byte{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return contents
		}
		if err != nil {
			tb.Fatal(err)
		}
		if contents[h.Name], err = io.ReadAll(tr); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkRecordedLogs decodes, parses and grades every log of logs-v1 and logs-v4 in each iteration.
func BenchmarkRecordedLogs(b *testing.B) {
	data, err := swebench.OpenDataset(testutil.Shared(b, "data/swebench"))
	if err != nil {
		b.Fatal(err)
	}
	logs := append(loadRecorded(b, data, "logs-v1"), loadRecorded(b, data, "logs-v4")...)
	total := 0
	for _, l := range logs {
		total += len(l.content)
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range logs {
			if _, err := grade.Log(l.spec, testlog.Decode(l.content), l.opt); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(logs)), "logs/op")
}

package feed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmihailenco/msgpack/v5"
)

func exportAll(tb testing.TB, x Exporter, groups ...[]Row) {
	tb.Helper()
	for _, g := range groups {
		if err := x.Write(g); err != nil {
			tb.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		tb.Fatal(err)
	}
}

func groupsOf(tb testing.TB, n, rows, prompt, tokens int) (out [][]Row) {
	tb.Helper()
	m := newMemory(n, rows, prompt, tokens)
	for g := range n {
		out = append(out, wantRows(tb, m, g))
	}
	return out
}

func TestExportedFilesReadBack(t *testing.T) {
	t.Parallel()
	h := &Header{Pass: *testPass()}
	rows := sparse(t)
	var lines, arrows, parquets bytes.Buffer
	exportAll(t, NewJSONL(&lines, h), rows[:4], rows[4:])
	dec := json.NewDecoder(&lines)
	for i := range rows {
		var got struct {
			Row
			Hash string `json:"config_hash"`
		}
		if err := dec.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows[i], got.Row, cmpopts.EquateEmpty()); diff != "" || got.Hash != h.ConfigHash {
			t.Errorf("JSONL row %d, hash %q: %s", i, got.Hash, diff)
		}
	}
	x, err := NewArrowFile(&arrows, h)
	if err != nil {
		t.Fatal(err)
	}
	exportAll(t, x, rows[:4], rows[4:])
	f, err := ipc.NewFileReader(bytes.NewReader(arrows.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var got []Row
	for i := range f.NumRecords() {
		rec, err := f.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		part, err := readRecord(rec)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, part...)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("Arrow: %s", diff)
	}
	if x, err = NewParquet(&parquets, h); err != nil {
		t.Fatal(err)
	}
	exportAll(t, x, rows[:4], rows[4:])
	if diff := cmp.Diff(rows, readParquet(t, parquets.Bytes())); diff != "" {
		t.Errorf("Parquet: %s", diff)
	}
}

func readParquet(tb testing.TB, raw []byte) (out []Row) {
	tb.Helper()
	pf, err := file.NewParquetReader(bytes.NewReader(raw))
	if err != nil {
		tb.Fatal(err)
	}
	r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
	if err != nil {
		tb.Fatal(err)
	}
	rr, err := r.GetRecordReader(tb.Context(), nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for rr.Next() {
		rec := rr.RecordBatch()
		rec.Retain()
		part, err := readRecord(rec)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, part...)
	}
	return out
}

func TestPrimeRLMicroBatches(t *testing.T) {
	t.Parallel()
	groups := groupsOf(t, 5, 3, 7, 4) // 15 rows of 11 tokens
	for _, c := range []struct{ ranks, seqLen, stepGroups, steps, perRank int }{
		{1, 11, 0, 1, 15}, {2, 11, 0, 1, 8}, {2, 25, 2, 3, 2}, {4, 1000, 0, 1, 1},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			x, err := NewPrimeRL(PrimeRLConfig{Dir: dir, Step: 7, Ranks: c.ranks, SeqLen: c.seqLen, StepGroups: c.stepGroups})
			if err != nil {
				t.Fatal(err)
			}
			exportAll(t, x, groups...)
			trained := 0
			for step := range c.steps {
				sizes := map[int]bool{}
				for rank := range c.ranks {
					path := filepath.Join(dir, "rollouts", fmt.Sprintf("step_%d", 7+step), fmt.Sprintf("rank_%d.bin", rank))
					list := readMicroBatches(t, path)
					sizes[len(list)] = true
					if step == 0 && len(list) != c.perRank {
						t.Errorf("%s: %d micro-batches, want %d", path, len(list), c.perRank)
					}
					for _, m := range list {
						trained += checkMicroBatch(t, m, c.seqLen)
					}
				}
				if len(sizes) != 1 {
					t.Errorf("step %d: ranks have different numbers of micro-batches: %v", step, sizes)
				}
			}
			if trained != 15*4 {
				t.Errorf("%d trained tokens, want %d", trained, 15*4)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "rollouts", "*", "*.tmp")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func readMicroBatches(tb testing.TB, path string) [][]any {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var list [][]any
	if err := msgpack.Unmarshal(raw, &list); err != nil {
		tb.Fatal(err)
	}
	return list
}

// checkMicroBatch checks the arrays by position, as prime-rl reads them, and counts the trained tokens.
func checkMicroBatch(tb testing.TB, m []any, seqLen int) (trained int) {
	tb.Helper()
	if len(m) != 9 {
		tb.Fatalf("%d fields, want 9", len(m))
	}
	n := len(m[0].([]any))
	if n > seqLen {
		tb.Errorf("%d tokens, a sequence takes %d", n, seqLen)
	}
	for _, i := range []int{1, 2, 3, 4, 6, 7} {
		if got := len(m[i].([]any)); got != n {
			tb.Errorf("field %d has %d values for %d tokens", i, got, n)
		}
	}
	sum := 0
	for _, v := range m[5].([]any) {
		size, err := strconv.Atoi(fmt.Sprint(v)) // msgpack has an integer type per size
		if err != nil {
			tb.Fatal(err)
		}
		sum += size
	}
	if sum != n || cmp.Diff(m[5], m[8]) != "" {
		tb.Errorf("sequence lengths %v and %v of %d tokens", m[5], m[8], n)
	}
	for i, v := range m[1].([]any) {
		adv, logp := m[2].([]any)[i].(float32), m[3].([]any)[i].(float32)
		position := i % 11
		switch on := v.(bool); {
		case on && position < 7:
			tb.Errorf("token %d of a prompt is trained", i)
		case on:
			trained++
		case position < 7 && (adv != 0 || logp != 0):
			tb.Errorf("token %d of a prompt has advantage %v", i, adv)
		case adv != 0:
			tb.Errorf("token %d is not trained and has advantage %v", i, adv)
		}
		if got := m[4].([]any)[i]; fmt.Sprint(got) != fmt.Sprint(position) {
			tb.Errorf("token %d is at position %v", i, got)
		}
		if m[7].([]any)[i] != "alfworld" {
			tb.Errorf("environment %v", m[7].([]any)[i])
		}
	}
	return trained
}

func TestPrimeRLRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []PrimeRLConfig{{}, {Dir: "x", Ranks: 0, SeqLen: 1}, {Dir: "x", Ranks: 1}, {Dir: "x", Ranks: 1, SeqLen: 1, Step: -1}} {
		if _, err := NewPrimeRL(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	x, err := NewPrimeRL(PrimeRLConfig{Dir: t.TempDir(), Ranks: 1, SeqLen: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Write(groupsOf(t, 1, 1, 7, 4)[0]); err == nil {
		t.Error("a row of 11 tokens went into sequences of 10")
	}
	rows := sparse(t)
	for _, i := range []int{3, 4, 5} {
		if err := x.Write(rows[i : i+1]); !errors.Is(err, ErrColumn) {
			t.Errorf("row %d: %v", i, err)
		}
	}
}

func TestRLLMEpisodes(t *testing.T) {
	t.Parallel()
	groups := groupsOf(t, 2, 10, 3, 4) // two episodes of five steps each
	for i := range groups[0] {
		groups[0][i].Stop = "max_steps"
	}
	var buf bytes.Buffer
	exportAll(t, NewRLLM(&buf, &Header{Pass: *testPass()}), groups...)
	sc, n := bufio.NewScanner(&buf), 0
	sc.Buffer(nil, 1<<20)
	for ; sc.Scan(); n++ {
		var e rllmEpisode
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		rows := groups[n/2][5*(n%2):]
		if want := fmt.Sprintf("%s:%d", rows[0].Task, n%2); e.ID != want || len(e.Traj) != 1 || len(e.Traj[0].Steps) != 5 {
			t.Fatalf("episode %+v, want id %s", e, want)
		}
		if want := []string{"max_turns_exceeded", "unknown"}[n/2]; e.Termination != want {
			t.Errorf("termination %q, want %q", e.Termination, want)
		}
		for i, s := range e.Traj[0].Steps {
			if diff := cmp.Diff(rows[i].Advantages, s.Advantage) + cmp.Diff(rows[i].Logprobs, s.Logprobs) + cmp.Diff(rows[i].ResponseIDs, s.ResponseIDs); diff != "" {
				t.Errorf("step %d: %s", i, diff)
			}
			if s.Done != (i == 4) || *s.WeightVersion != rows[i].Versions[0] {
				t.Errorf("step %d: %+v", i, s)
			}
		}
	}
	if n != 4 {
		t.Errorf("%d episodes, want 4", n)
	}
	if err := NewRLLM(&buf, &Header{}).Write(sparse(t)[3:4]); !errors.Is(err, ErrColumn) {
		t.Errorf("a row without advantages: %v", err)
	}
}

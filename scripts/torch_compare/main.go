// Command torch_compare times SERL's token weights here and in PyTorch, side by side, in one run and on
// the same numbers, and compares the results. It needs a Python with torch: python3 -m venv DIR,
// DIR/bin/pip install torch, then
//
//	go run ./scripts/torch_compare -python DIR/bin/python
//
// Both run on one thread. Each time is the best of several passes over the same arrays.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/hindsightrl/harness/credit"
)

//go:embed serl.py
var script []byte

func main() {
	python := flag.String("python", "python3", "a Python that has torch")
	rows := flag.Int("rows", 2048, "rows")
	tokens := flag.Int("tokens", 512, "tokens a row, of which a tenth is the action")
	passes := flag.Int("passes", 20, "passes, of which the best counts")
	flag.Parse()
	if err := run(*python, *rows, *tokens, *passes); err != nil {
		fmt.Fprintln(os.Stderr, "torch_compare:", err)
		os.Exit(1)
	}
}

// batch is what both sides compute from.
type batch struct {
	rows, tokens          int
	student, teacher, out []float32
	advantage             []float32
	spans                 []credit.Span
	mask                  []byte
}

func newBatch(rows, tokens int) *batch {
	r := rand.New(rand.NewPCG(1, 2))
	b := &batch{
		rows: rows, tokens: tokens, student: make([]float32, rows*tokens), teacher: make([]float32, rows*tokens),
		out: make([]float32, rows*tokens), advantage: make([]float32, rows), spans: make([]credit.Span, rows), mask: make([]byte, rows*tokens),
	}
	for i := range b.student {
		b.student[i] = -float32(r.ExpFloat64())
		b.teacher[i] = b.student[i] + float32(0.3*r.NormFloat64())
	}
	for i := range rows {
		b.advantage[i] = float32(r.NormFloat64())
		start := r.IntN(tokens - tokens/10)
		b.spans[i] = credit.Span{Start: start, End: start + tokens/10}
		for j := b.spans[i].Start; j < b.spans[i].End; j++ {
			b.mask[i*tokens+j] = 1
		}
	}
	return b
}

func run(python string, rows, tokens, passes int) error {
	if rows < 1 || tokens < 10 || passes < 1 {
		return errors.New("want 1 row, 10 tokens and 1 pass at least")
	}
	runtime.GOMAXPROCS(1)
	b := newBatch(rows, tokens)
	theirs, err := torch(python, b, passes)
	if err != nil {
		return err
	}
	here := map[string]float64{}
	scratch := make([]float32, len(b.out))
	here["copy"] = b.rate(passes, func() error {
		for i := 0; i < len(b.student); i += tokens {
			copy(scratch[i:i+tokens], b.student[i:i+tokens])
		}
		return nil
	})
	fused := b.fusionRows()
	for name, cfg := range map[string]credit.FusionConfig{"serl": credit.DefaultFusion(), "aem+serl": withAEM()} {
		var failed error
		here[name] = b.rate(passes, func() error {
			if _, err := credit.Fuse(fused, cfg); err != nil {
				failed = err
			}
			return failed
		})
		if failed != nil {
			return failed
		}
		worst, err := b.worst(theirs.results[name])
		if err != nil {
			return err
		}
		theirs.worst[name] = worst
	}
	b.print(here, theirs)
	return nil
}

func withAEM() credit.FusionConfig {
	c := credit.DefaultFusion()
	c.Response = credit.ResponseAEM
	return c
}

// entropy is a row's H̄: any number will do, so long as both sides have the same.
func entropy(row int) float64 { return float64(float32(0.2 + 0.1*float64(row%13))) }

func (b *batch) fusionRows() []credit.Row[float32] {
	out := make([]credit.Row[float32], b.rows)
	for i := range out {
		lo, hi := i*b.tokens, (i+1)*b.tokens
		out[i] = credit.Row[float32]{
			Group: i / 8, Advantage: float64(b.advantage[i]), Entropy: credit.Exact(entropy(i)), Context: true,
			Student: b.student[lo:hi], Teacher: b.teacher[lo:hi], Action: b.spans[i : i+1], Out: b.out[lo:hi],
		}
	}
	return out
}

// rate is the best number of tokens a second.
func (b *batch) rate(passes int, f func() error) float64 {
	best := math.Inf(1)
	for range passes + 1 {
		start := time.Now()
		if f() != nil {
			return 0
		}
		best = min(best, time.Since(start).Seconds())
	}
	return float64(b.rows*b.tokens) / best
}

// answer is what the script prints and leaves.
type answer struct {
	Torch   string             `json:"torch"`
	Rates   map[string]float64 `json:"rates"` // tokens a second
	results map[string][]float32
	worst   map[string]float64
}

// torch hands the batch to Python and reads its results.
func torch(python string, b *batch, passes int) (_ *answer, err error) {
	dir, err := os.MkdirTemp("", "torch-compare-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	entropies := make([]float32, b.rows)
	for i := range entropies {
		entropies[i] = float32(entropy(i))
	}
	files := map[string]any{"student": b.student, "teacher": b.teacher, "advantage": b.advantage, "entropy": entropies, "mask": b.mask}
	for name, data := range files {
		var buf bytes.Buffer
		if err := binary.Write(&buf, binary.LittleEndian, data); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".bin"), buf.Bytes(), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(context.Background(), python, "-W", "ignore", "-", dir, strconv.Itoa(b.rows), strconv.Itoa(b.tokens), strconv.Itoa(passes))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(script), os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s with torch: %w", python, err)
	}
	a := &answer{results: map[string][]float32{}, worst: map[string]float64{}}
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, fmt.Errorf("read the script's answer: %w", err)
	}
	for _, name := range []string{"serl", "aem+serl"} {
		data, err := os.ReadFile(filepath.Join(dir, name+".out"))
		if err != nil {
			return nil, err
		}
		out := make([]float32, len(data)/4)
		if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, out); err != nil {
			return nil, err
		}
		a.results[name] = out
	}
	return a, nil
}

// worst is the largest relative difference between torch's result and the one in b.out.
func (b *batch) worst(theirs []float32) (float64, error) {
	if len(theirs) != len(b.out) {
		return 0, fmt.Errorf("torch gave %d tokens, want %d", len(theirs), len(b.out))
	}
	worst := 0.0
	for i, v := range b.out {
		worst = max(worst, math.Abs(float64(v)-float64(theirs[i]))/max(math.Abs(float64(v)), 1e-30))
	}
	return worst, nil
}

func (b *batch) print(here map[string]float64, theirs *answer) {
	fmt.Fprintf(os.Stdout, "%d rows of %d tokens, %d of them action; one thread each; torch %s, %s\n\n", b.rows, b.tokens, b.tokens/10, theirs.Torch, runtime.Version())
	fmt.Fprintln(os.Stdout, "| million tokens/s | torch | here | ratio | largest relative difference |")
	fmt.Fprintln(os.Stdout, "|---|---|---|---|---|")
	for _, name := range []string{"copy", "serl", "aem+serl"} {
		diff := "-"
		if w, ok := theirs.worst[name]; ok {
			diff = fmt.Sprintf("%.1e", w)
		}
		fmt.Fprintf(os.Stdout, "| %s | %.0f | %.0f | %.1f | %s |\n", name, theirs.Rates[name]/1e6, here[name]/1e6, here[name]/theirs.Rates[name], diff)
	}
}

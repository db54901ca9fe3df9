//go:build e2e

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/llm/llmtest"
	"github.com/hindsightrl/harness/store"
)

// TestRealModelPlays lets SmolLM2-135M-Instruct play ALFWorld in this process. It is too small to keep the
// format; every token column of every step is filled all the same, and fits.
func TestRealModelPlays(t *testing.T) {
	model := llmtest.SmolLM2(t)
	lib, err := findGGUF(os.Getenv("HARNESS_LLAMA_LIB"))
	if err != nil {
		t.Skipf("%v: %s (or set HARNESS_LLAMA_LIB)", err, errext.Hint(err))
	}
	path := filepath.Join(t.TempDir(), "smol.db")
	began := time.Now()
	code, out, stderr := inMemory(never(t), nil, "rollout", "--db", path, "--name", "smol", "--policy", "gguf:"+model, "--library", lib,
		"--tasks", "2", "--group", "1", "--max-steps", "3", "--max-tokens", "48", "--context", "2048", "--seed", "1", "--quiet")
	t.Logf("%s after %s\n%s", out, time.Since(began).Round(time.Second), stderr)
	if code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	db, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	steps := recordedSteps(t, db, "smol")
	if len(steps) == 0 {
		t.Fatal("no steps")
	}
	for _, s := range steps {
		t.Logf("step %d, valid %v: %q", s.Index, s.Valid, s.Response)
		everyColumn(t, &s)
	}
}

// everyColumn checks that a step of a model with all logits at hand has every token column, with
// numbers that can be what they are said to be.
func everyColumn(t *testing.T, s *harness.Step) {
	t.Helper()
	tok := s.Tokens
	if tok == nil || len(tok.IDs) == 0 || len(tok.PromptIDs) == 0 {
		t.Fatalf("step %d has no tokens", s.Index)
	}
	n := len(tok.IDs)
	for name, got := range map[string]int{
		"logprobs": len(tok.Logprobs), "entropies": len(tok.Entropies), "versions": len(tok.Versions), "lengths": len(tok.Lengths),
	} {
		if got != n {
			t.Errorf("step %d: %d %s for %d tokens", s.Index, got, name, n)
		}
	}
	if tok.EntropyLow != nil || tok.EntropyHigh != nil || tok.TopK != 0 {
		t.Errorf("step %d: exact entropies have bounds", s.Index)
	}
	for i := range n {
		if !(tok.Logprobs[i] <= 0 && tok.Logprobs[i] > -40) || !(tok.Entropies[i] >= 0 && tok.Entropies[i] < 11) { // ln 49152 = 10.8
			t.Errorf("step %d, token %d: log-probability %g, entropy %g", s.Index, i, tok.Logprobs[i], tok.Entropies[i])
		}
	}
	if _, err := tok.Spans(s.Response); err != nil {
		t.Errorf("step %d: %v", s.Index, err)
	}
	if m := tok.Meta; m == nil || m.Engine != "llama.cpp" || m.Mode != "raw" || m.Version == "" {
		t.Errorf("step %d: meta %+v", s.Index, m)
	}
}

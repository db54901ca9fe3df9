package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
)

// The corpus in the repository is what the experts do on the panel with the agent's prompts of today.
func TestCorpusIsUpToDate(t *testing.T) {
	if testing.Short() {
		t.Skip("plays the whole panel")
	}
	t.Parallel()
	name := filepath.Join(t.TempDir(), "corpus.jsonl.gz")
	if err := run(context.Background(), name, households, orders, repeats); err != nil {
		t.Fatal(err)
	}
	got, want := read(t, name), read(t, "../corpus.jsonl.gz")
	if len(got) != len(want) {
		t.Fatalf("recording gives %d transcripts, the corpus has %d: run go generate ./llm/refmodel", len(got), len(want))
	}
	for i := range got {
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Fatalf("transcript %d differs, run go generate ./llm/refmodel:\n%s", i, diff)
		}
	}
}

func read(t *testing.T, name string) []prime.Transcript {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := prime.ReadCorpus(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// Every recorded page tells its setting by what it offers, and its command is offered or fills the blank.
func TestRecordedVisits(t *testing.T) {
	t.Parallel()
	ts, err := recordShop(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for i, tr := range ts {
		kinds[tr.Offers]++
		if !strings.Contains(tr.Prompt, "'"+tr.Action+"',") && !strings.HasPrefix(tr.Action, "search[") {
			t.Errorf("transcript %d: %q is not offered in\n%s", i, tr.Action, tr.Prompt)
		}
	}
	if kinds[""] > 0 || len(kinds) != len(offers) {
		t.Errorf("kinds of pages %v, want each of %q", kinds, offers)
	}
}

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
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
	if err := run(context.Background(), name, households, shops, repeats); err != nil {
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

// A shopping session has one transcript per page, and its command is among the page's or fills the blank.
func TestShopSessions(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		ts := playShop(seed)
		if len(ts) != 5 || ts[4].Action != "click[buy now]" {
			t.Fatalf("session %d has %d steps and ends with %q", seed, len(ts), ts[len(ts)-1].Action)
		}
		for i, tr := range ts[1:] {
			if !bytes.Contains([]byte(tr.Prompt), []byte("'"+tr.Action+"',")) {
				t.Errorf("session %d, step %d: %q is not offered in\n%s", seed, i+1, tr.Action, tr.Prompt)
			}
		}
	}
}

package search_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/search"
	"github.com/hindsightrl/harness/internal/pystr"
	"github.com/hindsightrl/harness/internal/testutil"
)

// lines decodes a gzipped JSONL file of the reference.
func lines[T any](tb testing.TB, name string) []T {
	tb.Helper()
	f, err := os.Open(testutil.Shared(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	var out []T
	sc := bufio.NewScanner(zr)
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			tb.Fatal(err)
		}
		out = append(out, v)
	}
	if err := sc.Err(); err != nil {
		tb.Fatal(err)
	}
	return out
}

func open(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	c, err := catalog.Open(tb.Context(), testutil.Shared(tb, "data/webshop"), catalog.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func contents(tb testing.TB, c *catalog.Catalog, i int) string {
	tb.Helper()
	d, err := c.Details(i)
	if err != nil {
		tb.Fatal(err)
	}
	return pystr.Lower(c.Products[i].Contents(d))
}

// Every term of every document, as Lucene indexed it.
func TestTermsEqualLucenes(t *testing.T) {
	t.Parallel()
	c := open(t)
	bad := 0
	docs := lines[struct {
		ID     string
		Tokens []string
	}](t, "truth/webshop/analyzer_docs.jsonl.gz")
	for _, d := range docs {
		got := search.Analyze(contents(t, c, c.Index(d.ID)))
		if slices.Equal(got, d.Tokens) {
			continue
		}
		bad++
		for i := range max(len(got), len(d.Tokens)) {
			if i >= len(got) || i >= len(d.Tokens) || got[i] != d.Tokens[i] {
				lo := max(0, i-2)
				t.Errorf("%s term %d: got %q, want %q", d.ID, i, got[min(lo, len(got)):min(i+3, len(got))], d.Tokens[min(lo, len(d.Tokens)):min(i+3, len(d.Tokens))])
				break
			}
		}
		if bad > 15 {
			t.FailNow()
		}
	}
	if len(docs) == 0 {
		t.Fatal("no documents")
	}
}

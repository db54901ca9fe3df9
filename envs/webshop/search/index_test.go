package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/search"
)

func build(tb testing.TB, c *catalog.Catalog) *search.Index {
	tb.Helper()
	b := search.NewBuilder()
	for i := range c.Products {
		b.Add(c.Products[i].ASIN, b.Prepare(contents(tb, c, i)))
	}
	return b.Index()
}

type recorded struct {
	Query  string
	Tokens []string
	Hits   [][2]any
}

// Every recorded query: terms, order and bits of score.
func TestRankingEqualsLucenes(t *testing.T) {
	t.Parallel()
	c := open(t)
	x := build(t, c)
	queries := lines[recorded](t, "truth/webshop/bm25_1k_docid_ties.jsonl.gz")
	for _, q := range queries {
		if got := search.Analyze(q.Query); !slices.Equal(got, q.Tokens) {
			t.Errorf("query %q: terms %q, want %q", q.Query, got, q.Tokens)
		}
		hits := x.Search(q.Query, 50, search.ByID)
		if len(hits) != len(q.Hits) {
			t.Errorf("query %q: %d hits, want %d", q.Query, len(hits), len(q.Hits))
			continue
		}
		for i, h := range hits {
			if asin := c.Products[h.Doc].ASIN; asin != q.Hits[i][0] || h.Score != float32(q.Hits[i][1].(float64)) {
				t.Errorf("query %q hit %d: %s %v, want %v", q.Query, i, asin, h.Score, q.Hits[i])
				break
			}
		}
	}
	if len(queries) == 0 {
		t.Fatal("no queries")
	}
}

// naive scores every document with every term.
func naive(docs [][]string, ids []string, query string, k int, ties search.Ties) []search.Hit {
	b := search.NewBuilder()
	for i, d := range docs {
		b.Add(ids[i], b.Prepare(strings.Join(d, " ")))
	}
	all := b.Index().Search(query, len(docs), ties) // a heap of all never prunes
	return all[:min(k, len(all))]
}

// Leaving out what cannot reach the best changes nothing.
func TestPruningChangesNothing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	word := func() string { return fmt.Sprintf("w%d", int(r.ExpFloat64()*40)) }
	docs, ids := make([][]string, 20_000), make([]string, 20_000)
	b := search.NewBuilder()
	for i := range docs {
		for range 3 + r.IntN(30) {
			docs[i] = append(docs[i], word())
		}
		ids[i] = fmt.Sprintf("B%09d", r.IntN(1e9))
		b.Add(ids[i], b.Prepare(strings.Join(docs[i], " ")))
	}
	x := b.Index()
	for range 5 {
		var words []string
		for range 1 + r.IntN(8) {
			words = append(words, word())
		}
		query := strings.Join(words, " ")
		for _, ties := range []search.Ties{search.ByID, search.ByIndex} {
			if got, want := x.Search(query, 50, ties), naive(docs, ids, query, 50, ties); !slices.Equal(got, want) {
				t.Fatalf("seed %d, query %q, ties %s:\n got %v\nwant %v", seed, query, ties, got, want)
			}
		}
	}
}

func TestQueriesWithoutTerms(t *testing.T) {
	t.Parallel()
	b := search.NewBuilder()
	b.Add("B1", b.Prepare("a red shoe"))
	x := b.Index()
	for _, q := range []string{"", "the of and", "unknown", "((.*", "\x00\xff", "   "} {
		if hits := x.Search(q, 50, search.ByID); len(hits) != 0 {
			t.Errorf("query %q finds %v", q, hits)
		}
	}
	if hits := x.Search(strings.Repeat("red ", 1<<18), 50, search.ByID); len(hits) != 1 {
		t.Errorf("a megabyte of one word finds %v", hits)
	}
	if hits := search.NewBuilder().Index().Search("red", 50, search.ByID); len(hits) != 0 {
		t.Errorf("an empty index finds %v", hits)
	}
}

// A word that occurs more often than a posting has room for keeps its count.
func TestCountsWithoutBound(t *testing.T) {
	t.Parallel()
	b := search.NewBuilder()
	for i, n := range []int{70_000, 80_000, 3} {
		b.Add(fmt.Sprint(i), b.Prepare(strings.Repeat("red ", n)+strings.Repeat("blue ", 80_000-n)))
	}
	b.Add("3", b.Prepare("green"))
	if hits := b.Index().Search("red", 3, search.ByIndex); len(hits) != 3 || hits[0].Doc != 1 || hits[1].Doc != 0 {
		t.Errorf("got %v, want 1, 0, 2", hits)
	}
}

func FuzzSearch(f *testing.F) {
	for _, q := range []string{"red shoe", "3/4 (x)", "日本語 ❤️👨‍💼 it's", "a_b __ 1,000.5", "สวัสดี", "\xf0\x9f", "#️⃣1⃣"} {
		f.Add(q)
	}
	b := search.NewBuilder()
	b.Add("B1", b.Prepare("red shoes ❤️ 1,000.5 日本語"))
	x := b.Index()
	f.Fuzz(func(t *testing.T, q string) {
		for _, term := range search.Analyze(q) {
			if term == "" {
				t.Fatalf("%q has an empty term", q)
			}
		}
		if n := len(x.Search(q, 50, search.ByID)); n > 1 {
			t.Fatalf("%q finds %d of 1", q, n)
		}
	})
}

func BenchmarkSearch1000(b *testing.B) {
	x := build(b, open(b))
	queries := lines[recorded](b, "truth/webshop/bm25_1k_docid_ties.jsonl.gz")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		x.Search(queries[i%len(queries)].Query, 50, search.ByID)
		i++
	}
}

package catalog_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/internal/testutil"
)

func open(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	c, err := catalog.Open(tb.Context(), testutil.Shared(tb, "data/webshop"), catalog.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// goalFile is what a truth file was made with.
type goalFile struct {
	file    string
	variant catalog.Variant
	human   bool
	seed    int64
}

var worlds = []goalFile{
	{"sw_human_seed42", catalog.SERL, true, 42},
	{"sw_synth_seed0", catalog.SERL, false, 0},
	{"ws_human_seed0", catalog.Princeton, true, 0},
	{"ws_synth_seed0", catalog.Princeton, false, 0},
}

func (f goalFile) world(tb testing.TB, c *catalog.Catalog) *catalog.World {
	tb.Helper()
	w, err := catalog.NewWorld(c, catalog.WorldConfig{Variant: f.variant, Seed: f.seed, Human: f.human})
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// Every goal of the original, in its order: text, limit, options and weight.
func TestGoalsEqualTheOriginals(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, f := range worlds {
		t.Run(f.file, func(t *testing.T) {
			t.Parallel()
			file, err := os.Open(testutil.Shared(t, "truth/webshop/goals_"+f.file+".jsonl.gz"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			zr, err := gzip.NewReader(file)
			if err != nil {
				t.Fatal(err)
			}
			w := f.world(t, c)
			dec := json.NewDecoder(zr)
			n := 0
			for ; ; n++ {
				var want struct {
					ASIN        string
					Instruction string `json:"instruction_text"`
					Attributes  []string
					PriceUpper  float64         `json:"price_upper"`
					Options     json.RawMessage `json:"goal_options"`
					Weight      float64
				}
				if err := dec.Decode(&want); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				g := w.At(n)
				if g.ASIN != want.ASIN || g.Instruction != want.Instruction || g.PriceUpper != want.PriceUpper || g.Weight != want.Weight ||
					!slices.Equal(g.Attributes, want.Attributes) || py.JSON(g.OptionValue()) != string(want.Options) {
					t.Fatalf("goal %d:\n got %+v\nwant %+v %s", n, g, want, want.Options)
				}
			}
			if n != w.Len() {
				t.Errorf("%d goals, the original has %d", w.Len(), n)
			}
		})
	}
}

// All prices, and the next sessions and goals that resets draw.
func TestPricesAndDrawsEqualTheOriginals(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, f := range worlds {
		t.Run(f.file, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(testutil.Shared(t, "truth/webshop/prices_draws_"+f.file+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Prices map[string]float64
				Draws  [][2]any `json:"next_reset_draws"`
				N      int
			}
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			w := f.world(t, c)
			if w.Len() != want.N || len(c.Products) != len(want.Prices) {
				t.Errorf("%d goals and %d prices, want %d and %d", w.Len(), len(c.Products), want.N, len(want.Prices))
			}
			for i, p := range c.Products {
				if w.Prices[i] != want.Prices[p.ASIN] {
					t.Errorf("%s costs %v, want %v", p.ASIN, w.Prices[i], want.Prices[p.ASIN])
				}
			}
			for _, d := range want.Draws {
				if session := catalog.Session(w.Rand); session != d[0] {
					t.Errorf("session %s, want %v", session, d[0])
				}
				if i := w.Draw(w.Rand); float64(i) != d[1] {
					t.Errorf("goal %d, want %v", i, d[1])
				}
			}
		})
	}
}

func BenchmarkOpen1000(b *testing.B) {
	dir := testutil.Shared(b, "data/webshop")
	for b.Loop() {
		c, err := catalog.Open(b.Context(), dir, catalog.Config{})
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}

package catalog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/internal/errext"
)

// record is a product with fields replaced or, where the value is empty, left out.
func record(fields ...string) string {
	base := []string{
		"asin", `"B000000001"`, "name", `"A pan"`, "full_description", `"For frying"`, "small_description", `["iron", "black"]`, "images", `["a.jpg", "b.jpg"]`,
		"category", `"kitchen"`, "query", `" Pans "`, "product_category", `"Kitchen › Pans"`, "customization_options", `""`, "pricing", `"$10.00"`, "brand", `{"x": [1]}`,
	}
	var parts []string
	for i := 0; i < len(base); i += 2 {
		value := base[i+1]
		if k := slices.Index(fields, base[i]); k >= 0 {
			value = fields[k+1]
		}
		if value != "" {
			parts = append(parts, `"`+base[i]+`": `+value)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func load(t *testing.T, products string, cfg catalog.Config) (*catalog.Catalog, error) {
	t.Helper()
	return catalog.Load(t.Context(), catalog.Files{
		Products:   strings.NewReader(products),
		Attributes: strings.NewReader(`{"B000000001": {"attributes": ["non stick"], "instruction": "a pan", "instruction_attributes": ["non stick"]}}`),
		Human:      strings.NewReader(`{"B000000001": [{"instruction": "I want a pan..", "instruction_attributes": ["non stick"], "instruction_options": ["large"]}]}`),
	}, cfg)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	c, err := load(t, "["+record("customization_options", `{"Size": [{"value": " Large / XL ", "image": "c.jpg"}, {"value": "small"}], "none": null, "Color": []}`)+
		","+record("name", `"again"`)+ // a duplicate id
		","+record("asin", `"B0000000012"`)+","+record("asin", `"nan"`)+ // too long; no id
		","+record("asin", `"B000000002"`, "small_description", `"one text"`, "pricing", "null")+"]", catalog.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Products) != 2 || c.Index("B000000002") != 1 || c.Index("B0000000012") != -1 {
		t.Fatalf("products %+v", c.Products)
	}
	p := c.Products[0]
	d, err := c.Details(0)
	if err != nil {
		t.Fatal(err)
	}
	if p.Title != "A pan" || p.Query != "pans" || p.MainImage != "a.jpg" || p.Price != "$10.0" || len(p.Options) != 2 ||
		p.Options[0].Name != "size" || !slices.Equal(p.Options[0].Values, []string{"large  |  xl", "small"}) || len(p.Human) != 1 {
		t.Errorf("product %+v", p)
	}
	if v, ok := d.Images.Get("large  |  xl"); !ok || v != "c.jpg" {
		t.Errorf("images %+v", d.Images)
	}
	if q := c.Products[1]; q.Price != "$100.0" || !slices.Equal(q.Attributes, []string{"DUMMY_ATTR"}) || q.Instruction != nil {
		t.Errorf("product %+v", q)
	}
	if got, want := p.Contents(d), "A pan For frying iron size: large  |  xl, small, and color: "; got != want {
		t.Errorf("contents %q, want %q", got, want)
	}
	// An option without values has no combination, so the product has no synthetic goal.
	if _, err := catalog.NewWorld(c, catalog.WorldConfig{Variant: catalog.SERL}); err == nil || !strings.Contains(err.Error(), "no goals") {
		t.Errorf("goals of a product that cannot be bought whole: %v", err)
	}
	w, err := catalog.NewWorld(c, catalog.WorldConfig{Variant: catalog.SERL, Human: true})
	if err != nil {
		t.Fatal(err)
	}
	if g := w.At(0); !strings.HasPrefix(g.Instruction, "I want a pan, and price lower than ") {
		t.Errorf("goal %+v", g)
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	for pricing, want := range map[string]string{
		`""`: "$100.0", `"$5"`: "$5.0", `"$1,299.50"`: "$1299.5", `"$10.00$20.50"`: "$10.0 to $20.5", `"$3 - $2 - $1"`: "$3.0 to $2.0", `"US $7.10 each"`: "$7.1", `12`: "$100.0",
	} {
		c, err := load(t, "["+record("pricing", pricing)+"]", catalog.Config{})
		if err != nil {
			t.Errorf("%s: %v", pricing, err)
			continue
		}
		if got := c.Products[0].Price; got != want {
			t.Errorf("%s: %s, want %s", pricing, got, want)
		}
	}
}

func TestBadProducts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"[" + record() + `, {"asin": "B2", "name": "cut`:                        "record 1",
		"[" + record() + `, {"asin": "B2" "name": 1}]`:                          "record 1, at byte",
		"[" + record() + " " + record() + "]":                                   "in element 1",
		"[" + record("name", "") + "]":                                          `no field "name"`,
		"[" + record("name", "5") + "]":                                         `field "name"`,
		"[" + record("images", "[]") + "]":                                      `field "images": an empty list`,
		"[" + record("small_description", "[]") + "]":                           "an empty list",
		"[" + record("pricing", `"12.50"`) + "]":                                "has no dollar sign",
		"[" + record("pricing", `"$1.2.3"`) + "]":                               "is no amount",
		"[" + record("pricing", `"$free"`) + "]":                                "is no amount",
		"[" + record("customization_options", `{"Size": [{"image": 1}]}`) + "]": "a choice without a value",
		"[]":                                "holds none",
		"":                                  "unexpected EOF",
		`{"not": "a list"}`:                 "record 0",
		"[" + record("asin", `"nan"`) + "]": "holds none",
	} {
		if in == "["+record()+`, {"asin": "B2", "name": "cut` {
			want = "unexpected EOF"
		}
		if _, err := load(t, in, catalog.Config{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", in, err, want)
		}
	}
}

func TestLimitAndCancel(t *testing.T) {
	t.Parallel()
	many := "[" + record() + "," + record("asin", `"B000000002"`) + "," + record("asin", `"B000000003"`) + "]"
	c, err := load(t, many, catalog.Config{Limit: 2})
	if err != nil || len(c.Products) != 2 {
		t.Errorf("limit of 2: %v, %v", c, err)
	}
	all, err := load(t, many, catalog.Config{})
	if err != nil || all.Digest != c.Digest {
		t.Errorf("the digest of the file depends on the limit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := catalog.Load(ctx, catalog.Files{Products: strings.NewReader(many)}, catalog.Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
}

// Long texts of a large file are read from it when they are asked for.
func TestDetailsFromTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "items_shuffle.json")
	write := func(description string) {
		t.Helper()
		text := "[" + record("asin", `"B000000009"`) + "," + record("full_description", `"`+description+`"`) + "]"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("For frying")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := catalog.Load(t.Context(), catalog.Files{Products: f}, catalog.Config{Size: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if d, err := c.Details(1); err != nil || d.Description != "For frying" || len(d.Bullets) != 2 {
			t.Errorf("details %+v, %v", d, err)
		}
	}
	write("Shorter and so elsewhere")
	if _, err := c.Details(0); err != nil {
		t.Errorf("a record that is where it was: %v", err)
	}
	if err := os.WriteFile(file, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Details(1); err == nil {
		t.Error("a file that was emptied gives no error")
	}
}

func TestOpenWhatIsNotThere(t *testing.T) {
	t.Parallel()
	empty, two := t.TempDir(), t.TempDir()
	for _, n := range []string{"items_shuffle.json", "items_shuffle_9.json"} {
		if err := os.WriteFile(filepath.Join(two, n), []byte("[]"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{filepath.Join(empty, "absent"): "no such file", empty: "holds no items_shuffle", two: "several product files", filepath.Join(two, "items_shuffle.json"): "open attributes"} {
		_, err := catalog.Open(t.Context(), name, catalog.Config{})
		if err == nil || !strings.Contains(err.Error(), want) || errext.Hint(err) == "" {
			t.Errorf("open %s: %v, hint %q, want %q", name, err, errext.Hint(err), want)
		}
	}
}

func TestFilterAndLimitOfGoals(t *testing.T) {
	t.Parallel()
	c := open(t)
	base := catalog.WorldConfig{Variant: catalog.SERL, Seed: 7}
	cfg := base
	cfg.Filter = func(i int, g catalog.Goal) bool { return len(g.Options) == 0 }
	w, err := catalog.NewWorld(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Len() {
		if g := w.At(i); len(g.Options) > 0 {
			t.Fatalf("goal %+v passed the filter", g)
		}
	}
	cfg = base
	cfg.Limit = 20
	if w, err = catalog.NewWorld(c, cfg); err != nil || w.Len() != 20 {
		t.Errorf("limit of 20: %v", err)
	}
	cfg.Filter = func(int, catalog.Goal) bool { return false }
	if _, err := catalog.NewWorld(c, cfg); err == nil {
		t.Error("a filter that keeps nothing gives no error")
	}
}

func FuzzProducts(f *testing.F) {
	f.Add("[" + record() + "]")
	f.Add("[" + record("customization_options", `{"Size": [{"value": "a"}], "Size": [{"value": "b"}]}`, "pricing", `"$1$2"`) + "," + record("asin", `"x"`) + "]")
	f.Add(`[{"asin": "B", "name": "\ud800"`)
	f.Fuzz(func(t *testing.T, s string) {
		c, err := catalog.Load(t.Context(), catalog.Files{Products: strings.NewReader(s)}, catalog.Config{})
		if err != nil {
			return
		}
		for i := range c.Products {
			p := &c.Products[i]
			if d, err := c.Details(i); err != nil || len(d.Bullets) == 0 || len(p.Pricing) == 0 || len(p.ASIN) > 40 {
				t.Fatalf("product %+v (%v)", p, err)
			}
		}
	})
}

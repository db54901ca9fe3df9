package page_test

import (
	"html"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/page"
	"github.com/hindsightrl/harness/internal/pystr"
)

// nowhere makes addresses.
type nowhere struct{}

func (nowhere) Index() string                      { return "/s?a=<1>&b='2'" }
func (nowhere) Results(int) string                 { return "/r" }
func (nowhere) Back() string                       { return "/b" }
func (nowhere) Item(asin string, d py.Dict) string { return "/i/" + asin + py.Repr(d) }
func (nowhere) Sub(name string) string             { return "/u/" + name }
func (nowhere) Done() string                       { return "/d" }

var (
	hiddenParts = regexp.MustCompile(`(?s)<!--.*?-->|<head>.*?</head>|<script.*?</script>|<!DOCTYPE[^>]*>`)
	tag         = regexp.MustCompile(`</?[a-z0-9]+[^>]*>`)
)

// plain finds the text nodes of the HTML as BeautifulSoup does, the slow way.
func plain(source string) string {
	var parts []string
	source = hiddenParts.ReplaceAllString(source, "")
	pre := false
	at := 0
	node := func(text string) {
		text = html.UnescapeString(text)
		if text == "" {
			return
		}
		if strings.Trim(text, " \n\t\f\r") == "" && !pre {
			if strings.Contains(text, "\n") {
				return
			}
			text = " "
		}
		parts = append(parts, pystr.Strip(text))
	}
	for _, m := range tag.FindAllStringIndex(source, -1) {
		node(source[at:m[0]])
		switch source[m[0]:m[1]] {
		case "<pre>":
			pre = true
		case "</pre>":
			pre = false
		}
		at = m[1]
	}
	return strings.Join(parts, page.Separator)
}

var strange = []string{"", " ", "\n", "\u00a0", "a", "Word", "<b>bold</b>", "it's", `28" x`, "&amp;", "&lt;", "\t\n", "é😀", "</h4>", "x\u2003", "--><script>", "%2B+/"}

func text(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(4) {
		b.WriteString(strange[r.IntN(len(strange))])
	}
	return b.String()
}

func list(r *rand.Rand) []string {
	out := []string{}
	for range r.IntN(4) {
		out = append(out, text(r))
	}
	return out
}

func product(r *rand.Rand) *catalog.Product {
	p := &catalog.Product{
		ASIN: "B00000000" + string(rune('0'+r.IntN(10))), Category: text(r), Query: text(r), ProductCategory: text(r), Title: text(r), Price: "$10.0",
		MainImage: text(r), Attributes: list(r),
	}
	for range r.IntN(3) {
		p.Options = append(p.Options, catalog.Option{Name: text(r), Values: list(r)})
	}
	return p
}

func random(r *rand.Rand) *page.Page {
	p := &page.Page{
		Kind: page.Kind(r.IntN(5)), Instruction: text(r), Number: r.IntN(4) - 1, Total: r.IntN(60), Product: product(r), Options: py.Dict{{Key: text(r), Value: text(r)}},
		Details: &catalog.Details{Description: text(r), Bullets: list(r)}, Sub: page.SubPages[r.IntN(4)], ShowAttributes: r.IntN(2) == 0, Receipt: page.NewReceipt(r.Float64()), Links: nowhere{},
	}
	for range r.IntN(4) {
		p.Products = append(p.Products, product(r))
	}
	return p
}

// The text of a page is that of its HTML, whatever products say.
func TestTextIsThatOfTheHTML(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		p := random(r)
		source, err := p.HTML()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.Text(), plain(source); got != want {
			t.Fatalf("seed %d, page %+v:\ntext %q\nhtml %q\n%s", seed, p, got, want, source)
		}
	}
}

// The rich text holds the same nodes, unstripped.
func TestRichHoldsTheSameNodes(t *testing.T) {
	t.Parallel()
	p := &page.Page{
		Kind: page.Item, Instruction: "buy it", Product: &catalog.Product{ASIN: "B1", Title: "A pan", Price: "$1.0", Options: []catalog.Option{
			{Name: "size", Values: []string{"small", "large"}}, {Name: "color", Values: []string{"red", `28"`}},
		}},
	}
	url := `http://x/item_page/0/B1/pan/1/{"size": "large", "color": "red", "other": "28\""}`
	want := "You have clicked red.\nYou have clicked large.\nInstruction:\nbuy it\n[button] Back to Search [button_]\n[button] < Prev [button_]\nsize\n" +
		"  [button] small [button_]\n  [clicked button] large [clicked button_]\ncolor\n  [clicked button] red [clicked button_]\n  [button] 28\" [button_]\n" +
		"A pan\nPrice: $1.0\nRating: N.A.\n[button] Description [button_]\n[button] Features [button_]\n[button] Reviews [button_]\n[button] Buy Now [button_]\n"
	if got := p.Rich(url, nil); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	results := &page.Page{Kind: page.Results, Number: 2, Total: 12, Products: []*catalog.Product{{ASIN: "B1", Title: "T", Price: "$1.0"}, {ASIN: "B2", Title: "U", Price: "$2.0"}}}
	want = "Instruction:\n[button] Back to Search [button_]\nPage 2 (Total results: 12)\n[button] < Prev [button_]\n[button] Next > [button_]\n" +
		"\n[clicked button] B1 [clicked button_]\nT\n$1.0\n\n[button] B2 [button_]\nU\n$2.0\n"
	if got := results.Rich("", func(asin string) bool { return asin == "B1" }); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestClickables(t *testing.T) {
	t.Parallel()
	p := &page.Page{Kind: page.Item, Product: &catalog.Product{Options: []catalog.Option{
		{Name: "Size", Values: []string{"one size", "reviews", "two"}}, {Name: "fit", Values: []string{"one size", "buy now"}},
	}}}
	want := []string{"back to search", "< prev", "description", "features", "reviews", "buy now", "one size", "two"}
	if got := p.Clickables(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, want := range map[string]page.Target{
		"one size": {Radio: true, Option: "fit"}, "reviews": {Radio: true, Option: "Size"}, "two": {Radio: true, Option: "Size"}, "features": {Button: true},
	} {
		if got, ok := p.Find(name); !ok || got != want {
			t.Errorf("%q hits %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"", "Features", "attributes", "three", "b1"} {
		if got, ok := p.Find(name); ok {
			t.Errorf("%q hits %+v", name, got)
		}
	}
	p.ShowAttributes = true
	if _, ok := p.Find("attributes"); !ok {
		t.Error("no button for attributes")
	}
	if got := (&page.Page{Kind: page.Done}).Clickables(); len(got) != 0 {
		t.Errorf("the last page has %q", got)
	}
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	const s = `a b+c/d:e%f&g=h'i"j[{é!@,;$()*|~`
	if got, want := page.QueryEscape(s), `a+b%2Bc%2Fd%3Ae%25f%26g%3Dh'i%22j%5B%7B%C3%A9!%40,;$()*%7C~`; got != want {
		t.Errorf("query: %s, want %s", got, want)
	}
	if got, want := page.PathEscape(s), `a%20b+c/d:e%25f%26g%3Dh'i%22j%5B%7B%C3%A9!%40,;$()*%7C~`; got != want {
		t.Errorf("path: %s, want %s", got, want)
	}
	if got, want := page.Escape(`<&>'"+`), "&lt;&amp;&gt;&#39;&#34;+"; got != want {
		t.Errorf("html: %s, want %s", got, want)
	}
}

// FuzzHTML: whatever a product says stays text.
func FuzzHTML(f *testing.F) {
	for _, s := range strange {
		f.Add(s, uint8(1))
	}
	f.Fuzz(func(t *testing.T, s string, kind uint8) {
		s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "?")
		p := &page.Page{
			Kind: page.Kind(kind % 5), Instruction: s, Product: &catalog.Product{ASIN: "B1", Title: s, Options: []catalog.Option{{Name: s, Values: []string{s}}}},
			Details: &catalog.Details{Description: s, Bullets: []string{s}}, Sub: page.SubPages[kind%4], Receipt: page.NewReceipt(1), Links: nowhere{},
			Products: []*catalog.Product{{ASIN: "B2", Title: s, Price: "$1.0"}},
		}
		source, err := p.HTML()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.Text(), plain(source); got != want {
			t.Fatalf("text %q\nhtml %q", got, want)
		}
	})
}

func BenchmarkText(b *testing.B) {
	p := random(rand.New(rand.NewPCG(1, 1)))
	p.Kind = page.Item
	for b.Loop() {
		p.Text()
	}
}

func BenchmarkHTML(b *testing.B) {
	p := random(rand.New(rand.NewPCG(1, 1)))
	p.Kind = page.Item
	for b.Loop() {
		if _, err := p.HTML(); err != nil {
			b.Fatal(err)
		}
	}
}

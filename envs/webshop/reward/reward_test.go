package reward_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/reward"
	"github.com/hindsightrl/harness/internal/testutil"
)

// phrase is a string, or a tuple in a list.
func phrase(tb testing.TB, raw json.RawMessage) string {
	tb.Helper()
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var pair [2]string
	if err := json.Unmarshal(raw, &pair); err != nil {
		tb.Fatal(err)
	}
	return py.Repr(py.Tuple{pair[0], pair[1]})
}

func TestTokenSetRatioEqualsTheFuzz(t *testing.T) {
	t.Parallel()
	f, err := os.Open(testutil.Shared(t, "truth/webshop/token_set_ratio.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for sc := bufio.NewScanner(zr); sc.Scan(); n++ {
		var c struct {
			S1, S2 json.RawMessage
			Want   int `json:"difflib"`
		}
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		a, b := phrase(t, c.S1), phrase(t, c.S2)
		if got := reward.TokenSetRatio(a, b); got != c.Want {
			t.Errorf("%q, %q: %d, want %d", a, b, got, c.Want)
		}
	}
	if n == 0 {
		t.Fatal("no pairs")
	}
}

func TestNormalizeColor(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(testutil.Shared(t, "truth/webshop/normalize_color.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for in, w := range want {
		if got := reward.NormalizeColor(in); got != w {
			t.Errorf("%q: %q, want %q", in, got, w)
		}
	}
	// The original's own tests.
	for in, w := range map[string]string{
		"": "", "black forest": "black", "violet lavender": "lavender", "steelivy fuchsia": "fuchsia", "123alabaster": "alabaster", "webshop": "webshop",
	} {
		if got := reward.NormalizeColor(in); got != w {
			t.Errorf("%q: %q, want %q", in, got, w)
		}
	}
}

// words counts every word of a title as a noun.
type words struct{}

func (words) Of(_, title string) ([]string, error) {
	return strings.Fields(strings.ToLower(title)), nil
}
func (words) Name() string { return "words" }

func score(t *testing.T, p, target catalog.Product, d catalog.Details, g catalog.Goal, price float64, options ...string) reward.Result {
	t.Helper()
	r, err := reward.Score(words{}, reward.Purchase{Product: &p, Details: &d, Price: price, Options: options}, &g, &target)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The original's tests of the type of a product (tests/web-agent-site/engine/test_goal.py).
func TestTypeOfProduct(t *testing.T) {
	t.Parallel()
	target := catalog.Product{Query: "Query 1", ProductCategory: "a › b › c", Title: "Name 1"}
	goal := catalog.Goal{Attributes: []string{"x"}, PriceUpper: 40}
	for _, c := range []struct {
		query, category string
		match           bool
	}{
		{"Query 1", "a › b › c", true},
		{"Query 2", "b › c › a", true},
		{"Query 2", "d › e › f", false},
		{"Query 2", "a › d › b", true},
		{"Query 2", "a › a › b", true},
		{"Query 2", "a › a › d", false},
	} {
		p := catalog.Product{Query: c.query, ProductCategory: c.category, Title: "Name 1"}
		r := score(t, p, target, catalog.Details{}, goal, 35)
		if r.CategoryMatch != c.match || r.QueryMatch != (c.query == "Query 1") || r.Title != 1 || r.Type != 1 {
			t.Errorf("%+v: got %+v", c, r)
		}
	}
}

func TestTypeFactors(t *testing.T) {
	t.Parallel()
	goal := catalog.Goal{Attributes: []string{"x"}, PriceUpper: 40}
	target := catalog.Product{Query: "q", ProductCategory: "a › b", Title: "a b c d e f g h i j k l"}
	for _, c := range []struct {
		title, query string
		want         float64
	}{
		{"a b c", "other", 1},     // 0.25
		{"a b", "other", 0.5},     // 0.17, nothing else matches
		{"a b", "q", 1},           // 0.17, but the query
		{"a", "q", 0.1},           // 0.08
		{"z", "q", 0},             // none
		{"a a a a a", "q", 0.1},   // repetitions of the bought one do not count
		{"l k j i h", "other", 1}, // order does not count
	} {
		if r := score(t, catalog.Product{Query: c.query, Title: c.title}, target, catalog.Details{}, goal, 35); r.Type != c.want {
			t.Errorf("%q: factor %v, want %v (title score %v)", c.title, r.Type, c.want, r.Title)
		}
	}
	if r := score(t, catalog.Product{Title: "a"}, catalog.Product{}, catalog.Details{}, goal, 35); r.Title != 0.2 {
		t.Errorf("without nouns the title scores %v, want 0.2", r.Title)
	}
}

// The original's tests of attributes.
func TestAttributes(t *testing.T) {
	t.Parallel()
	goal := catalog.Goal{Attributes: []string{"tea tree", "essential oils", "natural ingredients"}, PriceUpper: 40}
	for _, c := range []struct {
		p    catalog.Product
		d    catalog.Details
		want float64
	}{
		{catalog.Product{Attributes: []string{"tea tree", "essential oil", "natural ingredients"}}, catalog.Details{}, 1},
		{catalog.Product{Attributes: []string{"essential oil", "natural ingredients"}}, catalog.Details{}, 2. / 3},
		{catalog.Product{}, catalog.Details{
			Bullets:     []string{"This shampoo has essential oils and smells like lemons"},
			Description: "Best shampoo on the market, made with natural ingredients",
		}, 2. / 3},
		{catalog.Product{Attributes: []string{"tea bag", "earl gray", "lipton"}, Title: "English tea for breakfast"}, catalog.Details{
			Bullets: []string{"Soothing aroma", "Calming, great feeling"}, Description: "Best tea made by Lipton, great to pair with breakfast",
		}, 0},
	} {
		if r := score(t, c.p, catalog.Product{}, c.d, goal, 35); r.Attributes != c.want {
			t.Errorf("%+v: %v, want %v", c.p, r.Attributes, c.want)
		}
	}
}

// The original's tests of options.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		goal, bought []string
		want         int
	}{
		{[]string{"grey", "XL", "pack of 12"}, []string{"pack of 12", "grey", "XL"}, 3},
		{[]string{"grey", "XL", "pack of 12"}, []string{"pack of 12", "blue", "XL"}, 2},
		{[]string{"cool powder snow", "XL", "pack of 12"}, []string{"pack of 12", "powder snow", "XL"}, 3},
		{nil, []string{"goal 1", "goal 2"}, 0},
		{[]string{"goal 1", "goal 2"}, nil, 0},
	} {
		if got := reward.MatchOptions(c.bought, &catalog.Goal{Human: true, Options: c.goal}); got != c.want {
			t.Errorf("%q for %q: %d, want %d", c.bought, c.goal, got, c.want)
		}
	}
}

// Synthetic goals compare tuples: the option's name is a word of them.
func TestOptionsOfSyntheticGoals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, wanted, bought string
		met                  bool
	}{
		{"size", "x-large", "large", true},
		{"size", "large", "x-large", false},
		{"color", "dark green", "green", true},
		{"color", "green", "dark green", false}, // the whole value is a colour word; the bought one becomes "dark"
		{"size", "10", "10", true},
	} {
		g := catalog.Goal{OptionNames: []string{c.name}, Options: []string{c.wanted}}
		if got := reward.Meets(c.bought, &g, 0); got != c.met {
			t.Errorf("%q for %s %q: %v, want %v", c.bought, c.name, c.wanted, got, c.met)
		}
	}
}

// The original's test of the whole, with words in place of nouns where it has a tagger.
func TestTotal(t *testing.T) {
	t.Parallel()
	title := "Mens D.O.N. Issue 2 Gca Basketball Sneakers Shoes Casual - Off White"
	target := catalog.Product{Query: "Query 1", ProductCategory: "a › b › c", Title: title}
	p := target
	p.Attributes = []string{"tea tree", "essential oil", "natural ingredients"}
	goal := catalog.Goal{
		Attributes:  []string{"tea tree", "essential oils", "natural ingredients"},
		OptionNames: []string{"color", "size"}, Options: []string{"grey", "XL"}, PriceUpper: 40,
	}
	if r := score(t, p, target, catalog.Details{}, goal, 35, "grey", "XL"); r.Total != 1 {
		t.Errorf("got %+v, want 1", r)
	}
	p.Attributes = nil
	d := catalog.Details{Bullets: []string{"T h i s"}, Description: "Best shampoo on the market, made with natural ingredients"}
	if r := score(t, p, target, d, goal, 35, "grey", "XL"); math.Abs(r.Total-2./3) > 1e-2 {
		t.Errorf("got %v, want 0.667", r.Total)
	}
	if r := score(t, p, target, d, goal, 45, "grey", "XL"); r.Total != 0.5 || r.Price {
		t.Errorf("too dear: got %+v, want 0.5", r)
	}
	goal.OptionNames, goal.Options = append(goal.OptionNames, "amount"), append(goal.Options, "pack of 12")
	if r := score(t, p, target, d, goal, 35, "grey", "XL"); math.Abs(r.Total-0.5714) > 1e-2 {
		t.Errorf("got %v, want 0.571", r.Total)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	n, err := reward.ReadTable(strings.NewReader(`{"": ["made by", "a test"], "A Red Shoe": ["shoe"], "B000000001": ["boot"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(n.Name(), "made by a test") {
		t.Errorf("name %q", n.Name())
	}
	for _, c := range []struct{ asin, title, want string }{{"", "A Red Shoe", "shoe"}, {"B000000001", "Boots", "boot"}} {
		if got, err := n.Of(c.asin, c.title); err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if got, err := n.Of("B2", ""); err != nil || len(got) != 0 {
		t.Errorf("without a title: %q, %v", got, err)
	}
	if _, err := n.Of("B2", "Hat"); err == nil || !strings.Contains(err.Error(), `"Hat"`) {
		t.Errorf("a missing entry: %v", err)
	}
	for _, bad := range []string{"", "[]", "{}", `{"a": 1}`} {
		if _, err := reward.ReadTable(strings.NewReader(bad)); err == nil {
			t.Errorf("table %q gives no error", bad)
		}
	}
}

func TestTaggerFindsNouns(t *testing.T) {
	t.Parallel()
	var tagger reward.Tagger
	got, err := tagger.Of("", "Blue wool socks for walking boots")
	if err != nil || !strings.Contains(strings.Join(got, " "), "socks") || strings.Contains(strings.Join(got, " "), "for") {
		t.Errorf("nouns %q, %v", got, err)
	}
}

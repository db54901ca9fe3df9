package reward

import (
	"slices"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/internal/pystr"
)

// Result is a purchase's reward with all its parts. Rates r are fractions of what was asked for that
// was met, weights w the shares of the parts.
type Result struct {
	Total         float64 // in [0, 1]
	Type          float64 // r_type, the factor on all of it
	Attributes    float64 // r_att
	AttributesW   float64 // w_att
	QueryMatch    bool
	CategoryMatch bool
	Title         float64 // title_score
	HasOptions    bool    // the goal names options
	Options       float64 // r_option
	OptionsW      float64 // w_option
	Price         bool    // r_price
	PriceW        float64 // w_price
}

// Info is the dict that the original calls verbose_info.
func (r *Result) Info() py.Dict {
	d := py.Dict{
		{Key: "r_type", Value: r.Type},
		{Key: "r_att", Value: r.Attributes},
		{Key: "w_att", Value: r.AttributesW},
		{Key: "query_match", Value: r.QueryMatch},
		{Key: "category_match", Value: r.CategoryMatch},
		{Key: "title_score", Value: r.Title},
	}
	if r.HasOptions {
		d = append(d, py.Item{Key: "r_option", Value: r.Options}, py.Item{Key: "w_option", Value: r.OptionsW})
	}
	return append(d, py.Item{Key: "r_price", Value: r.Price}, py.Item{Key: "w_price", Value: r.PriceW})
}

// Purchase is what was bought.
type Purchase struct {
	Product *catalog.Product
	Details *catalog.Details
	Price   float64  // dollars
	Options []string // the chosen values
}

// Score computes the reward of a purchase for a goal on the product target.
func Score(n Nouns, buy Purchase, goal *catalog.Goal, target *catalog.Product) (Result, error) {
	var r Result
	if err := r.scoreType(n, buy.Product, target); err != nil {
		return Result{}, err
	}
	attributes := matchAttributes(buy, goal.Attributes)
	options := MatchOptions(buy.Options, goal)
	price := 0
	if r.Price = buy.Price <= goal.PriceUpper; r.Price {
		price = 1
	}
	all := float64(len(goal.Attributes) + len(goal.Options) + 1)
	r.Total = float64(attributes+options+price) / all * r.Type
	r.Attributes = float64(attributes) / float64(len(goal.Attributes))
	r.AttributesW = float64(len(goal.Attributes)) / all
	if r.HasOptions = len(goal.Options) > 0; r.HasOptions {
		r.Options = float64(options) / float64(len(goal.Options))
		r.OptionsW = float64(len(goal.Options)) / all
	}
	r.PriceW = 1 / all
	return r, nil
}

// scoreType compares what kind of thing the products are.
func (r *Result) scoreType(n Nouns, bought, target *catalog.Product) error {
	got, err := n.Of(bought.ASIN, bought.Title)
	if err != nil {
		return err
	}
	want, err := n.Of(target.ASIN, target.Title)
	if err != nil {
		return err
	}
	r.QueryMatch = bought.Query == target.Query
	r.CategoryMatch = commonParts(bought.ProductCategory, target.ProductCategory) >= 2
	r.Title = titleScore(got, want)
	r.Type = typeFactor(r.QueryMatch || r.CategoryMatch, r.Title)
	return nil
}

func typeFactor(match bool, title float64) float64 {
	switch {
	case title == 0:
		return 0
	case title < 0.1:
		return 0.1
	case match || title > 0.2:
		return 1
	}
	return 0.5
}

// titleScore is the number of distinct nouns that both have over the number of the target's,
// repetitions counted.
func titleScore(got, want []string) float64 {
	if len(want) == 0 {
		return 0.2
	}
	common := map[string]bool{}
	for _, w := range want {
		if slices.Contains(got, w) {
			common[w] = true
		}
	}
	return float64(len(common)) / float64(len(want))
}

// commonParts counts the distinct parts that two category paths share.
func commonParts(a, b string) int {
	parts := map[string]bool{}
	for _, p := range strings.Split(a, "›") {
		parts[pystr.Strip(p)] = true
	}
	n := 0
	for _, p := range strings.Split(b, "›") {
		if p = pystr.Strip(p); parts[p] {
			delete(parts, p)
			n++
		}
	}
	return n
}

// matchAttributes counts the wanted attributes that the product has: a similar one in its list, or the
// words anywhere in its texts.
func matchAttributes(buy Purchase, wanted []string) int {
	has := make([]tokens, len(buy.Product.Attributes))
	for i, a := range buy.Product.Attributes {
		has[i] = tokensOf(a)
	}
	var texts []string
	n := 0
	for _, w := range wanted {
		want := tokensOf(w)
		if slices.ContainsFunc(has, func(h tokens) bool { return h.similar(want) }) {
			n++
			continue
		}
		if texts == nil {
			texts = []string{
				pystr.Lower(buy.Product.Title), pystr.Lower(strings.Join(buy.Details.Bullets, " ")), pystr.Lower(buy.Details.Description),
			}
		}
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, w) }) {
			n++
		}
	}
	return n
}

// MatchOptions counts the goal's options that a chosen value meets. Synthetic goals compare a
// (name, value) tuple as Python prints it, so that the name is one of its words.
func MatchOptions(chosen []string, goal *catalog.Goal) int {
	has := make([]tokens, len(chosen))
	for i, c := range chosen {
		has[i] = tokensOf(NormalizeColor(c))
	}
	n := 0
	for i := range goal.Options {
		want := tokensOf(wantedOption(goal, i))
		if slices.ContainsFunc(has, func(h tokens) bool { return h.similar(want) }) {
			n++
		}
	}
	return n
}

// wantedOption is option i of the goal as it is compared.
func wantedOption(goal *catalog.Goal, i int) string {
	value := goal.Options[i]
	if goal.Human {
		return NormalizeColor(value)
	}
	if c, ok := normalizePair(goal.OptionNames[i], value); ok {
		return c
	}
	return py.Repr(py.Tuple{goal.OptionNames[i], value})
}

// Meets reports whether choosing a value meets option i of the goal.
func Meets(value string, goal *catalog.Goal, i int) bool {
	return tokensOf(NormalizeColor(value)).similar(tokensOf(wantedOption(goal, i)))
}

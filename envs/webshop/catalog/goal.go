package catalog

import (
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/internal/py"
)

// NoLimit is the price limit of a goal that names none, in dollars.
const NoLimit = 1_000_000

// Goal is what a shopper is asked to buy.
type Goal struct {
	Product     int // index in Catalog.Products
	ASIN        string
	Instruction string
	Attributes  []string
	PriceUpper  float64 // dollars; NoLimit where the instruction names no limit
	Options     []string
	OptionNames []string // of a synthetic goal, in the order of Options; nil for a human one
	Human       bool
	Weight      float64
}

// goalRef is a goal in 12 bytes: the full data has millions.
type goalRef struct {
	product int32
	which   int32 // of a synthetic goal the combination of options, of a human one the instruction
	tens    int16 // price limit in tens of dollars; 0 = none
}

// Goals is an ordered list of goals with the prices that belong to them.
type Goals struct {
	catalog *Catalog
	human   bool
	refs    []goalRef
	weights map[int32]float64 // of products' goals; nil for human goals, which all weigh 1
	cum     []float64         // 0, then the running sums of the weights

	// Prices is what each product costs, in dollars, by index.
	Prices []float64
}

// Len is the number of goals.
func (g *Goals) Len() int { return len(g.refs) }

// Human reports whether people wrote the goals.
func (g *Goals) Human() bool { return g.human }

// Product is the index of goal i's product.
func (g *Goals) Product(i int) int { return int(g.refs[i].product) }

// At makes goal i.
func (g *Goals) At(i int) Goal {
	ref := g.refs[i]
	p := &g.catalog.Products[ref.product]
	goal := Goal{Product: int(ref.product), ASIN: p.ASIN, PriceUpper: NoLimit, Human: g.human, Weight: g.weight(ref)}
	limit := ""
	if ref.tens > 0 {
		goal.PriceUpper = float64(ref.tens) * 10
		limit = ", and price lower than " + strconv.FormatFloat(goal.PriceUpper, 'f', 2, 64) + " dollars"
	}
	if g.human {
		in := p.Human[ref.which]
		goal.Attributes, goal.Options = in.Attributes, in.Options
		goal.Instruction = strings.Trim(in.Text, ".") + limit
		return goal
	}
	goal.Attributes = p.Instruction.Attributes
	goal.OptionNames, goal.Options = combination(p, int(ref.which))
	var b strings.Builder
	b.WriteString(p.Instruction.Text)
	for i, name := range goal.OptionNames {
		if i == 0 {
			b.WriteString(" with ")
		} else {
			b.WriteString(", and ")
		}
		b.WriteString(name + ": " + goal.Options[i])
	}
	b.WriteString(limit)
	goal.Instruction = b.String()
	return goal
}

// combination is element n of the product of all option values, by sorted option names; the last
// option turns fastest.
func combination(p *Product, n int) (names, values []string) {
	sorted := sortedOptions(p)
	names, values = make([]string, len(sorted)), make([]string, len(sorted))
	for i := len(sorted) - 1; i >= 0; i-- {
		o := sorted[i]
		names[i], values[i] = o.Name, o.Values[n%len(o.Values)]
		n /= len(o.Values)
	}
	return names, values
}

func (g *Goals) weight(ref goalRef) float64 {
	if g.human {
		return 1
	}
	return g.weights[ref.product]
}

// OptionValue is goal_options as the original holds it: a dict of a synthetic goal, a list of a human
// one.
func (g *Goal) OptionValue() any {
	if g.Human {
		return py.Strings(g.Options)
	}
	d := py.Dict{}
	for i, name := range g.OptionNames {
		d = append(d, py.Item{Key: name, Value: g.Options[i]})
	}
	return d
}

// Limit is price_upper as the original holds it: an int where there is no limit.
func (g *Goal) Limit() any {
	if g.PriceUpper == NoLimit {
		return int(NoLimit)
	}
	return g.PriceUpper
}

// Dict is the goal as the original's pages and logs show it.
func (g *Goal) Dict(c *Catalog) py.Dict {
	p := &c.Products[g.Product]
	weight := any(g.Weight)
	if g.Human {
		weight = int(g.Weight)
	}
	return py.Dict{
		{Key: "asin", Value: g.ASIN},
		{Key: "category", Value: p.Category},
		{Key: "query", Value: p.Query},
		{Key: "name", Value: p.Title},
		{Key: "product_category", Value: p.ProductCategory},
		{Key: "instruction_text", Value: g.Instruction},
		{Key: "attributes", Value: py.Strings(g.Attributes)},
		{Key: "price_upper", Value: g.Limit()},
		{Key: "goal_options", Value: g.OptionValue()},
		{Key: "weight", Value: weight},
	}
}

package shop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/page"
	"github.com/hindsightrl/harness/envs/webshop/reward"
	"github.com/hindsightrl/harness/internal/pyrand"
	"github.com/hindsightrl/harness/internal/pystr"
)

// Status is what an action came to.
type Status struct {
	Reward float64 // in [0, 1]
	Done   bool
	Result *reward.Result // of a purchase
	// NoOp says why nothing happened; "" if something did.
	NoOp string
}

// Session is one visit. It is not safe for concurrent use. A copy is a snapshot: actions replace what
// they change and write into nothing shared.
type Session struct {
	shop   *Shop
	id     string
	goal   *catalog.Goal
	prices []float64
	rand   func() *pyrand.Rand // where random results come from

	// What the server keeps.
	keywords []string
	number   int
	product  int // index; -1 for none
	visited  []int32
	options  py.Dict

	view viewed
}

// viewed is the page in the browser, with what it was made of.
type viewed struct {
	kind     page.Kind
	keywords []string
	number   int
	found    []int32 // all results
	product  int
	options  py.Dict
	sub      string
	score    float64
}

// NewSession opens the shop's door. prices are the products', by index; rand is called when a random
// search needs a stream and may be nil, then there is none.
func (s *Shop) NewSession(id string, goal *catalog.Goal, prices []float64, rand func() *pyrand.Rand) *Session {
	v := &Session{shop: s, id: id, goal: goal, prices: prices, rand: rand}
	v.start()
	return v
}

// start shows the search page and forgets all that happened.
func (s *Session) start() {
	s.keywords, s.number, s.product, s.visited, s.options = nil, 0, -1, nil, nil
	s.view = viewed{kind: page.Start, product: -1}
}

// ID is the session's name.
func (s *Session) ID() string { return s.id }

// Goal is what the visitor is asked to buy.
func (s *Session) Goal() *catalog.Goal { return s.goal }

// Kind is the page that the visitor sees.
func (s *Session) Kind() page.Kind { return s.view.kind }

// Product is the index of the product that the visitor looks at; -1 if there is none.
func (s *Session) Product() int { return s.view.product }

// Options are the chosen options.
func (s *Session) Options() py.Dict { return s.view.options }

// Found are all results of the search that the visitor sees.
func (s *Session) Found() []int32 { return s.view.found }

// Number is the number of the page of results that the visitor sees or came from.
func (s *Session) Number() int { return s.view.number }

// Step takes an action. What is no action, or names nothing on the page, changes nothing.
func (s *Session) Step(action string) (Status, error) {
	name, arg, hasArg := ParseAction(action)
	if !hasArg {
		return Status{NoOp: "no action: want search[words] or click[name]"}, nil
	}
	arg = pystr.Lower(arg)
	switch name {
	case "search":
		// Any page takes a search, also those without a search field.
		return s.search(strings.Split(arg, " "), 1), nil
	case "click":
		return s.click(arg)
	}
	return Status{NoOp: fmt.Sprintf("no action %q: there are search and click", name)}, nil
}

// search shows a page of results.
func (s *Session) search(keywords []string, number int) Status {
	found, reason := s.find(keywords)
	if reason != "" {
		return Status{NoOp: reason}
	}
	s.keywords, s.number, s.product, s.options = keywords, number, -1, nil
	s.view = viewed{kind: page.Results, keywords: keywords, number: number, found: found, product: -1}
	return Status{}
}

// find looks products up; the reason says why the original would have failed.
func (s *Session) find(keywords []string) (found []int32, reason string) {
	special, reason := s.shop.Special(keywords, s.rand)
	switch {
	case reason != "":
		return nil, reason
	case special != nil:
		return *special, ""
	case s.view.kind == page.Results && slices.Equal(keywords, s.view.keywords):
		return s.view.found, "" // the same words again: the index does not change
	}
	return s.shop.Find(strings.Join(keywords, " ")), ""
}

// Special finds what a first word in angle brackets asks for: a random choice, a category, or the
// search that products were found by. found is nil for an ordinary search.
func (s *Shop) Special(keywords []string, rand func() *pyrand.Rand) (found *[]int32, reason string) {
	var list []int32
	switch keywords[0] {
	case "<r>":
		if len(s.Products) < searchReturns || rand == nil {
			return nil, fmt.Sprintf("a random search needs at least %d products and a random stream", searchReturns)
		}
		for _, i := range rand().Sample(len(s.Products), searchReturns) {
			list = append(list, int32(i))
		}
	case "<a>":
		return nil, "a search by attribute, which the original's environment does not know"
	case "<c>":
		if len(keywords) < 2 {
			return nil, "a search by category without one"
		}
		list = s.Where(func(p *catalog.Product) bool { return p.Category == pystr.Strip(keywords[1]) })
	case "<q>":
		query := pystr.Strip(strings.Join(keywords[1:], " "))
		list = s.Where(func(p *catalog.Product) bool { return p.Query == query })
	default:
		return nil, ""
	}
	return &list, ""
}

// Where lists the products for which keep is true, in the order of the file.
func (s *Shop) Where(keep func(*catalog.Product) bool) (found []int32) {
	for i := range s.Products {
		if keep(&s.Products[i]) {
			found = append(found, int32(i))
		}
	}
	return found
}

// click follows a click by name, in the original's order of cases.
func (s *Session) click(name string) (Status, error) {
	p := s.page()
	target, ok := p.Find(name)
	switch {
	case !ok:
		return Status{NoOp: fmt.Sprintf("nothing on this page is called %q", name)}, nil
	case name == "search":
		return Status{NoOp: "the search button does nothing: use search[words]"}, nil
	case name == "buy now":
		return s.buy()
	case name == "back to search":
		s.start()
		return Status{}, nil
	}
	if name == "next >" || name == "< prev" {
		where := s.pageName()
		switch {
		case name == "next >" && where == "search_results":
			return s.search(s.keywords, s.number+1), nil
		case name == "< prev" && where == "search_results":
			return s.search(s.keywords, s.number-1), nil
		case name == "< prev" && where == "item_page":
			return s.search(s.keywords, s.number), nil
		}
		return s.item(name, target), nil
	}
	for _, sub := range page.SubPages {
		if name == strings.ToLower(sub) {
			s.view = viewed{kind: page.Sub, keywords: s.keywords, number: s.number, product: s.product, options: s.options, sub: sub}
			return Status{}, nil
		}
	}
	return s.item(name, target), nil
}

// item shows a product's page: of a clicked link, with a clicked option, or again.
func (s *Session) item(name string, target page.Target) Status {
	switch {
	case target.Link:
		i := s.shop.Catalog.Index(strings.ToUpper(name))
		if i < 0 {
			return Status{NoOp: fmt.Sprintf("no product %q", strings.ToUpper(name))}
		}
		s.product = i
		if !slices.Contains(s.visited, int32(i)) {
			s.visited = append(slices.Clip(s.visited), int32(i))
		}
	case target.Radio:
		s.options = slices.Clone(s.options).Set(pystr.Lower(target.Option), name)
	}
	if s.product < 0 {
		return Status{NoOp: "no product to show"}
	}
	s.view = viewed{kind: page.Item, keywords: s.keywords, number: s.number, product: s.product, options: s.options}
	return Status{}
}

// buy ends the visit.
func (s *Session) buy() (Status, error) {
	details, err := s.shop.Details(s.product)
	if err != nil {
		return Status{}, err
	}
	buy := reward.Purchase{Product: &s.shop.Products[s.product], Details: details, Price: s.prices[s.product], Options: Values(s.options)}
	r, err := reward.Score(s.shop.Nouns, buy, s.goal, &s.shop.Products[s.goal.Product])
	if err != nil {
		return Status{}, err
	}
	s.view = viewed{kind: page.Done, product: s.product, options: s.options, score: r.Total}
	return Status{Reward: r.Total, Done: true, Result: &r}, nil
}

// Values are the chosen values, in order.
func Values(options py.Dict) []string {
	out := make([]string, len(options))
	for i, it := range options {
		out[i], _ = it.Value.(string)
	}
	return out
}

// Bought is the product that the visitor looks at, or has bought; nil if there is none.
func (s *Session) Bought() *catalog.Product {
	if s.view.product < 0 {
		return nil
	}
	return &s.shop.Products[s.view.product]
}

// Price is what that product costs, in dollars.
func (s *Session) Price() float64 { return s.prices[s.view.product] }

// Clone copies the session; the copy draws from rand.
func (s *Session) Clone(rand func() *pyrand.Rand) *Session {
	c := *s
	c.rand = rand
	return &c
}

// PriceOf is what product i costs, in dollars.
func (s *Session) PriceOf(i int) float64 { return s.prices[i] }

// ASIN is product i's id.
func (s *Session) ASIN(i int) string { return s.shop.Products[i].ASIN }

package page

import (
	"strings"

	"github.com/hindsightrl/harness/internal/pystr"
)

// Clickables lists what can be clicked, in the original's order: buttons, links, options. Names are
// lower-case; of two that are equal the first keeps its place.
func (p *Page) Clickables() []string {
	var out []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, b := range p.buttons() {
		add(strings.ToLower(b))
	}
	if p.Kind == Results {
		for _, product := range p.Products {
			add(pystr.Lower(product.ASIN))
		}
	}
	if p.Kind == Item {
		for _, o := range p.Product.Options {
			for _, v := range o.Values {
				add(v)
			}
		}
	}
	return out
}

// buttons of the page, in order.
func (p *Page) buttons() []string {
	switch p.Kind {
	case Start:
		return []string{Search}
	case Results:
		if p.Number > 1 {
			return []string{BackToSearch, Prev, Next}
		}
		return []string{BackToSearch, Next}
	case Item:
		if p.ShowAttributes {
			return []string{BackToSearch, Prev, Description, Features, Reviews, Attributes, BuyNow}
		}
		return []string{BackToSearch, Prev, Description, Features, Reviews, BuyNow}
	case Sub:
		return []string{BackToSearch, Prev}
	}
	return nil
}

// Target is what a click hits.
type Target struct {
	Button bool
	Link   bool
	Radio  bool
	Option string // of a radio button, the option whose value it is
}

// Find finds what a click on a name hits; ok is false where nothing has it. Where several have it, the
// last counts: an option's value before a button, a later option before an earlier one.
func (p *Page) Find(name string) (t Target, ok bool) {
	if p.Kind == Item {
		for i := len(p.Product.Options) - 1; i >= 0; i-- {
			o := &p.Product.Options[i]
			for _, v := range o.Values {
				if v == name {
					return Target{Radio: true, Option: o.Name}, true
				}
			}
		}
	}
	if p.Kind == Results {
		for _, product := range p.Products {
			if pystr.Lower(product.ASIN) == name {
				return Target{Link: true}, true
			}
		}
	}
	for _, b := range p.buttons() {
		if strings.EqualFold(b, name) && strings.ToLower(b) == name {
			return Target{Button: true}, true
		}
	}
	return Target{}, false
}

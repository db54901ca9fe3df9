package shop

import (
	"fmt"
	"slices"

	"github.com/hindsightrl/harness/envs/webshop/page"
	"github.com/hindsightrl/harness/internal/errext"
	"github.com/hindsightrl/harness/internal/pystr"
)

// Mode is how a page is observed.
type Mode string

// The modes.
const (
	Text Mode = "text"      // the page's texts, with [SEP] between them
	Rich Mode = "text_rich" // one line for each text, with marks around what can be clicked
	HTML Mode = "html"      // the page's source
	URL  Mode = "url"       // the page's address
)

// ParseMode reads a mode's name.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Text, Rich, HTML, URL:
		return m, nil
	}
	return "", errext.WithHint(fmt.Errorf("no observation mode %q", s), "there are text, text_rich, html and url")
}

// page is the current page, without its long texts and addresses.
func (s *Session) page() *page.Page {
	v := &s.view
	p := &page.Page{Kind: v.kind, Instruction: s.goal.Instruction, Number: v.number, Options: v.options, Sub: v.sub, ShowAttributes: s.shop.attrs}
	switch v.kind {
	case page.Results:
		p.Total = len(v.found)
		for _, i := range PageOf(v.found, v.number) {
			p.Products = append(p.Products, &s.shop.Products[i])
		}
	case page.Done:
		p.Receipt = page.NewReceipt(v.score)
	}
	if v.product >= 0 {
		p.Product = &s.shop.Products[v.product]
	}
	return p
}

// Shown are the products on the page of results that the visitor sees, by index.
func (s *Session) Shown() []int32 {
	if s.view.kind != page.Results {
		return nil
	}
	return PageOf(s.view.found, s.view.number)
}

// PageOf is page number n of what was found, for any n, also one below 1.
func PageOf(found []int32, n int) []int32 { return slice(found, (n-1)*page.PerPage, n*page.PerPage) }

// slice is Python's list[from:to], where negative places count from the end.
func slice(list []int32, from, to int) []int32 {
	place := func(i int) int {
		if i < 0 {
			i += len(list)
		}
		return min(max(i, 0), len(list))
	}
	if from, to = place(from), place(to); from < to {
		return list[from:to]
	}
	return nil
}

// Page is the current page with everything that it shows.
func (s *Session) Page() (*page.Page, error) {
	p := s.page()
	if s.view.product >= 0 {
		d, err := s.shop.Details(s.view.product)
		if err != nil {
			return nil, err
		}
		p.Details = d
		p.Links = links{session: s.id, asin: p.Product.ASIN, keywords: s.view.keywords, number: s.view.number, options: s.view.options}
		return p, nil
	}
	p.Links = links{session: s.id, keywords: s.view.keywords, number: s.view.number}
	return p, nil
}

// Observe is the current page as a mode shows it. An error means that the product file cannot be read
// any more.
func (s *Session) Observe(mode Mode) (string, error) {
	switch {
	case mode == URL:
		return s.URL(), nil
	case mode == Text && s.view.kind == page.Item && s.goal.Instruction != "":
		// What every visit shows is made once.
		return "Instruction:" + page.Separator + pystr.Strip(s.goal.Instruction) + page.Separator + s.shop.view(s.view.product).tail, nil
	case mode == Text && s.view.kind != page.Sub:
		return s.page().Text(), nil
	}
	p, err := s.Page()
	if err != nil {
		return "", err
	}
	switch mode {
	case HTML:
		return p.HTML()
	case Rich:
		return p.Rich(s.URL(), func(asin string) bool { return s.hasVisited(asin) }), nil
	}
	return p.Text(), nil
}

func (s *Session) hasVisited(asin string) bool {
	i := int32(s.shop.Catalog.Index(asin))
	for _, v := range s.visited {
		if v == i {
			return true
		}
	}
	return false
}

// SearchBar reports whether the page has a field for words to search.
func (s *Session) SearchBar() bool { return s.view.kind == page.Start }

// Clickables lists what can be clicked. The list is shared and must not be changed.
func (s *Session) Clickables() []string {
	if s.view.kind == page.Item {
		return s.shop.view(s.view.product).clickables
	}
	return s.page().Clickables()
}

// SearchAction is the search among the admissible actions: an agent fills the blank.
const SearchAction = "search[<your query>]"

// Admissible lists the actions that the page offers, as the serl variant's prompts do: a search with a
// blank where there is a search field, then a click on everything. The list is shared and must not be
// changed.
func (s *Session) Admissible() []string {
	if s.view.kind == page.Item {
		return s.shop.view(s.view.product).admissible
	}
	return admissible(s.page())
}

func admissible(p *page.Page) []string {
	clickables := p.Clickables()
	if len(clickables) == 0 {
		return nil
	}
	out := make([]string, 0, len(clickables)+1)
	if p.Kind == page.Start {
		out = append(out, SearchAction)
	}
	for _, c := range clickables {
		out = append(out, "click["+c+"]")
	}
	return out
}

// Offers reports whether a list of admissible actions has an action, with any words in the blank of
// the search.
func Offers(list []string, action string) bool {
	return slices.ContainsFunc(list, func(a string) bool {
		if a != SearchAction {
			return a == action
		}
		name, arg, ok := ParseAction(action)
		return ok && name == "search" && arg != ""
	})
}

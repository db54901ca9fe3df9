package shop

import (
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/page"
)

// base is the address that the original's environment pretends to be at.
const base = "http://127.0.0.1:3000/"

// URL is the address of the current page, as the original writes it: without escapes.
func (s *Session) URL() string {
	words := strings.Join(s.view.keywords, "+")
	number := strconv.Itoa(s.view.number)
	asin := ""
	if s.view.product >= 0 {
		asin = s.shop.Products[s.view.product].ASIN
	}
	switch s.view.kind {
	case page.Results:
		return base + "search_results/" + s.id + "/" + words + "/" + number
	case page.Item:
		return base + "item_page/" + s.id + "/" + asin + "/" + words + "/" + number + "/" + py.JSON(s.view.options)
	case page.Sub:
		return base + "item_sub_page/" + s.id + "/" + asin + "/" + words + "/" + number + "/" + s.view.sub + "/" + py.Repr(s.view.options)
	case page.Done:
		return base + "done/" + s.id + "/" + asin + "/" + py.Repr(s.view.options)
	}
	return base + s.id
}

// pageName is which page the original takes an address for: the first of four names that is anywhere
// in it, be it in the words of a search.
func (s *Session) pageName() string {
	url := s.URL()
	for _, name := range []string{"search_results", "item_page", "item_sub_page", "done"} {
		if strings.Contains(url, name) {
			return name
		}
	}
	return ""
}

// links are the addresses in the environment's HTML: every handler lies at "/", so that all is in the
// query.
type links struct {
	session  string
	asin     string
	keywords []string
	number   int
	options  py.Dict
}

func (l links) query(b *strings.Builder) {
	b.WriteString("/?session_id=" + page.QueryEscape(l.session))
}

func (l links) words(b *strings.Builder) {
	for _, k := range l.keywords {
		b.WriteString("&keywords=" + page.QueryEscape(k))
	}
}

// Index implements page.Links.
func (l links) Index() string { return "/?session_id=" + page.QueryEscape(l.session) }

// Results implements page.Links.
func (l links) Results(number int) string {
	var b strings.Builder
	l.query(&b)
	l.words(&b)
	return b.String() + "&page=" + strconv.Itoa(number)
}

// Back implements page.Links.
func (l links) Back() string { return l.Results(l.number) }

// Item implements page.Links.
func (l links) Item(asin string, options py.Dict) string { return l.product(asin, "", options) }

// Sub implements page.Links.
func (l links) Sub(name string) string { return l.product(l.asin, name, l.options) }

func (l links) product(asin, sub string, options py.Dict) string {
	var b strings.Builder
	l.query(&b)
	b.WriteString("&asin=" + page.QueryEscape(asin))
	l.words(&b)
	b.WriteString("&page=" + strconv.Itoa(l.number))
	if sub != "" {
		b.WriteString("&sub_page=" + sub)
	}
	return b.String() + "&options=" + page.QueryEscape(py.Repr(options))
}

// Done implements page.Links.
func (l links) Done() string {
	return "/?session_id=" + page.QueryEscape(l.session) + "&asin=" + page.QueryEscape(l.asin) + "&options=" + page.QueryEscape(py.Repr(l.options))
}

package site

import (
	"crypto/sha1" //nolint:gosec // the code that the original shows is made of it
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/envs/webshop/page"
	"github.com/hindsightrl/harness/envs/webshop/reward"
	"github.com/hindsightrl/harness/envs/webshop/shop"
	"github.com/hindsightrl/harness/internal/pystr"
)

// visit is one request: what its address says. It makes the addresses of the page too.
type visit struct {
	site     *Site
	url      string
	goal     catalog.Goal
	session  string
	asin     string
	keywords string // a Python list, or one word
	number   string
	sub      string
	options  string // a Python dict
	chosen   py.Dict
	product  int
}

// known looks the session's goal up and calls the handler.
func (v *visit) known(handle func() (string, error)) (string, error) {
	i, ok := v.site.Goal(v.session)
	if !ok {
		return "", fmt.Errorf("session %q has not begun: its first page is /%s", v.session, v.session)
	}
	v.goal = v.site.world.At(i)
	return handle()
}

// log writes a line as the original does; content and what follows it are optional.
func (v *visit) log(name string, more ...py.Item) {
	if v.site.cfg.Log == nil {
		return
	}
	d := py.Dict{{Key: "page", Value: name}, {Key: "url", Value: v.url}, {Key: "goal", Value: v.goal.Dict(v.site.shop.Catalog)}}
	v.site.mu.Lock()
	defer v.site.mu.Unlock()
	v.site.cfg.Log(v.session, py.AppendJSON(nil, append(d, more...), false))
}

func (v *visit) render(p *page.Page) (string, error) {
	p.Instruction = v.goal.Instruction
	p.Links = v
	p.ShowAttributes = v.site.shop.ShowAttributes()
	html, err := p.HTML()
	if err == nil && !v.site.cfg.Original {
		html = local(html)
	}
	return html, err
}

func (v *visit) start() (string, error) {
	v.log("index")
	return v.render(&page.Page{Kind: page.Start})
}

// words reads the keywords: a list, or a word as it is.
func (v *visit) words() ([]string, error) {
	if !strings.HasPrefix(v.keywords, "[") {
		return []string{v.keywords}, nil
	}
	value, err := py.Literal(v.keywords)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("keywords are no list of words")
	}
	words := make([]string, len(list))
	for i, x := range list {
		if words[i], ok = x.(string); !ok {
			return nil, errors.New("a keyword is no text")
		}
	}
	return words, nil
}

func (v *visit) results() (string, error) {
	number, err := page.ReadNumber(v.number)
	if err != nil {
		return "", fmt.Errorf("page %q: %w", v.number, err)
	}
	words, err := v.words()
	if err != nil {
		return "", err
	}
	found, err := v.find(words)
	if err != nil {
		return "", err
	}
	v.keywords = v.site.repr(py.Strings(words))
	v.number = strconv.Itoa(number)
	p := &page.Page{Kind: page.Results, Number: number, Total: len(found)}
	asins := []any{}
	for _, i := range shop.PageOf(found, number) {
		p.Products = append(p.Products, &v.site.shop.Products[i])
		asins = append(asins, v.site.shop.Products[i].ASIN)
	}
	v.log("search_results", py.Item{Key: "content", Value: py.Dict{
		{Key: "keywords", Value: py.Strings(words)}, {Key: "search_result_asins", Value: asins}, {Key: "page", Value: number},
	}})
	return v.render(p)
}

// find searches; the site knows searches by attribute too.
func (v *visit) find(words []string) ([]int32, error) {
	s := v.site
	if words[0] == "<a>" {
		attribute := pystr.Strip(strings.Join(words[1:], " "))
		return s.shop.Where(func(p *catalog.Product) bool {
			for _, a := range p.Attributes {
				if a == attribute {
					return true
				}
			}
			return false
		}), nil
	}
	s.mu.Lock()
	found, reason := s.shop.Special(words, s.world.Stream)
	s.mu.Unlock()
	switch {
	case reason != "":
		return nil, errors.New(reason)
	case found != nil:
		return *found, nil
	}
	return s.shop.Find(strings.Join(words, " ")), nil
}

// look reads the product and the options.
func (v *visit) look() error {
	if v.product = v.site.shop.Catalog.Index(v.asin); v.product < 0 {
		return fmt.Errorf("no product %q", v.asin)
	}
	value, err := py.Literal(v.options)
	if err != nil {
		return err
	}
	chosen, ok := value.(py.Dict)
	if !ok {
		return errors.New("options are no dict")
	}
	v.chosen = chosen
	return nil
}

func (v *visit) productPage(kind page.Kind) (*page.Page, error) {
	if err := v.look(); err != nil {
		return nil, err
	}
	d, err := v.site.shop.Details(v.product)
	if err != nil {
		return nil, err
	}
	return &page.Page{Kind: kind, Product: &v.site.shop.Products[v.product], Details: d, Options: v.chosen, Sub: v.sub}, nil
}

func (v *visit) logProduct(name string) {
	v.log(name, py.Item{Key: "content", Value: py.Dict{
		{Key: "keywords", Value: v.keywords}, {Key: "page", Value: v.number}, {Key: "asin", Value: v.asin}, {Key: "options", Value: v.chosen},
	}})
}

func (v *visit) item() (string, error) {
	p, err := v.productPage(page.Item)
	if err != nil {
		return "", err
	}
	v.logProduct("item_page")
	return v.render(p)
}

func (v *visit) subPage() (string, error) {
	p, err := v.productPage(page.Sub)
	if err != nil {
		return "", err
	}
	known := false
	for _, name := range page.SubPages {
		known = known || name == v.sub
	}
	if !known {
		return "", fmt.Errorf("no page %q of a product", v.sub)
	}
	v.logProduct("item_sub_page")
	return v.render(p)
}

func (v *visit) done() (string, error) {
	p, err := v.productPage(page.Done)
	if err != nil {
		return "", err
	}
	values := shop.Values(v.chosen)
	s := v.site
	price := s.world.Prices[v.product]
	buy := reward.Purchase{Product: p.Product, Details: p.Details, Price: price, Options: values}
	r, err := reward.Score(s.shop.Nouns, buy, &v.goal, &s.shop.Products[v.goal.Product])
	if err != nil {
		return "", err
	}
	v.log("done",
		py.Item{Key: "content", Value: py.Dict{{Key: "asin", Value: v.asin}, {Key: "options", Value: v.chosen}, {Key: "price", Value: price}}},
		py.Item{Key: "reward", Value: r.Total}, py.Item{Key: "reward_info", Value: r.Info()})
	p.Receipt = &page.Receipt{
		Score: py.Float(r.Total), Code: Code(v.session),
		Attributes: py.Repr(py.Strings(p.Product.Attributes)), Category: p.Product.Category, Query: p.Product.Query, ProductCategory: p.Product.ProductCategory,
		GoalDict: v.goal.Dict(s.shop.Catalog), Info: py.Pretty(r.Info()),
	}
	if s.cfg.AsText {
		p.Receipt = page.NewReceipt(r.Total)
	}
	return v.render(p)
}

// Code is what a session earns by buying: ten digits of a hash of its name.
func Code(session string) string {
	sum := sha1.Sum([]byte(session)) //nolint:gosec // as the original
	return strings.ToUpper(fmt.Sprintf("%x", sum))[:10]
}

// repr prints a part of an address. A slash would end the part; escaped, it stays in the literal.
func (s *Site) repr(value any) string {
	out := py.Repr(value)
	if s.cfg.AsText {
		out = strings.ReplaceAll(out, "/", `\x2f`)
	}
	return out
}

func (v *visit) address(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(page.PathEscape(p))
	}
	return b.String()
}

// Index implements page.Links.
func (v *visit) Index() string { return v.address(v.session) }

// Results implements page.Links.
func (v *visit) Results(number int) string {
	return v.address("search_results", v.session, v.keywords, strconv.Itoa(number))
}

// Back implements page.Links.
func (v *visit) Back() string { return v.address("search_results", v.session, v.keywords, v.number) }

// Item implements page.Links.
func (v *visit) Item(asin string, options py.Dict) string {
	return v.address("item_page", v.session, asin, v.keywords, v.number, v.site.repr(options))
}

// Sub implements page.Links.
func (v *visit) Sub(name string) string {
	return v.address("item_sub_page", v.session, v.asin, v.keywords, v.number, name, v.site.repr(v.chosen))
}

// Done implements page.Links.
func (v *visit) Done() string { return v.address("done", v.session, v.asin, v.site.repr(v.chosen)) }

// requestURL is the request's address as werkzeug shows it: what is outside ASCII readable, the rest
// of what is not safe escaped.
func requestURL(r *http.Request, path string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~$'()*+,;!&/:=@%"
	var b strings.Builder
	b.WriteString("http://" + r.Host)
	for _, c := range path {
		if c >= utf8.RuneSelf || strings.ContainsRune(safe, c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if r.URL.RawQuery != "" {
		b.WriteString("?" + r.URL.RawQuery)
	}
	return b.String()
}

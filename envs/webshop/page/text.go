package page

import (
	"strconv"
	"strings"

	"github.com/hindsightrl/harness/envs/webshop/internal/py"
	"github.com/hindsightrl/harness/internal/pystr"
)

// Separator stands between the nodes of a page's plain text.
const Separator = " [SEP] "

// node says what a text stands in.
type node uint8

const (
	plain node = iota
	button
	label // of an option
	link  // to a product
)

// each calls f with each text node of the page, in the order of the HTML, unstripped.
func (p *Page) each(f func(n node, text string)) {
	switch p.Kind {
	case Start:
		f(plain, "WebShop")
		f(plain, "Instruction: ")
		f(plain, p.Instruction)
		f(button, Search)
		return
	case Done:
		p.receipt(f)
		return
	}
	f(plain, "Instruction:")
	f(plain, p.Instruction)
	f(button, BackToSearch)
	if p.Kind != Results {
		f(button, Prev)
	}
	switch p.Kind {
	case Results:
		p.results(f)
	case Item:
		p.item(f)
	case Sub:
		p.sub(f)
	}
}

func (p *Page) results(f func(node, string)) {
	f(plain, "Page "+strconv.Itoa(p.Number)+" (Total results: "+strconv.Itoa(p.Total)+")")
	if p.Number > 1 {
		f(button, Prev)
	}
	f(button, Next)
	for _, product := range p.Products {
		f(link, product.ASIN)
		f(plain, product.Title)
		f(plain, product.Price)
	}
}

func (p *Page) item(f func(node, string)) {
	for _, o := range p.Product.Options {
		f(plain, o.Name)
		for _, v := range o.Values {
			f(label, v)
		}
	}
	f(plain, p.Product.Title)
	f(plain, "Price: "+p.Product.Price)
	f(plain, "Rating: N.A.")
	f(button, Description)
	f(button, Features)
	f(button, Reviews)
	if p.ShowAttributes {
		f(button, Attributes)
	}
	f(button, BuyNow)
}

func (p *Page) sub(f func(node, string)) {
	switch p.Sub {
	case Description:
		f(plain, p.Details.Description)
	case Features:
		for _, b := range p.Details.Bullets {
			f(plain, " "+b)
		}
	case Attributes:
		for _, a := range p.Product.Attributes {
			f(plain, " "+a)
		}
		f(plain, p.Product.Category)
		f(plain, p.Product.Query)
		f(plain, p.Product.ProductCategory)
	}
}

func (p *Page) receipt(f func(node, string)) {
	r := p.Receipt
	for _, text := range []string{
		"Thank you for shopping with us!", "Your code: ", r.Code, " (Paste it in your MTurk interface.)",
		"Purchased", "asin", p.Product.ASIN, "options", py.HTMLJSON(p.Options), "attrs", r.Attributes, "category", r.Category,
		"query", r.Query, "product category", r.ProductCategory,
		"Target", "asin", r.Goal("asin"), "options", r.Goal("goal_options"), "attrs", r.Goal("attributes"), "price upper", r.Goal("price_upper"),
		"instuction text", r.Goal("instruction_text"), "category", r.Goal("category"), "product category", r.Goal("product_category"),
		"query", r.Goal("query"), "Goal ", r.GoalText(),
		"Reward", "Your score (min 0.0, max 1.0)", r.Score, "Reward Details ", r.Info,
	} {
		f(plain, text)
	}
}

// visible is a node as BeautifulSoup keeps it: ASCII white space alone becomes one space, or, with a
// line break in it, one line break, which observations leave out.
func visible(text string) (string, bool) {
	if text == "" {
		return "", false
	}
	if strings.Trim(text, " \n\t\f\r") != "" {
		return text, true
	}
	return " ", !strings.Contains(text, "\n")
}

// Text is the observation of mode "text".
func (p *Page) Text() string { return string(p.AppendText(nil)) }

// AppendText appends Text.
func (p *Page) AppendText(b []byte) []byte {
	start := len(b)
	p.each(func(_ node, text string) {
		text, ok := visible(text)
		if !ok {
			return
		}
		if len(b) > start {
			b = append(b, Separator...)
		} else if b == nil {
			b = make([]byte, 0, 1024)
		}
		b = append(b, pystr.Strip(text)...)
	})
	return b
}

// Rich is the observation of mode "text_rich": one line for each node, with marks around what can be
// clicked, and other marks around what was. Clicked options are found in the page's address, url.
func (p *Page) Rich(url string, visited func(asin string) bool) string {
	var head []string
	var b strings.Builder
	p.each(func(n node, text string) {
		text, ok := visible(text)
		if !ok {
			return
		}
		switch n {
		case button:
			b.WriteString("[button] " + text + " [button_]\n")
		case label:
			if strings.Contains(url, `"`+text+`"`) {
				head = append(head, "You have clicked "+text+".\n")
				b.WriteString("  [clicked button] " + text + " [clicked button_]\n")
			} else {
				b.WriteString("  [button] " + text + " [button_]\n")
			}
		case link:
			if visited(text) {
				b.WriteString("\n[clicked button] " + text + " [clicked button_]\n")
			} else {
				b.WriteString("\n[button] " + text + " [button_]\n")
			}
		default:
			b.WriteString(text + "\n")
		}
	})
	// Each is put before all that is there.
	var out strings.Builder
	for i := len(head) - 1; i >= 0; i-- {
		out.WriteString(head[i])
	}
	return out.String() + b.String()
}

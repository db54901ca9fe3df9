package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Config says what shop to make.
type Config struct {
	Products int    // how many; 0 means 360
	Seed     uint64 // other seeds, other shops
	// Filler adds so many made-up words to each description, rare ones and common ones as in real texts: a
	// large shop has a large vocabulary.
	Filler int
}

const defaultProducts = 360

// product is one record in all files.
type product struct {
	ASIN            string          `json:"asin"`
	Name            string          `json:"name"`
	Description     string          `json:"full_description"`
	Bullets         []string        `json:"small_description"`
	Pricing         string          `json:"pricing"`
	Images          []string        `json:"images"`
	Category        string          `json:"category"`
	Query           string          `json:"query"`
	ProductCategory string          `json:"product_category"`
	Options         *orderedOptions `json:"customization_options"`

	attributes []string
	kind       *kind
	nouns      []string
}

// product makes product i. Products of a kind follow each other at a distance, so that every part of the
// file holds all categories.
func (c Config) product(i int) *product {
	r := rand.New(rand.NewPCG(c.Seed, uint64(i)))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	cat := &categories[i%len(categories)]
	k := &cat.kinds[i/len(categories)%len(cat.kinds)]
	brand, mood, made, use := pick(brands), pick(moods), pick(k.made), pick(uses)
	attributes := sample(r, k.attributes, 3+r.IntN(len(k.attributes)-2))
	p := &product{
		ASIN:     fmt.Sprintf("HS%08d", (uint64(i)*48_271+c.Seed*7919)%100_000_000),
		Category: cat.name, Query: k.query, ProductCategory: cat.title + " › " + k.path,
		Images: []string{"/static/product.svg"}, kind: k, attributes: attributes,
	}
	p.Name = fmt.Sprintf("%s %s %s %s %s, %s", brand, mood, capital(made), capital(k.noun), use, capital(attributes[0]))
	p.nouns = strings.Fields(strings.ToLower(brand + " " + made + " " + k.noun))
	p.Description = fmt.Sprintf("%s This %s in %s comes from %s. %s", pick(openings), k.noun, made, brand, pick(closings))
	if c.Filler > 0 {
		p.Description += " " + filler(r, c.Filler)
	}
	for _, a := range attributes {
		p.Bullets = append(p.Bullets, sentence(fmt.Sprintf(pick(praises), a)))
	}
	p.Pricing = price(r, k)
	p.Options = &orderedOptions{}
	for _, o := range k.options {
		values := sample(r, o.values, 2+r.IntN(len(o.values)-1))
		*p.Options = append(*p.Options, option{o.name, values})
	}
	return p
}

// price is one amount, or, for some, a range.
func price(r *rand.Rand, k *kind) string {
	cents := k.low + r.IntN(k.high-k.low)
	switch r.IntN(12) {
	case 0:
		more := cents + 100 + r.IntN(k.high-k.low)
		return fmt.Sprintf("$%s$%s", dollars(cents), dollars(more))
	case 1:
		return "" // none stated
	}
	return "$" + dollars(cents)
}

func dollars(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// sample takes n of a list, in the list's order.
func sample(r *rand.Rand, list []string, n int) []string {
	chosen := map[int]bool{}
	for _, i := range r.Perm(len(list))[:min(n, len(list))] {
		chosen[i] = true
	}
	var out []string
	for i, v := range list {
		if chosen[i] {
			out = append(out, v)
		}
	}
	return out
}

func capital(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// entry is a product's part of the attribute file.
type entry struct {
	Attributes  []string `json:"attributes"`
	Instruction *string  `json:"instruction,omitempty"`
	Wanted      []string `json:"instruction_attributes,omitempty"`
}

// entry of product i: two of three have an instruction.
func (c Config) entry(i int, p *product) entry {
	r := rand.New(rand.NewPCG(c.Seed+1, uint64(i)))
	e := entry{Attributes: p.attributes}
	if r.IntN(3) == 0 {
		return e
	}
	e.Wanted = sample(r, p.attributes, 1+r.IntN(3))
	text := fmt.Sprintf(wishes[r.IntN(len(wishes))], strings.Join(e.Wanted, ", "), p.Query)
	e.Instruction = &text
	return e
}

// request is an instruction as a person puts it.
type request struct {
	ASIN    string   `json:"asin"`
	Text    string   `json:"instruction"`
	Wanted  []string `json:"instruction_attributes"`
	Options []string `json:"instruction_options"`
}

// requests for product i: one of four has some.
func (c Config) requests(i int, p *product) []request {
	r := rand.New(rand.NewPCG(c.Seed+2, uint64(i)))
	if r.IntN(4) != 0 {
		return nil
	}
	var out []request
	for range 1 + r.IntN(2) {
		q := request{ASIN: p.ASIN, Wanted: sample(r, p.attributes, 1+r.IntN(2)), Options: []string{}}
		choices := ""
		for _, o := range *p.Options {
			if r.IntN(3) == 0 {
				continue
			}
			v := o.values[r.IntN(len(o.values))]
			q.Options = append(q.Options, v)
			choices += ", " + o.name + " " + v
		}
		q.Text = fmt.Sprintf(requests[r.IntN(len(requests))], p.kind.noun, strings.Join(q.Wanted, " and "), choices)
		out = append(out, q)
	}
	return out
}

// vocabulary is the number of made-up words.
const vocabulary = 400_000

// filler makes words up: the n-th word of the vocabulary comes about 1/n as often as the first.
func filler(r *rand.Rand, n int) string {
	z := rand.NewZipf(r, 1.05, 4, vocabulary-1)
	syllables := []string{"ba", "ce", "di", "fo", "gu", "hel", "jan", "kir", "lom", "mu", "nes", "pra", "qui", "ro", "stu", "tev"}
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		for k := z.Uint64() + 16; k > 0; k /= 16 {
			b.WriteString(syllables[k%16])
		}
	}
	return b.String()
}

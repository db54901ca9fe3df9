package catalog

import (
	"slices"

	"github.com/hindsightrl/harness/envs/webshop/internal/py"
)

// Product is one thing for sale, without its long texts. It is immutable.
type Product struct {
	ASIN            string
	Category        string // "beauty", "garden", …
	Query           string // the search it was found by, lower-case, stripped
	ProductCategory string // the path "Beauty & Personal Care › Hair Care › …"
	Title           string
	Price           string    // the price tag: "$13.0" or "$10.5 to $20.0"
	Pricing         []float64 // one or two amounts in dollars
	MainImage       string
	Options         []Option
	Attributes      []string

	// Instruction is the synthetic instruction; nil where the product has none.
	Instruction *Instruction
	// Human are the instructions that people wrote for it.
	Human []Instruction

	details *Details // nil where they are read from the file when asked for
	offset  int64
	length  int32
}

// Option is a choice that a buyer makes.
type Option struct {
	Name   string
	Values []string
}

// Instruction is what a goal is made of.
type Instruction struct {
	Text       string
	Attributes []string
	Options    []string // of human instructions: the values that the buyer wants
}

// Details are a product's long texts.
type Details struct {
	Description string
	Bullets     []string // "Features"
	Images      py.Dict  // of option values: an address or nil, in order of first appearance
}

// Option finds an option by name.
func (p *Product) Option(name string) *Option {
	for i := range p.Options {
		if p.Options[i].Name == name {
			return &p.Options[i]
		}
	}
	return nil
}

// Contents is the text that the search engine indexes.
func (p *Product) Contents(d *Details) string { return string(p.AppendContents(nil, d)) }

// AppendContents appends that text to b.
func (p *Product) AppendContents(b []byte, d *Details) []byte {
	b = append(append(b, p.Title...), ' ')
	b = append(append(b, d.Description...), ' ')
	b = append(append(b, d.Bullets[0]...), ' ')
	for i, o := range p.Options {
		if i > 0 {
			b = append(b, ", and "...)
		}
		b = append(append(b, o.Name...), ": "...)
		for j, v := range o.Values {
			if j > 0 {
				b = append(b, ", "...)
			}
			b = append(b, v...)
		}
	}
	return b
}

// setOption keeps the place of a name that occurs twice, as a Python dict does.
func (p *Product) setOption(name string, values []string) {
	if i := slices.IndexFunc(p.Options, func(o Option) bool { return o.Name == name }); i >= 0 {
		p.Options[i].Values = values
		return
	}
	p.Options = append(p.Options, Option{name, values})
}

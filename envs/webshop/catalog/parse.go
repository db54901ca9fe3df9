package catalog

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hindsightrl/harness/envs/webshop/internal/jsonx"
	"github.com/hindsightrl/harness/internal/pystr"
)

// maxASIN is the longest id that the original takes.
const maxASIN = 10

// errSkipped marks a record that the original leaves out.
var errSkipped = errors.New("left out")

// record is a product as its JSON states it.
type record struct {
	Product
	Details
	pricing string // "" for none
	has     uint
}

// The fields that a record must have.
const (
	hasASIN = 1 << iota
	hasName
	hasDescription
	hasBullets
	hasImages
	hasCategory
	hasQuery
	hasProductCategory
	hasOptions
)

var required = []string{"asin", "name", "full_description", "small_description", "images", "category", "query", "product_category", "customization_options"}

// price is what a pricing text says.
type price struct {
	amounts []float64
	tag     string
}

// maxPrices bounds a parser's memory of pricing texts.
const maxPrices = 1 << 14

// parser reads records one after another into the same memory. It is not safe for concurrent use.
type parser struct {
	r      *jsonx.Reader
	rec    record
	images bool // are read too
	prices map[string]price

	// Memory for the lists of the record at hand.
	values, bullets []string
	options         []Option
}

// newParser makes one that reads options' images or leaves them out.
func newParser(images bool) *parser {
	return &parser{r: jsonx.NewViews(nil), images: images, prices: map[string]price{}}
}

// parse reads one element of the product file. The record's texts lie in raw; it and they are valid until
// the next call. The error is errSkipped for a record that the original skips by its id.
func (p *parser) parse(raw []byte) (*record, error) {
	r, rec := p.r, &p.rec
	r.Reset(raw)
	*rec, p.values = record{}, p.values[:0]
	err := r.Object(func(key string) error {
		if err := p.field(key); err != nil {
			return fmt.Errorf("field %q: %w", key, err)
		}
		return nil
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, err
	}
	if rec.has&hasASIN != 0 && (rec.ASIN == "nan" || utf8.RuneCountInString(rec.ASIN) > maxASIN) {
		return nil, errSkipped
	}
	for i, name := range required {
		if rec.has&(1<<i) == 0 {
			return nil, fmt.Errorf("product %q: no field %q", rec.ASIN, name)
		}
	}
	if err := p.price(); err != nil {
		return nil, fmt.Errorf("product %q: %w", rec.ASIN, err)
	}
	return rec, nil
}

// price reads the pricing text, or remembers it.
func (p *parser) price() error {
	known, ok := p.prices[p.rec.pricing]
	if !ok {
		amounts, tag, err := parsePricing(p.rec.pricing)
		if err != nil {
			return err
		}
		if len(p.prices) >= maxPrices {
			clear(p.prices)
		}
		known = price{amounts, tag}
		p.prices[strings.Clone(p.rec.pricing)] = known
	}
	p.rec.Pricing, p.rec.Price = known.amounts, known.tag
	return nil
}

// field reads the value of a key.
func (p *parser) field(key string) (err error) {
	r, rec := p.r, &p.rec
	switch key {
	case "asin":
		rec.ASIN, err = rec.text(r, hasASIN)
	case "name":
		rec.Title, err = rec.text(r, hasName)
	case "full_description":
		rec.Description, err = rec.text(r, hasDescription)
	case "category":
		rec.Category, err = rec.text(r, hasCategory)
	case "query":
		rec.Query, err = rec.text(r, hasQuery)
		rec.Query = pystr.Strip(pystr.Lower(rec.Query))
	case "product_category":
		rec.ProductCategory, err = rec.text(r, hasProductCategory)
	case "small_description":
		rec.has |= hasBullets
		p.bullets, err = bullets(r, p.bullets[:0])
		rec.Bullets = p.bullets
	case "images":
		rec.has |= hasImages
		rec.MainImage, err = firstImage(r)
	case "pricing":
		rec.pricing = ""
		if r.Kind() != jsonx.String {
			return r.Skip() // null and its like: no price
		}
		rec.pricing, err = r.String()
	case "customization_options":
		rec.has |= hasOptions
		rec.Options, rec.Images = p.options[:0], nil
		err = p.choices()
		p.options = rec.Options
	default:
		err = r.Skip()
	}
	return err
}

// text reads a string field and notes that it is there.
func (rec *record) text(r *jsonx.Reader, field uint) (string, error) {
	rec.has |= field
	return r.String()
}

// bullets are a list, or one string in its place. They are appended to list.
func bullets(r *jsonx.Reader, list []string) ([]string, error) {
	if r.Kind() == jsonx.String {
		s, err := r.String()
		return append(list, s), err
	}
	list, err := r.AppendStrings(list)
	if err == nil && len(list) == 0 {
		err = errors.New("an empty list: the search index takes the first")
	}
	return list, err
}

func firstImage(r *jsonx.Reader) (string, error) {
	first, n := "", 0
	err := r.Array(func() (err error) {
		n++
		if n > 1 {
			return r.Skip()
		}
		first, err = r.String()
		return err
	})
	if err == nil && n == 0 {
		err = errors.New("an empty list: pages show the first")
	}
	return first, err
}

// choices reads {name: [{value, image, …}]}; a name without values is left out, anything that is no
// object means that there are none.
func (p *parser) choices() error {
	r, rec := p.r, &p.rec
	if r.Kind() != jsonx.Object {
		return r.Skip()
	}
	return r.Object(func(name string) error {
		if r.Kind() == jsonx.Null {
			return r.Skip()
		}
		start := len(p.values)
		err := r.Array(func() error {
			value, image, err := optionValue(r)
			p.values = append(p.values, value)
			if p.images {
				rec.Images = rec.Images.Set(value, asAny(image))
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("option %q: %w", name, err)
		}
		values := p.values[start:len(p.values):len(p.values)]
		if values == nil {
			values = []string{}
		}
		rec.setOption(pystr.Lower(name), values)
		return nil
	})
}

// asAny is an address or nil.
func asAny(image *string) any {
	if image == nil {
		return nil
	}
	return *image
}

// optionValue reads a choice with its image; nil where it has none.
func optionValue(r *jsonx.Reader) (value string, image *string, err error) {
	found := false
	err = r.Object(func(key string) error {
		switch {
		case key == "value":
			found = true
			value, err = r.String()
			value = pystr.Lower(strings.ReplaceAll(pystr.Strip(value), "/", " | "))
			return err
		case key == "image" && r.Kind() == jsonx.String:
			address, err := r.String()
			image = &address
			return err
		case key == "image":
			image = nil
		}
		return r.Skip()
	})
	if err == nil && !found {
		err = errors.New("a choice without a value")
	}
	return value, image, err
}

// attributeEntry is one product's part of the attribute file.
type attributeEntry struct {
	attributes    []string
	hasAttributes bool
	instruction   *Instruction
}

// attributeParser makes what reads such parts.
func attributeParser(k *keeper) func(raw []byte) (attributeEntry, error) {
	r := jsonx.NewViews(nil)
	var list, wanted []string
	return func(raw []byte) (e attributeEntry, err error) {
		r.Reset(raw)
		in, found := Instruction{}, false
		list, wanted = list[:0], wanted[:0]
		err = r.Object(func(key string) (err error) {
			switch key {
			case "attributes":
				e.hasAttributes = true
				list, err = r.AppendStrings(list[:0])
			case "instruction":
				if found = r.Kind() != jsonx.Null; !found {
					return r.Skip()
				}
				in.Text, err = r.String()
			case "instruction_attributes":
				if wanted = wanted[:0]; r.Kind() == jsonx.Null {
					return r.Skip()
				}
				wanted, err = r.AppendStrings(wanted)
			default:
				err = r.Skip()
			}
			return err
		})
		if len(list) > 0 {
			e.attributes = k.list(list)
		}
		if found {
			if len(wanted) > 0 {
				in.Attributes = wanted
			}
			e.instruction = &take(&k.instructions, 1, instructionBlock)[0]
			*e.instruction = k.instruction(in)
		}
		return e, err
	}
}

// humanParser makes what reads the list of instructions that people wrote for one product.
func humanParser(k *keeper) func(raw []byte) ([]Instruction, error) {
	r := jsonx.NewViews(nil)
	return func(raw []byte) (list []Instruction, err error) {
		r.Reset(raw)
		err = r.Array(func() error {
			var in Instruction
			err := r.Object(func(key string) (err error) {
				switch key {
				case "instruction":
					in.Text, err = r.String()
				case "instruction_attributes":
					in.Attributes, err = r.Strings()
				case "instruction_options":
					in.Options, err = r.Strings()
				default:
					err = r.Skip()
				}
				return err
			})
			list = append(list, k.instruction(in))
			return err
		})
		return list, err
	}
}

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

// parseProduct reads one element of the product file. The error is errSkipped for a record that the
// original skips by its id.
func parseProduct(raw []byte) (*record, error) {
	rec := &record{}
	r := jsonx.NewReader(raw)
	err := r.Object(func(key string) error {
		if err := rec.field(r, key); err != nil {
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
	if rec.Pricing, rec.Price, err = parsePricing(rec.pricing); err != nil {
		return nil, fmt.Errorf("product %q: %w", rec.ASIN, err)
	}
	return rec, nil
}

// field reads the value of a key.
func (rec *record) field(r *jsonx.Reader, key string) (err error) {
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
		rec.Bullets, err = bullets(r)
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
		rec.Options, rec.Images = nil, nil
		err = rec.options(r)
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

// bullets are a list, or one string in its place.
func bullets(r *jsonx.Reader) ([]string, error) {
	if r.Kind() == jsonx.String {
		s, err := r.String()
		return []string{s}, err
	}
	list, err := r.Strings()
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

// options reads {name: [{value, image, …}]}; a name without values is left out, anything that is no
// object means that there are none.
func (rec *record) options(r *jsonx.Reader) error {
	if r.Kind() != jsonx.Object {
		return r.Skip()
	}
	return r.Object(func(name string) error {
		if r.Kind() == jsonx.Null {
			return r.Skip()
		}
		values := []string{}
		err := r.Array(func() error {
			value, image, err := optionValue(r)
			values = append(values, value)
			rec.Images = rec.Images.Set(value, image)
			return err
		})
		if err != nil {
			return fmt.Errorf("option %q: %w", name, err)
		}
		rec.setOption(pystr.Lower(name), values)
		return nil
	})
}

func optionValue(r *jsonx.Reader) (value string, image any, err error) {
	found := false
	err = r.Object(func(key string) error {
		switch {
		case key == "value":
			found = true
			value, err = r.String()
			value = pystr.Lower(strings.ReplaceAll(pystr.Strip(value), "/", " | "))
			return err
		case key == "image" && r.Kind() == jsonx.String:
			image, err = r.String()
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

func parseAttributes(raw []byte) (e attributeEntry, err error) {
	r := jsonx.NewReader(raw)
	var text *string
	var wanted []string
	err = r.Object(func(key string) (err error) {
		switch key {
		case "attributes":
			e.hasAttributes = true
			e.attributes, err = r.Strings()
		case "instruction":
			if r.Kind() == jsonx.Null {
				text = nil
				return r.Skip()
			}
			var s string
			s, err = r.String()
			text = &s
		case "instruction_attributes":
			if r.Kind() == jsonx.Null {
				wanted = nil
				return r.Skip()
			}
			wanted, err = r.Strings()
		default:
			err = r.Skip()
		}
		return err
	})
	if text != nil {
		e.instruction = &Instruction{Text: *text, Attributes: wanted}
	}
	return e, err
}

// parseHuman reads the list of instructions that people wrote for one product.
func parseHuman(raw []byte) (list []Instruction, err error) {
	r := jsonx.NewReader(raw)
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
		list = append(list, in)
		return err
	})
	return list, err
}

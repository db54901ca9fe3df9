package gen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// orderedOptions are a JSON object in the order of the options.
type orderedOptions []option

// MarshalJSON implements json.Marshaler.
func (o orderedOptions) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, opt := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		values := make([]map[string]any, len(opt.values))
		for k, v := range opt.values {
			values[k] = map[string]any{"value": v, "image": nil}
		}
		raw, err := json.Marshal(values)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", opt.name, raw)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// The files of a shop.
const (
	ProductFile   = "items_shuffle.json"
	AttributeFile = "items_ins_v2.json"
	HumanFile     = "items_human_ins.json"
	NounFile      = "nouns.json"
)

// WriteProducts writes the product file, one record a line.
func WriteProducts(w io.Writer, c Config) error {
	return list(w, '[', ']', c, func(enc *json.Encoder, i int, p *product) (bool, error) { return true, enc.Encode(p) })
}

// WriteAttributes writes the file of attributes and synthetic instructions.
func WriteAttributes(w io.Writer, c Config) error {
	return list(w, '{', '}', c, func(enc *json.Encoder, i int, p *product) (bool, error) {
		return true, enc.Encode(keyed{p.ASIN, c.entry(i, p)})
	})
}

// WriteHuman writes the file of instructions in people's words.
func WriteHuman(w io.Writer, c Config) error {
	return list(w, '{', '}', c, func(enc *json.Encoder, i int, p *product) (bool, error) {
		q := c.requests(i, p)
		if q == nil {
			return false, nil
		}
		return true, enc.Encode(keyed{p.ASIN, q})
	})
}

// WriteNouns writes the table of the titles' nouns: the generator knows them.
func WriteNouns(w io.Writer, c Config) error {
	table := map[string][]string{"": {"the generator's own words"}}
	for i := range c.count() {
		p := c.product(i)
		table[p.Name] = p.nouns
	}
	return json.NewEncoder(w).Encode(table)
}

func (c Config) count() int {
	if c.Products == 0 {
		return defaultProducts
	}
	return c.Products
}

// keyed is a pair of an object under construction: list takes the braces off.
type keyed struct {
	key   string
	value any
}

// list writes what f encodes for each product, with commas between. Pairs are encoded as objects of one
// key, without their braces.
func list(w io.Writer, open, end byte, c Config, f func(enc *json.Encoder, i int, p *product) (bool, error)) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	if err := bw.WriteByte(open); err != nil {
		return err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	first := true
	for i := range c.count() {
		b.Reset()
		wrote, err := f(enc, i, c.product(i))
		if err != nil {
			return err
		}
		if !wrote {
			continue
		}
		if !first {
			if err := bw.WriteByte(','); err != nil {
				return err
			}
		}
		first = false
		line := bytes.TrimSpace(b.Bytes())
		if open == '{' {
			line = line[1 : len(line)-1]
		}
		if _, err := bw.Write(append([]byte("\n"), line...)); err != nil {
			return err
		}
	}
	if _, err := bw.Write([]byte{'\n', end, '\n'}); err != nil {
		return err
	}
	return bw.Flush()
}

// MarshalJSON implements json.Marshaler: an object of one key.
func (k keyed) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{k.key: k.value}) }

// Write writes all files of a shop into a folder.
func Write(dir string, c Config) error {
	for name, write := range map[string]func(io.Writer, Config) error{
		ProductFile: WriteProducts, AttributeFile: WriteAttributes, HumanFile: WriteHuman, NounFile: WriteNouns,
	} {
		if err := writeFile(filepath.Join(dir, name), c, write); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, c Config, write func(io.Writer, Config) error) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write shop: %w", err)
	}
	if err := write(f, c); err != nil {
		_ = f.Close()
		return fmt.Errorf("write shop %q: %w", name, err)
	}
	return f.Close()
}

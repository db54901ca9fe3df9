package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hindsightrl/harness/internal/errext"
)

const dataHint = "give the folder that holds items_shuffle_1000.json, items_ins_v2_1000.json and items_human_ins.json (WebShop's setup.sh downloads them into data/), " +
	"the product file itself (items_shuffle.json for all products), or no --data at all for the embedded shop"

// The names of the data files, before the suffix that both of a set share ("_1000", "").
const (
	productFile   = "items_shuffle"
	attributeFile = "items_ins_v2"
	humanFile     = "items_human_ins.json"
)

// Paths are the data files of a shop.
type Paths struct {
	Products, Attributes string
	Human                string // "" where there is none
	Size                 int64  // of the product file, in bytes
}

// Find finds a folder's data files, or the set that a product file belongs to. A folder with several
// sets gives the small one of 1,000 products, as the original does.
func Find(name string) (Paths, error) {
	p, err := find(name)
	if err != nil {
		return Paths{}, errext.WithHint(fmt.Errorf("open WebShop data: %w", err), dataHint)
	}
	return p, nil
}

func find(name string) (p Paths, err error) {
	if p.Products, err = findProducts(name); err != nil {
		return p, err
	}
	info, err := os.Stat(p.Products)
	if err != nil {
		return p, err
	}
	p.Size = info.Size()
	dir := filepath.Dir(p.Products)
	suffix := strings.TrimPrefix(filepath.Base(p.Products), productFile)
	if p.Attributes, err = firstOf(filepath.Join(dir, attributeFile+suffix), filepath.Join(dir, attributeFile+".json")); err != nil {
		return p, fmt.Errorf("%q: open attributes: %w", p.Products, err)
	}
	human := filepath.Join(dir, humanFile)
	switch _, err := os.Stat(human); {
	case err == nil:
		p.Human = human
	case !errors.Is(err, os.ErrNotExist): // without the file there are no human goals
		return p, err
	}
	return p, nil
}

// Large reports whether long texts are read from the product file when they are needed.
func (p Paths) Large() bool { return p.Size > keepDetails }

// Open loads a folder of data files, or the set that a product file belongs to; see Find.
func Open(ctx context.Context, name string, cfg Config) (*Catalog, error) {
	p, err := Find(name)
	if err != nil {
		return nil, err
	}
	return p.Load(ctx, cfg)
}

// Load loads the files.
func (p Paths) Load(ctx context.Context, cfg Config) (*Catalog, error) {
	products, err := os.Open(p.Products)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open WebShop data: %w", err), dataHint)
	}
	cfg.Size = p.Size
	c, err := p.loadWith(ctx, products, cfg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open WebShop data %q: %w", p.Products, err), products.Close())
	}
	c.close = products.Close
	return c, nil
}

func (p Paths) loadWith(ctx context.Context, products *os.File, cfg Config) (*Catalog, error) {
	attributes, err := os.Open(p.Attributes)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open attributes: %w", err), dataHint)
	}
	defer attributes.Close()
	files := Files{Products: products, Attributes: attributes}
	if p.Human != "" {
		human, err := os.Open(p.Human)
		if err != nil {
			return nil, err
		}
		defer human.Close()
		files.Human = human
	}
	return Load(ctx, files, cfg)
}

// Digest reads the files to the end: it is that of the catalog that Load gives.
func (p Paths) Digest(ctx context.Context) (uint64, error) {
	sum, buf := newSum(), make([]byte, 1<<20)
	for _, name := range []string{p.Attributes, p.Human, p.Products} {
		if name == "" {
			continue
		}
		if err := digest(ctx, sum, name, buf); err != nil {
			return 0, fmt.Errorf("read WebShop data: %w", err)
		}
	}
	return sum.Sum64(), nil
}

func digest(ctx context.Context, sum io.Writer, name string, buf []byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		n, err := f.Read(buf)
		if _, err := sum.Write(buf[:n]); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// firstOf is the first of some files that is there.
func firstOf(names ...string) (string, error) {
	var first error
	for _, name := range names {
		_, err := os.Stat(name)
		if err == nil {
			return name, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

func findProducts(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return name, nil
	}
	found, err := filepath.Glob(filepath.Join(name, productFile+"*.json"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%q holds no %s*.json", name, productFile)
	}
	small := filepath.Join(name, productFile+"_1000.json")
	switch {
	case slices.Contains(found, small):
		return small, nil
	case len(found) > 1:
		return "", fmt.Errorf("%q holds several product files: name one of %s", name, strings.Join(found, ", "))
	}
	return found[0], nil
}

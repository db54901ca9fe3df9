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

// Open loads a folder of data files, or the set that a product file belongs to. A folder with several
// sets opens the small one of 1,000 products, as the original does.
func Open(ctx context.Context, name string, cfg Config) (*Catalog, error) {
	file, err := findProducts(name)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open WebShop data: %w", err), dataHint)
	}
	products, err := os.Open(file)
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open WebShop data: %w", err), dataHint)
	}
	c, err := openWith(ctx, products, file, cfg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open WebShop data %q: %w", file, err), products.Close())
	}
	c.close = products.Close
	return c, nil
}

func openWith(ctx context.Context, products *os.File, file string, cfg Config) (*Catalog, error) {
	info, err := products.Stat()
	if err != nil {
		return nil, err
	}
	cfg.Size = info.Size()
	dir := filepath.Dir(file)
	suffix := strings.TrimPrefix(filepath.Base(file), productFile)
	attributes, err := openAny(filepath.Join(dir, attributeFile+suffix), filepath.Join(dir, attributeFile+".json"))
	if err != nil {
		return nil, errext.WithHint(fmt.Errorf("open attributes: %w", err), dataHint)
	}
	defer attributes.Close()
	files := Files{Products: products, Attributes: attributes}
	human, err := os.Open(filepath.Join(dir, humanFile))
	switch {
	case err == nil:
		defer human.Close()
		files.Human = human
	case !errors.Is(err, os.ErrNotExist): // without the file there are no human goals
		return nil, err
	}
	return Load(ctx, files, cfg)
}

func openAny(names ...string) (io.ReadCloser, error) {
	var first error
	for _, name := range names {
		f, err := os.Open(name)
		if err == nil {
			return f, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
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

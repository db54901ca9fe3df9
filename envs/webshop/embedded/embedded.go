// Package embedded holds a small shop of made-up products inside the binary, so that a first run, a
// demonstration or a test needs no download. The products are the generator's (package gen) and are
// sold by the same code as the original's data; this package only keeps them.
package embedded

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"fmt"
	"io"

	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/catalog"
	"github.com/hindsightrl/harness/envs/webshop/gen"
	"github.com/hindsightrl/harness/envs/webshop/reward"
)

//go:generate go run ./internal/mkshop

//go:embed data/*.gz
var files embed.FS

// File unpacks one of the shop's files by its name in package gen. An error means that the binary
// itself is damaged.
func File(name string) ([]byte, error) {
	packed, err := files.ReadFile("data/" + name + ".gz")
	if err != nil {
		return nil, fmt.Errorf("open embedded shop: %w", err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("open embedded shop: %w", err)
	}
	raw, err := io.ReadAll(zr)
	if err != nil {
		return nil, fmt.Errorf("open embedded shop: %w", err)
	}
	return raw, zr.Close()
}

// Suite opens the shop of 360 products in 10 categories with the default settings.
func Suite(ctx context.Context) (*webshop.Suite, error) { return SuiteWith(ctx, webshop.Config{}) }

// SuiteWith is Suite with settings. Without nouns of their own, titles' nouns are those that the
// generator knows.
func SuiteWith(ctx context.Context, cfg webshop.Config) (*webshop.Suite, error) {
	parts := map[string]*bytes.Reader{}
	for _, name := range []string{gen.ProductFile, gen.AttributeFile, gen.HumanFile, gen.NounFile} {
		raw, err := File(name)
		if err != nil {
			return nil, err
		}
		parts[name] = bytes.NewReader(raw)
	}
	if cfg.Shop.Nouns == nil {
		nouns, err := reward.ReadTable(parts[gen.NounFile])
		if err != nil {
			return nil, fmt.Errorf("open embedded shop: %w", err)
		}
		cfg.Shop.Nouns = nouns
	}
	return webshop.NewFiles(ctx, catalog.Files{
		Products: parts[gen.ProductFile], Attributes: parts[gen.AttributeFile], Human: parts[gen.HumanFile],
	}, cfg)
}

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/webshop"
	"github.com/hindsightrl/harness/envs/webshop/browser"
)

// The backends.
const (
	backendNative  = "native"
	backendBrowser = "browser"
)

// browserFlags choose the backend that shows the shop in a browser.
type browserFlags struct {
	backend     string
	bin         string
	screenshots string
	pages       int
	noSandbox   bool
}

func (f *browserFlags) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.backend, "backend", backendNative, "native; for WebShop browser: the same shop as web pages in a headless Chromium; for ALFWorld and WebShop container: the original Python environment (docs/originals.md)")
	fl.StringVar(&f.bin, "browser", "", "browser backend: Chromium's executable (default: chromium or its like in the search path)")
	fl.StringVar(&f.screenshots, "screenshots", "", "browser backend: folder for a PNG of every page, as TASK/ATTEMPT/STEP.png")
	fl.IntVar(&f.pages, "pages", 0, "browser backend: how many episodes may have a page at once (default: 8)")
	fl.BoolVar(&f.noSandbox, "no-sandbox", false, "browser backend: run Chromium without its sandbox, for containers that allow none (as root it has none anyway)")
}

// check refuses what does not fit together.
func (f *browserFlags) check(env string) error {
	switch f.backend {
	case backendNative, backendContainer:
		if f.bin != "" || f.screenshots != "" || f.pages != 0 || f.noSandbox {
			return hintUsage(errors.New("--browser, --screenshots, --pages and --no-sandbox are of the browser backend"), "add --backend browser")
		}
		return nil
	case backendBrowser:
		if env != webshop.Name {
			return hintUsage(fmt.Errorf("%s has no browser backend", env), "add --env webshop")
		}
		return nil
	}
	return hintUsage(fmt.Errorf("no backend %q", f.backend), "there are native, browser and container")
}

// over puts the chosen backend over the shop.
func (f *browserFlags) over(shop *webshop.Suite) (harness.Suite, error) {
	if f.backend == backendNative {
		return shop, nil
	}
	s, err := browser.New(shop, browser.Config{Bin: f.bin, Pages: f.pages, Screenshots: f.screenshots, NoSandbox: f.noSandbox})
	if err != nil {
		return nil, errors.Join(err, shop.Close())
	}
	return browserSuite{s, shop}, nil
}

// browserSuite closes the shop with its browser.
type browserSuite struct {
	*browser.Suite
	shop *webshop.Suite
}

// Close implements io.Closer.
func (s browserSuite) Close() error { return errors.Join(s.Suite.Close(), s.shop.Close()) }

// closeSuite closes a suite that holds more than memory.
func closeSuite(suite harness.Suite) error {
	if c, ok := suite.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

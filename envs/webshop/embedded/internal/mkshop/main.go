// Command mkshop makes the embedded shop's files; run it through go generate.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hindsightrl/harness/envs/webshop/gen"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mkshop:", err)
		os.Exit(1)
	}
}

func run() error {
	for name, write := range map[string]func(io.Writer, gen.Config) error{
		gen.ProductFile: gen.WriteProducts, gen.AttributeFile: gen.WriteAttributes, gen.HumanFile: gen.WriteHuman, gen.NounFile: gen.WriteNouns,
	} {
		var b bytes.Buffer
		zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := write(zw, gen.Config{}); err != nil {
			return err
		}
		if err := zw.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join("data", name+".gz"), b.Bytes(), 0o644); err != nil { //nolint:gosec // a source file
			return err
		}
	}
	return nil
}

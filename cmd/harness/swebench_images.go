package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded"
)

type imagesCommand struct {
	st      stops
	g       *globals
	options embedded.Options
	rows    string
	verbose bool
	asJSON  bool
}

func newSWEBenchImages(st stops, g *globals) *cobra.Command {
	c := &imagesCommand{st: st, g: g}
	cmd := &cobra.Command{
		Use:   "images",
		Short: "Build the images of the embedded instances, where they are not there",
		Long: `images builds the images of the two embedded instances, a repository in Python and one in Go, each with an
issue, its hidden tests and the repair. Official instances need no build: their images are pulled.

By default Debian is pulled from a registry, and the build installs Python, pytest, git and Go in it. With
--base mmdebstrap the base is made on this machine from Debian's packages, and the builds need no network;
the name of another image derived from Debian does as well.

Images are named by a hash of their recipe. Those that are there are left alone.`,
		Example: `  harness swebench images
  harness swebench images --base mmdebstrap
  harness swebench images --rows pair.jsonl && harness rollout --env swebench --data pair.jsonl --policy expert`,
		RunE: func(*cobra.Command, []string) error { return c.run() },
	}
	f := cmd.Flags()
	f.StringVar(&c.options.Base, "base", embedded.BaseDebian, "base image, or mmdebstrap to make one here")
	f.StringVar(&c.options.Mirror, "mirror", "", "with --base mmdebstrap: mirror of Debian packages (default: mmdebstrap's choice)")
	f.StringVar(&c.rows, "rows", "", "also write the instances to this file, as rows of a dataset (.jsonl)")
	f.BoolVar(&c.verbose, "verbose", false, "print what the builds print")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	configurable(g, cmd)
	return cmd
}

func (c *imagesCommand) run() error {
	ctx := c.st.soft
	if c.rows != "" {
		rows, err := embedded.Rows()
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.rows, rows, 0o644); err != nil {
			return fmt.Errorf("write rows: %w", err)
		}
	}
	engine, err := swebench.OpenEngine(ctx, swebench.EngineConfig{Owner: swebench.LocalOwner(), Run: "images", Log: c.g.log})
	if err != nil {
		return err
	}
	if c.verbose {
		c.options.Log = c.g.stderr
	}
	images, err := embedded.BuildImages(ctx, engine, c.options)
	if err = errors.Join(err, engine.Close()); err != nil {
		return err
	}
	if c.asJSON {
		return writeJSON(c.g.stdout, images)
	}
	t := table{columns: []column{{title: "instance"}, {title: "image"}, {title: "state"}}}
	for _, i := range images {
		state := "there"
		if i.Built {
			state = "built"
		}
		t.add(i.InstanceID, i.Name, state)
	}
	return t.write(c.g.stdout)
}

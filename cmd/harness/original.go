package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/alfworld"
	alfworldoriginal "github.com/hindsightrl/harness/envs/alfworld/original"
	"github.com/hindsightrl/harness/envs/webshop"
	webshoporiginal "github.com/hindsightrl/harness/envs/webshop/original"
)

// backendContainer is the original environment in a container.
const backendContainer = "container"

// bridgeTokenEnv is the environment variable with the token of a bridge that asks for one.
const bridgeTokenEnv = "HARNESS_BRIDGE_TOKEN"

// originalFlags say where the original of an environment runs.
type originalFlags struct {
	bridge string
	image  string
}

func (f *originalFlags) flags(cmd *cobra.Command, image string) {
	fl := cmd.Flags()
	fl.StringVar(&f.bridge, "bridge", "", "address of a running original, ws://HOST:PORT ("+bridgeTokenEnv+" holds its token, if it has one)")
	fl.StringVar(&f.image, image, "", "image of the original, started for this command alone (default: hindsight/alfworld, hindsight/webshop)")
}

// check refuses what does not fit together.
func (f *originalFlags) check(backend string) error {
	if backend != backendContainer && (f.bridge != "" || f.image != "") {
		return hintUsage(errors.New("--bridge and --original-image are of the container backend"), "add --backend container")
	}
	if f.bridge != "" && f.image != "" {
		return hintUsage(errors.New("the original runs at an address or in an image of this command's own, not in both"), "leave out one of the two flags")
	}
	return nil
}

// settings are the bridge's for an environment whose image is called so by default.
func (f *originalFlags) settings(image string) alfworldoriginal.Config {
	if f.bridge != "" {
		return alfworldoriginal.Config{Address: f.bridge, Token: os.Getenv(bridgeTokenEnv)}
	}
	return alfworldoriginal.Config{Image: cmp.Or(f.image, image)}
}

// open puts the original over a native suite, and closes that with it.
func (f *originalFlags) open(ctx context.Context, native harness.Suite) (harness.Suite, error) {
	var s harness.Suite
	var err error
	switch n := native.(type) {
	case *alfworld.Suite:
		s, err = alfworldoriginal.New(ctx, n, f.settings(alfworldoriginal.Image))
	case *webshop.Suite:
		s, err = webshoporiginal.New(ctx, n, f.settings(webshoporiginal.Image))
	default:
		err = hintUsage(fmt.Errorf("%s has no original to compare with", native.Name()), "there are alfworld and webshop")
	}
	if err != nil {
		return nil, errors.Join(err, closeSuite(native))
	}
	return originalSuite{s, native}, nil
}

// originalSuite closes the native suite with the original.
type originalSuite struct {
	harness.Suite
	native harness.Suite
}

// Info is the native suite's, as far as it has any, and the original's.
func (s originalSuite) Info() map[string]string {
	out := map[string]string{}
	for _, part := range []harness.Suite{s.native, s.Suite} {
		if p, ok := part.(interface{ Info() map[string]string }); ok {
			for k, v := range p.Info() {
				out[k] = v
			}
		}
	}
	return out
}

// CheckTask asks the native suite, whose tasks these are.
func (s originalSuite) CheckTask(ctx context.Context, task harness.Task) error {
	if c, ok := s.native.(interface {
		CheckTask(context.Context, harness.Task) error
	}); ok {
		return c.CheckTask(ctx, task)
	}
	return nil
}

// Close implements io.Closer.
func (s originalSuite) Close() error { return errors.Join(closeSuite(s.Suite), closeSuite(s.native)) }
